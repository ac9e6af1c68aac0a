import { text as readAll } from 'node:stream/consumers';
import type { ChannelName } from '../delivery/channels/channel.ts';
import { WHATSAPP_DEFAULTS } from '../delivery/channels/fields.ts';
import { Failure, UsageError } from './command.ts';
import { openHiddenInput } from './terminal.ts';

/** What each channel is told on the command line, and where: as an option, or in secret. */

interface Field {
  /** As the channel's settings call it, and as the environment does. */
  key: string;
  setting: string;
  fallback?: string;
}
interface OptionField extends Field {
  option: string;
}
interface SecretField extends Field {
  secret: string;
  question: string;
}

interface ChannelFields {
  options: readonly OptionField[];
  /** In the order in which they are asked for and read. */
  secrets: readonly SecretField[];
}

export const CHANNEL_FIELDS: Readonly<Record<ChannelName, ChannelFields>> = {
  simulator: { options: [], secrets: [] },
  webhook: {
    options: [{ key: 'url', setting: 'WEBHOOK_URL', option: 'url' }],
    secrets: [
      { key: 'secret', setting: 'WEBHOOK_SECRET', secret: 'secret', question: 'Signing secret (whsec_…): ' },
    ],
  },
  whatsapp: {
    options: [
      { key: 'phoneNumberId', setting: 'WHATSAPP_PHONE_NUMBER_ID', option: 'phone-number-id' },
      { key: 'template', setting: 'WHATSAPP_TEMPLATE', option: 'template' },
      {
        key: 'templateLanguage',
        setting: 'WHATSAPP_TEMPLATE_LANGUAGE',
        option: 'template-language',
        fallback: WHATSAPP_DEFAULTS.templateLanguage,
      },
      {
        key: 'baseUrl',
        setting: 'WHATSAPP_BASE_URL',
        option: 'base-url',
        fallback: WHATSAPP_DEFAULTS.baseUrl,
      },
      { key: 'version', setting: 'WHATSAPP_VERSION', option: 'version', fallback: WHATSAPP_DEFAULTS.version },
    ],
    secrets: [
      { key: 'token', setting: 'WHATSAPP_TOKEN', secret: 'token', question: 'Access token: ' },
      { key: 'appSecret', setting: 'WHATSAPP_APP_SECRET', secret: 'app_secret', question: 'App secret: ' },
      {
        key: 'verifyToken',
        setting: 'WHATSAPP_VERIFY_TOKEN',
        secret: 'verify_token',
        question: 'Verify token: ',
      },
    ],
  },
};

type Values = Record<string, string | undefined>;

/** The settings that stand in options. One of another channel is a mistake. */
export function readOptions(name: ChannelName, given: Readonly<Record<string, unknown>>): Values {
  for (const [other, { options }] of Object.entries(CHANNEL_FIELDS)) {
    const stray = other === name ? undefined : options.find(({ option }) => given[option] !== undefined);
    if (stray) throw new UsageError(`--${stray.option} belongs to the channel ${other}, not to ${name}.`);
  }
  return Object.fromEntries(
    CHANNEL_FIELDS[name].options.map(({ key, option, fallback }) => [
      key,
      (given[option] as string | undefined)?.trim() ?? fallback,
    ]),
  );
}

/** The settings that nobody may see: asked for at a terminal, else from standard input. */
export async function readSecrets(name: ChannelName): Promise<Values> {
  const { secrets } = CHANNEL_FIELDS[name];
  if (secrets.length === 0) return {};
  if (process.stdin.isTTY) {
    const input = openHiddenInput();
    const values: Values = {};
    try {
      for (const { key, question } of secrets) values[key] = (await input.ask(question, '')).trim();
    } finally {
      input.close();
    }
    return values;
  }
  const text = (await readAll(process.stdin)).trim();
  return text.startsWith('{') ? fromJson(text, secrets) : fromLines(text, secrets);
}

// Neither repeats what it read.
function fromJson(text: string, secrets: readonly SecretField[]): Values {
  let given: Record<string, unknown>;
  try {
    given = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new Failure('Standard input is not valid JSON. Nothing was changed.');
  }
  const members = secrets.map(({ secret }) => secret);
  const complete = Object.keys(given).length === members.length;
  if (!complete || !members.every((member) => typeof given[member] === 'string')) {
    throw new Failure(`The JSON on standard input must have ${members.join(', ')}, each a text.`);
  }
  return Object.fromEntries(secrets.map(({ key, secret }) => [key, (given[secret] as string).trim()]));
}

function fromLines(text: string, secrets: readonly SecretField[]): Values {
  const lines = text === '' ? [] : text.split(/\r?\n/);
  if (lines.length !== secrets.length) {
    const names = secrets.map(({ secret }) => secret).join(', ');
    throw new Failure(`Standard input must hold ${names}: one a line, or as JSON. Nothing was changed.`);
  }
  return Object.fromEntries(secrets.map(({ key }, index) => [key, lines[index]!.trim()]));
}

/** A complaint about a setting, in the words of the command line. */
export function inOptions(name: ChannelName, problem: string): string {
  const { options, secrets } = CHANNEL_FIELDS[name];
  const [setting = ''] = problem.split(' ', 1);
  const option = options.find((field) => field.setting === setting);
  const secret = secrets.find((field) => field.setting === setting);
  const word = option ? `--${option.option}` : secret ? `The secret ${secret.secret}` : setting;
  return word + problem.slice(setting.length);
}
