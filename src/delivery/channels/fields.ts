import { hostName, isLoopback } from '../../http/address.ts';

/** The values by key. A flag is always set. */
export type ChannelSettings = { readonly [key: string]: string | boolean | undefined };

interface FieldNames {
  /** In the settings object. */
  readonly key: string;
  /** The environment variable. */
  readonly variable: string;
  /** The command-line option; for a secret, its name on standard input. */
  readonly option: string;
  /** A few words for `--help` and for the question at the terminal. */
  readonly about: string;
  /** Merchants must not change it themselves: it could lead requests into the operator's network. */
  readonly operatorOnly?: true;
}

export interface TextField extends FieldNames {
  readonly kind: 'text';
  /** The placeholder for the value in `--help`. */
  readonly value: string;
  /** Sealed in the database, never shown, and never an option on the command line. */
  readonly secret?: true;
  readonly optional?: true;
  /** It names the number that customers get messages from. Merchants see it, even of the operator's channel. */
  readonly isNumber?: true;
  readonly default?: string;
  /** `settings` has the other values, if they matter. */
  isValid(value: string, settings?: ChannelSettings): boolean;
  /** Completes "WEBHOOK_URL must be …". */
  readonly mustBe: string;
}

interface FlagField extends FieldNames {
  readonly kind: 'flag';
}

export type Field = TextField | FlagField;

/**
 * Fields by their options. `phone-number-id` of WHATSAPP is `phoneNumberId` in the settings, and the variable
 * WHATSAPP_PHONE_NUMBER_ID. One without a value is a flag.
 */
export const fieldsOf = (
  channel: string,
  options: Readonly<
    Record<
      string,
      Omit<TextField, 'kind' | 'key' | 'variable' | 'option'> | Pick<FlagField, 'about' | 'operatorOnly'>
    >
  >,
): Field[] =>
  Object.entries(options).map(([option, rest]) => {
    const key = option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const variable = `${channel}_${option.replaceAll('-', '_').toUpperCase()}`;
    return { kind: 'value' in rest ? 'text' : 'flag', key, variable, option, ...rest } as Field;
  });

/** Never repeats a value. */
export interface Problem {
  field: Field;
  /** Follows the name of the field: "must be …". */
  text: string;
}

export const matches = (pattern: RegExp) => (value: string) => pattern.test(value);

export const isWebAddress = (value: string): boolean =>
  ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '');

/** Over plain HTTP others can read what is sent, except within this machine. */
export function isPrivateOnTheWire(value: string): boolean {
  const { protocol, hostname } = URL.parse(value) ?? {};
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostName(hostname ?? '')));
}

/** Every field that is wrong or missing. */
export function fieldProblems(fields: readonly Field[], given: ChannelSettings): Problem[] {
  return fields.flatMap((field): Problem[] => {
    if (field.kind === 'flag') return [];
    const value = given[field.key];
    if (value === undefined && field.optional) return [];
    return typeof value === 'string' && field.isValid(value, given)
      ? []
      : [{ field, text: `must be ${field.mustBe}.` }];
  });
}

/** Whether every field without a default is set. If so, the channel is meant to be used. */
export const isFilledIn = (fields: readonly Field[], given: ChannelSettings): boolean =>
  fields.every(
    (field) =>
      field.kind === 'flag' ||
      field.optional ||
      field.default !== undefined ||
      given[field.key] !== undefined,
  );

/** The settings by option name, without secrets. */
export function visibleSettings(
  fields: readonly Field[],
  settings: ChannelSettings,
): Record<string, string | boolean> {
  return Object.fromEntries(
    fields.flatMap((field): [string, string | boolean][] => {
      const value = settings[field.key];
      if (value === undefined || (field.kind === 'text' && field.secret)) return [];
      return [[field.option, typeof value === 'string' ? withoutPassword(value) : value]];
    }),
  );
}

/** An address may contain a password, or a key in its query. */
function withoutPassword(value: string): string {
  const url = isWebAddress(value) ? URL.parse(value) : null;
  return url ? `${url.origin}${url.pathname}${url.search ? '?…' : ''}` : value;
}
