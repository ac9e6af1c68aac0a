import { openFittingVault } from '../auth/vault.ts';
import type { Config } from '../config.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { CHANNEL_NAMES, type ChannelName } from '../delivery/channels/channel.ts';
import { createChannels } from '../delivery/channels/merchantChannels.ts';
import {
  ChannelSettingsError,
  DAILY_LIMIT_MAX,
  readOwnSettings,
  removeOwnChannel,
  setDailyLimit,
  setOwnChannel,
} from '../delivery/channels/settings.ts';
import { listStops, resumeChannels } from '../delivery/queue/endpoints.ts';
import { readQuota } from '../delivery/quota.ts';
import { CHANNEL_FIELDS, inOptions, readOptions, readSecrets } from './channelFields.ts';
import { command, Failure, PROGRAM, UsageError } from './command.ts';
import { merchantOf, withDatabase } from './database.ts';
import { count, createTable, minute } from './terminal.ts';

const MERCHANT = { type: 'string', value: 'ID', about: 'The merchant whose it is', required: true } as const;
const FOLLOWS = 'Running servers and workers follow within 5 seconds.';
const SECRET_REFUSED =
  'A secret on the command line can be read by others, so it is no option. Leave it out: it is asked for, or ' +
  'read from standard input.';
const refused = Object.fromEntries(
  Object.values(CHANNEL_FIELDS)
    .flatMap(({ secrets }) => secrets.map(({ secret }) => secret.replace('_', '-')))
    .map((option) => [option, SECRET_REFUSED]),
);

const text = (value: string, about: string) => ({ type: 'string', value, about }) as const;

export const commands = {
  show: command({
    about: 'Show a merchant’s channel and limit, without its secrets',
    options: { merchant: MERCHANT },
    run: (given) =>
      withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        const shown = await describe(database, config, merchant.id);
        const table = createTable([
          { title: `MERCHANT ${merchant.id}`, value: ({ name }) => name },
          { title: merchant.name, value: ({ value }) => value },
        ]);
        const rows = [
          ['channel', `${shown.channel}${shown.own_channel ? '' : ', from the settings'}`],
          ...Object.entries(shown.settings),
          ['daily limit', `${shown.limit}${shown.own_limit ? '' : ', from the settings'}`],
          ['used today', String(shown.used)],
          ...(shown.stopped_until === null ? [] : [['stopped until', `${minute(shown.stopped_until)} UTC`]]),
        ].map(([name, value]) => ({ name, value }));
        return { text: table(rows), json: shown };
      }),
  }),

  set: command({
    about: 'Give a merchant a channel of its own',
    details: `CHANNEL is ${CHANNEL_NAMES.join(', ')}. It replaces the merchant's own channel as a whole. The secrets are asked
for; where there is no terminal they come on standard input, one a line in this order or as JSON:
  webhook    secret
  whatsapp   token, app_secret, verify_token
They are stored sealed with SECRET_KEY.`,
    arguments: ['CHANNEL'],
    options: {
      merchant: MERCHANT,
      url: text('URL', 'webhook: the address that is called'),
      'allow-private': { type: 'boolean', about: 'webhook: the address may lie in a private network' },
      'phone-number-id': text('ID', 'whatsapp: the id of the number'),
      template: text('NAME', 'whatsapp: the template outside the 24 hours'),
      'template-language': text('CODE', 'whatsapp: its language, en if not given'),
      'base-url': text('URL', 'whatsapp: the address of the Graph API'),
      version: text('VERSION', 'whatsapp: its version, such as v23.0'),
    },
    refused,
    run: async ({ CHANNEL, ...given }) => {
      const name = CHANNEL_NAMES.find((known) => known === CHANNEL);
      if (!name) throw new UsageError(`CHANNEL is one of ${CHANNEL_NAMES.join(', ')}.`);
      const allowPrivate = given['allow-private'];
      if (allowPrivate && name !== 'webhook')
        throw new UsageError(`--allow-private belongs to the channel webhook, not to ${name}.`);
      const options = readOptions(name, given);
      return withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        const vault = await openFittingVault(database, config);
        const settings = {
          ...options,
          ...(name === 'webhook' ? { allowPrivate } : {}),
          ...(await readSecrets(name)),
        };
        await database
          .transaction((tx) =>
            setOwnChannel(tx, vault, merchant.id, { name, settings: settings as never }, new Date()),
          )
          .catch(inWordsOf(name));
        return {
          text: `${merchant.name} has the channel ${name} of its own. ${FOLLOWS}
"${PROGRAM} channel test --merchant ${merchant.id}" tells whether it works.`,
          json: await describe(database, config, merchant.id),
        };
      });
    },
  }),

  unset: command({
    about: 'Give a merchant the channel of the settings again',
    details: 'A limit of its own stays.',
    options: { merchant: MERCHANT },
    run: (given) =>
      withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        const had = await database.transaction((tx) => removeOwnChannel(tx, merchant.id, new Date()));
        const { name } = config.channel;
        return {
          text: had
            ? `${merchant.name} has the channel of the settings, ${name}. ${FOLLOWS}`
            : `${merchant.name} has no channel of its own. It has that of the settings, ${name}.`,
          json: await describe(database, config, merchant.id),
        };
      }),
  }),

  limit: command({
    about: 'Set how many customers a merchant’s campaigns may reach in 24 hours',
    details: 'N is a number, or "default" for that of the settings.',
    arguments: ['N'],
    options: { merchant: MERCHANT },
    run: ({ N, ...given }) => {
      const limit = N === 'default' ? undefined : Number(N);
      if (limit !== undefined && !(/^\d{1,10}$/.test(N) && limit >= 1 && limit <= DAILY_LIMIT_MAX)) {
        throw new UsageError(`N is a whole number from 1 to ${DAILY_LIMIT_MAX}, or "default".`);
      }
      return withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        await database.transaction((tx) => setDailyLimit(tx, merchant.id, limit, new Date()));
        const customers = count(limit ?? config.channelDailyLimit, 'customer');
        return {
          text: `${merchant.name} may reach ${customers} in 24 hours${limit === undefined ? ', by the settings' : ''}. ${FOLLOWS}`,
          json: await describe(database, config, merchant.id),
        };
      });
    },
  }),

  test: command({
    about: 'Test a merchant’s channel; sends no message',
    options: { merchant: MERCHANT },
    run: (given) =>
      withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        const channel = await channelOf(database, config, merchant.id);
        const problem = await channel.check();
        return {
          text:
            problem === undefined
              ? `The channel ${channel.type.name} of ${merchant.name} answers. Nothing was sent.`
              : `The channel ${channel.type.name} of ${merchant.name} has a problem: ${problem}`,
          json: { channel: channel.type.name, ok: problem === undefined, problem: problem ?? null },
          failed: problem !== undefined,
        };
      }),
  }),

  resume: command({
    about: 'Try every stopped channel again at once',
    details: 'A channel that refused us is left alone for five minutes at a time. Mend it first.',
    run: () =>
      withDatabase(async (database) => {
        const resumed = await database.transaction((tx) => resumeChannels(tx, new Date()));
        const names = resumed.map(({ channel_id }) => channel_id);
        return {
          text:
            names.length === 0 ? 'No channel is stopped.' : `Tried again from now on: ${names.join(', ')}.`,
          json: { resumed: names },
        };
      }),
  }),
};

async function channelOf(database: Database, config: Config, merchantId: MerchantId) {
  const parts = { database, vault: await openFittingVault(database, config), now: () => new Date() };
  return createChannels(parts, config).of(merchantId);
}

async function describe(database: Database, config: Config, merchantId: MerchantId) {
  const own = await readOwnSettings(database, await openFittingVault(database, config), merchantId);
  const { name: fallback } = config.channel;
  const name = own?.channel?.name ?? fallback;
  const settings = own?.channel?.settings ?? (name === 'simulator' ? {} : config.channel[name]);
  const channel = await channelOf(database, config, merchantId);
  const stop = (await listStops(database, new Date())).find(({ channel_id }) => channel_id === channel.id);
  const { limit, used } = await readQuota(database, merchantId, config.channelDailyLimit, new Date());
  return {
    merchant_id: merchantId,
    channel: name,
    own_channel: own?.channel !== undefined,
    settings: presentable(name, { ...settings }),
    limit,
    own_limit: own?.dailyLimit !== undefined,
    used,
    stopped_until: stop?.until ?? null,
  };
}

/** Under the names of the options; of a secret only that it is set. */
function presentable(name: ChannelName, settings: Readonly<Record<string, unknown>>): Record<string, string> {
  const { options, secrets } = CHANNEL_FIELDS[name];
  return Object.fromEntries([
    ...options
      .filter(({ key }) => settings[key] !== undefined)
      .map(({ key, option }) => [option, withoutSecrets(String(settings[key]))]),
    ...(settings.allowPrivate === true ? [['allow-private', 'yes']] : []),
    ...secrets.map(({ secret }) => [secret, 'set']),
  ]);
}

/** An address may carry a password, or a key in its query. */
function withoutSecrets(value: string): string {
  const url = /^https?:/.test(value) ? URL.parse(value) : null;
  return url ? `${url.origin}${url.pathname}${url.search ? '?…' : ''}` : value;
}

const inWordsOf = (name: ChannelName) => (error: unknown) => {
  if (!(error instanceof ChannelSettingsError)) throw error;
  throw new Failure(error.problems.map((problem) => inOptions(name, problem)).join('\n'));
};
