import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelTemplate } from '../../../contract/channel.ts';
import { DatabaseUnavailable } from '../../../database/database.ts';
import { tracingHeaders } from '../../../tracing.ts';
import {
  type Channel,
  type ChannelParts,
  type Form,
  isPhone,
  NO_PHONE_NUMBER,
  type Outgoing,
  type Plan,
  type SendResult,
  type TestProblem,
} from '../channel.ts';
import { classify } from './errors.ts';
import { reserveNextTurn, reserveTurn } from './pace.ts';
import { templateIn } from './template.ts';
import { closeWindow, windowIsOpen, windowsOpenedAt } from './windows.ts';

export type WhatsAppSettings = {
  baseUrl: string;
  version: string;
  phoneNumberId: string;
  token: string;
  appSecret: string;
  verifyToken: string;
  /** Absent: outside the window a reply waits until the customer writes again. */
  template: string | undefined;
  templateLanguage: string;
  /** Absent: the template cannot be shown. */
  businessAccountId?: string | undefined;
};

/** For the whole request including its answer. Shorter than a worker's lease. */
const TIMEOUT_MS = 10_000;
/** A message that is later than this has missed its turn. */
const LATE_MAX_MS = 100;

export const whatsappChannelId = (phoneNumberId: string) => `whatsapp:${phoneNumberId}`;

export function openWhatsApp(settings: WhatsAppSettings, parts: ChannelParts): Omit<Channel, 'type'> {
  const { database, now, timeoutMs = TIMEOUT_MS } = parts;
  const { phoneNumberId, template } = settings;
  const id = whatsappChannelId(phoneNumberId);
  const graph = `${settings.baseUrl.replace(/\/+$/, '')}/${settings.version}`;
  const address = `${graph}/${phoneNumberId}`;

  const request = (url: string, body?: unknown) =>
    fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${settings.token}`,
        ...tracingHeaders(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });

  async function plan({ recipient, mode }: Pick<Outgoing, 'recipient' | 'mode'>): Promise<Plan> {
    // `send` fails it. Waiting for a customer without a number would never end.
    if (!isPhone(recipient)) return { go: 'text' };
    if (mode === 'campaign' && template !== undefined) return { go: 'template' };
    if (await windowIsOpen(database, id, recipient, now())) return { go: 'text' };
    if (template !== undefined) return { go: 'template' };
    return {
      wait: 'customer',
      reason:
        'The customer has not written in the last 24 hours, and no template is set up. ' +
        'It is sent when the customer writes again.',
    };
  }

  /** Waits for the message's turn. Returns a result if it must wait longer than a worker's slot allows. */
  async function waitForTurn(phone: string): Promise<SendResult | undefined> {
    const turn = await reserveTurn(database, id, phone, now());
    if ('mustWait' in turn) return notYet(turn.mustWait, turn.retryInMs);
    if (await isOnTime(turn.atMs)) return undefined;
    // The process or the database was busy. Late messages must not bunch up, so it waits for another turn.
    const next = await reserveNextTurn(database, id, now());
    if ('mustWait' in next) return notYet(next.mustWait, next.retryInMs);
    return (await isOnTime(Math.max(next.atMs, now().getTime()))) ? undefined : notYet('NUMBER_PACE', 1000);
  }

  async function isOnTime(atMs: number): Promise<boolean> {
    const inMs = atMs - now().getTime();
    if (inMs > 0) await sleep(inMs);
    return now().getTime() - atMs <= LATE_MAX_MS;
  }

  async function send(message: Outgoing, form: Form): Promise<SendResult> {
    const { recipient, attempts } = message;
    if (!isPhone(recipient)) return NO_PHONE_NUMBER;
    try {
      const wait = await waitForTurn(recipient);
      if (wait) return wait;
    } catch (error) {
      // Nothing was sent yet, so the outcome is not unknown.
      if (error instanceof DatabaseUnavailable) return notYet('DATABASE_AWAY', 1000);
      throw error;
    }
    const asOf = now().toISOString();
    let status: number;
    let body: unknown;
    try {
      const response = await request(`${address}/messages`, bodyOf(message, form, settings));
      status = response.status;
      body = parsed(await response.text());
    } catch (error) {
      return fromNetworkError(error);
    }
    if (status >= 200 && status < 300) {
      const messageId = wamidIn(body);
      if (messageId !== undefined) return { outcome: 'sent', messageId, state: 'sent' };
      return { outcome: 'unknown', code: 'UNREADABLE_RESPONSE' };
    }
    const result = classify(errorCodeIn(body), status, attempts);
    if (result.outcome === 'window_closed') await closeWindow(database, id, recipient, asOf);
    return result;
  }

  async function test(): Promise<TestProblem | undefined> {
    try {
      const response = await request(`${address}?fields=verified_name`);
      const body = parsed(await response.text());
      if (!response.ok) return testProblem(errorCodeIn(body), response.status);
      if (isObject(body)) return undefined;
      return { code: 'UNREADABLE_RESPONSE', reason: 'The address answers, but not like the Cloud API.' };
    } catch (error) {
      return unreachable(error);
    }
  }

  async function readTemplate(): Promise<ChannelTemplate> {
    const { templateLanguage: language, businessAccountId: account } = settings;
    if (template === undefined)
      return { name: null, language: null, state: 'none', reason: NO_TEMPLATE, text: null };
    const unknown = { name: template, language, state: 'unknown', text: null } as const;
    if (account === undefined) return { ...unknown, reason: NO_ACCOUNT };
    const query = new URLSearchParams({ name: template, fields: TEMPLATE_FIELDS, limit: '100' });
    try {
      const response = await request(`${graph}/${account}/message_templates?${query}`);
      const body = parsed(await response.text());
      if (response.ok) return { name: template, language, ...templateIn(body, template, language) };
      const code = errorCodeIn(body);
      const reason = code === 100 ? NOT_YOUR_ACCOUNT : testProblem(code, response.status).reason;
      return { ...unknown, reason };
    } catch (error) {
      return { ...unknown, reason: unreachable(error).reason };
    }
  }

  return {
    id,
    plan,
    send,
    test,
    template: readTemplate,
    check: async () => (await test())?.reason,
    lastWrote: (_merchantId, phones) => windowsOpenedAt(database, id, phones),
  };
}

const notYet = (code: string, ms: number): SendResult => ({
  outcome: 'retry',
  code,
  afterSeconds: ms / 1000,
  notCounted: true,
});

/** Other ids were recorded by an assistant. WhatsApp would refuse the message because of them. */
const isWamid = (id: string | null) => id?.startsWith('wamid.') === true;

function bodyOf({ recipient, content, key, replyTo }: Outgoing, form: Form, settings: WhatsAppSettings) {
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: recipient,
    // Every status repeats it. If the response is lost, only this key tells which message a status is about.
    biz_opaque_callback_data: key,
    ...(isWamid(replyTo) && { context: { message_id: replyTo } }),
    ...(form === 'text'
      ? { type: 'text', text: { preview_url: false, body: content } }
      : {
          type: 'template',
          template: {
            name: settings.template,
            language: { code: settings.templateLanguage },
            components: [{ type: 'body', parameters: [{ type: 'text', text: onOneLine(content) }] }],
          },
        }),
  };
}

/** A template's parameter must not contain line breaks, tabs or more than four spaces in a row. */
export const onOneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

/** Errors before the connection is open: nothing was sent. After any other error, it may have been sent. */
const NOTHING_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENET|UND_ERR_CONNECT|CERT_|ERR_TLS|ERR_SSL|UNABLE_TO|DEPTH_|SELF_SIGNED|ERR_INVALID)/;

function fromNetworkError(error: unknown): SendResult {
  if ((error as Error).name === 'TimeoutError') return { outcome: 'unknown', code: 'TIMEOUT' };
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  if (typeof code !== 'string') return { outcome: 'unknown', code: 'NETWORK' };
  return { outcome: NOTHING_SENT.test(code) ? 'retry' : 'unknown', code };
}

const NO_TEMPLATE = 'No template is set up, so an answer waits until the customer writes again.';
const NO_ACCOUNT = 'Fill in the id of your WhatsApp business account to see the template here.';
const NOT_YOUR_ACCOUNT = 'The id of the business account is not one that this access token may use.';
const TEMPLATE_FIELDS = 'name,language,status,components';

function unreachable(error: unknown): TestProblem {
  const result = fromNetworkError(error);
  const code = 'code' in result && result.code !== undefined ? result.code : 'NETWORK';
  return { code, reason: `WhatsApp cannot be reached (${code}).` };
}

function testProblem(code: number | undefined, status: number): TestProblem {
  const name = code === undefined ? `HTTP_${status}` : String(code);
  if (code === 100) {
    const reason = 'The id of the number is not one that this access token may use.';
    return { code: name, reason, option: 'phone-number-id' };
  }
  const result = classify(code, status, 1);
  if (result.outcome === 'channel_stopped') {
    const { reason, option } = result;
    return { code: name, reason, ...(option && { option }) };
  }
  return {
    code: name,
    reason: `WhatsApp answered with status ${status}${code === undefined ? '' : ` and code ${code}`}.`,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

function wamidIn(body: unknown): string | undefined {
  const messages = isObject(body) && Array.isArray(body.messages) ? body.messages : [];
  const [first] = messages as unknown[];
  return isObject(first) && typeof first.id === 'string' ? first.id : undefined;
}

function errorCodeIn(body: unknown): number | undefined {
  const error = isObject(body) ? body.error : undefined;
  return isObject(error) && typeof error.code === 'number' ? error.code : undefined;
}
