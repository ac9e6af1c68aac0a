import type { ChannelTypes } from '../../../../src/contract/channel.ts';
import { ApiError } from '../../api/error.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { Translation } from '../../i18n/translation.tsx';

type Field = ChannelTypes[number]['fields'][number];

/** How the user knows a setting, and where to find its value. */
interface KnownField {
  label: TextKey;
  hint: TextKey;
  /** What a value that cannot be right must be like. */
  wrong?: TextKey;
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
        'phone-number-id': { label: 'phoneNumberId', hint: 'phoneNumberIdHint', wrong: 'idWrong' },
        'business-account-id': {
          label: 'businessAccountId',
          hint: 'businessAccountIdHint',
          wrong: 'idWrong',
        },
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
          wrong: 'verifyTokenWrong',
          propose: () => hex(random(16)),
        },
      },
    },
    {
      title: 'stepTemplate',
      fields: {
        template: { label: 'templateName', hint: 'templateNameHint', wrong: 'templateNameWrong' },
        'template-language': { label: 'templateLanguage', hint: 'templateLanguageHint' },
      },
    },
    { title: RARE, fields: { version: { label: 'graphVersion', hint: 'graphVersionHint' } } },
  ],
  webhook: [
    {
      title: 'stepSystem',
      fields: {
        url: { label: 'webhookAddress', hint: 'webhookAddressHint', wrong: 'webhookAddressWrong' },
        secret: {
          label: 'signingSecret',
          hint: 'signingSecretHint',
          wrong: 'signingSecretWrong',
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
  const filled = steps.map(({ title, fields: known }) => ({
    title,
    fields: Object.entries(known).flatMap(([option, { label, hint, propose }]) => {
      const field = fields.find((one) => one.option === option);
      return field ? [{ ...field, label: t(label), hint: t(hint), propose }] : [];
    }),
  }));
  const others = fields
    .filter(({ option }) => !steps.some((step) => option in step.fields))
    .map((field) => ({ ...field, label: sentence(field.about), hint: undefined, propose: undefined }));
  const rare = [...filled.filter(({ title }) => title === RARE).flatMap((step) => step.fields), ...others];
  const usual = filled.filter(({ title, fields: shown }) => title !== RARE && shown.length > 0);
  const titleOf = (title: TextKey, index: number) =>
    usual.length === 1 ? t(title) : t('stepOf', { n: index + 1, title: t(title) });
  return [
    ...usual.map((step, index) => ({ ...step, title: titleOf(step.title, index) })),
    ...(rare.length > 0 ? [{ title: t(RARE), fields: rare }] : []),
  ];
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

/** Why the channel does not work, in the user's language if we know the setting that caused it. */
export const problemText = (
  { t }: Translation,
  { field, reason }: { field: string | null | undefined; reason: string },
): string => (REFUSED[field ?? ''] ? t(REFUSED[field ?? '']!) : reason);

interface Refused {
  channel: string;
  option: string;
  error: unknown;
}

/** What is wrong with one setting, if the server has named it. */
export function fieldError(
  translation: Translation,
  { channel, option, error }: Refused,
): string | undefined {
  const field = `settings.${option}`;
  if (!(error instanceof ApiError) || error.field !== field) return undefined;
  if (error.code !== 'VALIDATION_ERROR') return problemText(translation, { field, reason: error.message });
  const known = STEPS[channel]?.find((step) => option in step.fields)?.fields[option];
  return translation.t(known?.wrong ?? 'settingWrong');
}
