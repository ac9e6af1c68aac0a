import type { ChannelTypes } from '../../../../src/contract/channel.ts';
import { ApiError } from '../../api/error.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { Translation } from '../../i18n/translation.tsx';

type Field = ChannelTypes[number]['fields'][number];

/** How the user knows a setting, and where to find its value. */
interface KnownField {
  label: TextKey;
  hint: TextKey;
  /** The user may choose it, so we propose one. It is shown, because it has to be entered on the other side too. */
  propose?: () => string;
}

interface Step {
  title: TextKey;
  fields: Readonly<Record<string, KnownField>>;
}

const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

const RARE: TextKey = 'stepRare';

/** By channel, in the order in which a user meets them at the provider. Other settings come last, in English. */
const STEPS: Readonly<Record<string, readonly Step[]>> = {
  whatsapp: [
    {
      title: 'stepNumber',
      fields: {
        'phone-number-id': { label: 'phoneNumberId', hint: 'phoneNumberIdHint' },
        'business-account-id': { label: 'businessAccountId', hint: 'businessAccountIdHint' },
      },
    },
    {
      title: 'stepAccess',
      fields: {
        token: { label: 'accessToken', hint: 'accessTokenHint' },
        'app-secret': { label: 'appSecret', hint: 'appSecretHint' },
      },
    },
    {
      title: 'stepReceive',
      fields: {
        'verify-token': {
          label: 'verifyToken',
          hint: 'verifyTokenHint',
          propose: () => hex(random(16)),
        },
      },
    },
    {
      title: 'stepTemplate',
      fields: {
        template: { label: 'templateName', hint: 'templateNameHint' },
        'template-language': { label: 'templateLanguage', hint: 'templateLanguageHint' },
      },
    },
    { title: RARE, fields: { version: { label: 'graphVersion', hint: 'graphVersionHint' } } },
  ],
  webhook: [
    {
      title: 'stepSystem',
      fields: {
        url: { label: 'webhookAddress', hint: 'webhookAddressHint' },
        secret: {
          label: 'signingSecret',
          hint: 'signingSecretHint',
          propose: () => `whsec_${base64(random(32))}`,
        },
      },
    },
  ],
};

export interface FieldToFill extends Field {
  label: string;
  hint: string | undefined;
  propose: (() => string) | undefined;
}

interface StepToFill {
  title: string;
  fields: FieldToFill[];
}

/** The settings of a channel, step by step, in the user's language. */
export function stepsOf({ t }: Translation, { channel, fields }: ChannelTypes[number]): StepToFill[] {
  const steps = STEPS[channel] ?? [];
  const isKnown = ({ option }: Field) => steps.some((step) => option in step.fields);
  const unknown = fields.filter((field) => !isKnown(field));
  const titleOf = (title: TextKey, n: number) =>
    title === RARE || steps.length === 1 ? t(title) : t('stepOf', { n, title: t(title) });
  const known = steps.map((step, index) => ({
    title: titleOf(step.title, index + 1),
    fields: Object.entries(step.fields).flatMap(([option, { label, hint, propose }]) => {
      const field = fields.find((one) => one.option === option);
      return field ? [{ ...field, label: t(label), hint: t(hint), propose }] : [];
    }),
  }));
  const others = unknown.map((field) => ({
    ...field,
    label: sentence(field.about),
    hint: undefined,
    propose: undefined,
  }));
  return [...known, { title: t(RARE), fields: others }].filter((step) => step.fields.length > 0);
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** What we propose for the settings that the user chooses, by channel. */
export const makeProposals = (): Record<string, Record<string, string>> =>
  Object.fromEntries(
    Object.entries(STEPS).map(([channel, steps]) => [
      channel,
      Object.fromEntries(
        steps.flatMap(({ fields }) =>
          Object.entries(fields).flatMap(([option, { propose }]) => (propose ? [[option, propose()]] : [])),
        ),
      ),
    ]),
  );

const REFUSED: Readonly<Record<string, TextKey>> = {
  'settings.token': 'accessTokenRefused',
  'settings.phone-number-id': 'phoneNumberIdRefused',
};

/** Why the channel does not work, in the user's language if we know the setting that is to blame. */
export const problemText = (
  { t }: Translation,
  { field, reason }: { field: string | null | undefined; reason: string },
): string => (REFUSED[field ?? ''] ? t(REFUSED[field ?? '']!) : reason);

/** What is wrong with one setting, if the server has named it. */
export function fieldError(translation: Translation, error: unknown, option: string): string | undefined {
  const field = `settings.${option}`;
  if (!(error instanceof ApiError) || error.field !== field) return undefined;
  if (error.code === 'VALIDATION_ERROR') return translation.t('settingWrong');
  return problemText(translation, { field, reason: error.message });
}
