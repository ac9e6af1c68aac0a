/** What each channel must be told. Shared by the environment and a merchant's own settings. */

export interface WebhookSettings {
  url: string;
  /** Signs every request (Standard Webhooks): `whsec_` and base64. */
  secret: string;
  /** Whether addresses of a private network may be called. */
  allowPrivate: boolean;
}

export interface WhatsAppSettings {
  baseUrl: string;
  version: string;
  phoneNumberId: string;
  token: string;
  appSecret: string;
  verifyToken: string;
  /** Absent: outside the window a reply waits for the customer to write again. */
  template: string | undefined;
  templateLanguage: string;
}

export const WHATSAPP_DEFAULTS = {
  baseUrl: 'https://graph.facebook.com',
  version: 'v23.0',
  templateLanguage: 'en',
} as const;

type Given<T> = { [key in keyof T]: T[key] | undefined };

export function webhookSettingsProblems({ url, secret }: Given<WebhookSettings>): string[] {
  const problems: string[] = [];
  const parsed = url === undefined ? null : URL.parse(url);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol)) {
    problems.push('WEBHOOK_URL must be an address that begins with https:// or http://.');
  }
  if (!secret || !/^whsec_[\w+/-]{32,}={0,2}$/.test(secret)) {
    problems.push('WEBHOOK_SECRET must be "whsec_" and at least 24 random bytes in base64.');
  }
  return problems;
}

export function whatsappSettingsProblems(given: Given<WhatsAppSettings>): string[] {
  const problems: string[] = [];
  const need = (key: string, value: string | undefined, shape: RegExp, what: string) => {
    if (!value || !shape.test(value)) problems.push(`${key} must be ${what}.`);
  };
  const base = given.baseUrl === undefined ? null : URL.parse(given.baseUrl);
  if (!base || !['http:', 'https:'].includes(base.protocol)) {
    problems.push('WHATSAPP_BASE_URL must be an address that begins with https://.');
  }
  need('WHATSAPP_VERSION', given.version, /^v\d{1,3}\.\d{1,2}$/, 'a version such as v23.0');
  need('WHATSAPP_PHONE_NUMBER_ID', given.phoneNumberId, /^\d{5,25}$/, 'the digits of the number’s id');
  need('WHATSAPP_TOKEN', given.token, /^\S{10,}$/, 'set to the channel’s access token');
  need('WHATSAPP_APP_SECRET', given.appSecret, /^\S{16,}$/, 'set to the app’s secret');
  need('WHATSAPP_VERIFY_TOKEN', given.verifyToken, /^\S{8,}$/, 'set to a word of at least 8 characters');
  if (given.template !== undefined) {
    need('WHATSAPP_TEMPLATE', given.template, /^[a-z0-9_]{1,512}$/, 'a template’s name');
  }
  need(
    'WHATSAPP_TEMPLATE_LANGUAGE',
    given.templateLanguage,
    /^[a-z]{2,3}(_[A-Z]{2})?$/,
    'a code such as en or pt_BR',
  );
  return problems;
}
