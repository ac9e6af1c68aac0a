import { text as readAll } from 'node:stream/consumers';
import type { ChannelDescriptor } from '../delivery/channels/channel.ts';
import { DESCRIPTORS } from '../delivery/channels/descriptors.ts';
import type { ChannelSettings, Field, Problem, TextField } from '../delivery/channels/fields.ts';
import { Failure, type Option, UsageError } from './command.ts';
import { openHiddenInput } from './terminal.ts';

/** The settings of the channels on the command line: options, and secrets on standard input. */

const isSecret = (field: Field): field is TextField => field.kind === 'text' && field.secret === true;

/** In the order in which they are asked for and read. */
const secretsOf = ({ fields }: ChannelDescriptor): TextField[] => fields.filter(isSecret);
const optionsOf = ({ fields }: ChannelDescriptor): Field[] => fields.filter((field) => !isSecret(field));

/** A secret's name in JSON: `app_secret` for the option `app-secret`. */
const secretName = ({ option }: TextField) => option.replaceAll('-', '_');

/** The options of `channel set`. Two channels may share one. */
export const CHANNEL_OPTIONS: Readonly<Record<string, Option>> = Object.fromEntries(
  [
    ...Map.groupBy(
      DESCRIPTORS.flatMap((descriptor) => optionsOf(descriptor).map((field) => ({ descriptor, field }))),
      ({ field }) => field.option,
    ),
  ].map(([option, uses]): [string, Option] => {
    const about = uses.map(({ descriptor, field }) => `${descriptor.name}: ${aboutOf(field)}`).join('; ');
    const { field } = uses[0]!;
    return [
      option,
      field.kind === 'flag' ? { type: 'boolean', about } : { type: 'string', value: field.value, about },
    ];
  }),
);

function aboutOf(field: Field): string {
  const fallback = field.kind === 'text' ? field.default : undefined;
  return fallback === undefined ? field.about : `${field.about} (default ${fallback})`;
}

/** For `--help`: which secrets each channel needs. */
export const SECRETS_HELP: string = DESCRIPTORS.filter((descriptor) => secretsOf(descriptor).length > 0)
  .map((descriptor) => `  ${descriptor.name.padEnd(10)} ${secretsOf(descriptor).map(secretName).join(', ')}`)
  .join('\n');

const SECRET_REFUSED =
  'Others can read a secret on the command line, so there is no option for it. Leave it out: you will be asked ' +
  'for it, or it is read from standard input.';

/** Options that people may try for a secret, and why they do not exist. */
export const REFUSED_OPTIONS: Readonly<Record<string, string>> = Object.fromEntries(
  DESCRIPTORS.flatMap(secretsOf).map(({ option }) => [option, SECRET_REFUSED]),
);

/** The settings given as options. An option of another channel is a mistake. */
export function readOptions(
  descriptor: ChannelDescriptor,
  given: Readonly<Record<string, unknown>>,
): ChannelSettings {
  const own = optionsOf(descriptor);
  for (const other of DESCRIPTORS) {
    const stray = optionsOf(other).find(
      ({ option }) =>
        given[option] !== undefined &&
        given[option] !== false &&
        !own.some((field) => field.option === option),
    );
    if (stray)
      throw new UsageError(
        `--${stray.option} belongs to the channel ${other.name}, not to ${descriptor.name}.`,
      );
  }
  return Object.fromEntries(
    own.map((field) => [
      field.key,
      field.kind === 'flag'
        ? given[field.option] === true
        : ((given[field.option] as string | undefined)?.trim() ?? field.default),
    ]),
  );
}

/** Asked for at a terminal, otherwise read from standard input. */
export async function readSecrets(descriptor: ChannelDescriptor): Promise<ChannelSettings> {
  const secrets = secretsOf(descriptor);
  if (secrets.length === 0) return {};
  if (process.stdin.isTTY) {
    const input = openHiddenInput();
    const values: Record<string, string> = {};
    try {
      for (const { key, about } of secrets) values[key] = (await input.ask(`${about}: `, '')).trim();
    } finally {
      input.close();
    }
    return values;
  }
  const text = (await readAll(process.stdin)).trim();
  return text.startsWith('{') ? fromJson(text, secrets) : fromLines(text, secrets);
}

// No message repeats what was read.
function fromJson(text: string, secrets: readonly TextField[]): ChannelSettings {
  let given: Record<string, unknown>;
  try {
    given = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new Failure('Standard input is not valid JSON. Nothing was changed.');
  }
  const members = secrets.map(secretName);
  const complete = Object.keys(given).length === members.length;
  if (!complete || !members.every((member) => typeof given[member] === 'string')) {
    throw new Failure(`The JSON on standard input must have ${members.join(', ')}, each a text.`);
  }
  return Object.fromEntries(secrets.map((field) => [field.key, (given[secretName(field)] as string).trim()]));
}

function fromLines(text: string, secrets: readonly TextField[]): ChannelSettings {
  const lines = text === '' ? [] : text.split(/\r?\n/);
  if (lines.length !== secrets.length) {
    const names = secrets.map(secretName).join(', ');
    throw new Failure(`Standard input must contain ${names}: one per line, or as JSON. Nothing was changed.`);
  }
  return Object.fromEntries(secrets.map(({ key }, index) => [key, lines[index]!.trim()]));
}

/** The problem with the name that the command line uses. */
export const problemText = ({ field, text }: Problem): string =>
  `${isSecret(field) ? `The secret ${secretName(field)}` : `--${field.option}`} ${text}`;

/** For `channel show`: for a secret, only whether it is set. */
export const secretsShown = (descriptor: ChannelDescriptor): Record<string, string> =>
  Object.fromEntries(secretsOf(descriptor).map((field) => [secretName(field), 'set']));
