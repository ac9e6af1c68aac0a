import { openFittingVault } from '../auth/vault.ts';
import type { Config } from '../config.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import type { ChannelDescriptor } from '../delivery/channels/channel.ts';
import { CHANNEL_NAMES, DESCRIPTORS, findDescriptor } from '../delivery/channels/descriptors.ts';
import { type ChannelSettings, visibleSettings } from '../delivery/channels/fields.ts';
import { createChannels } from '../delivery/channels/merchantChannels.ts';
import {
  ChannelSettingsError,
  DAILY_LIMIT_MAX,
  hasOwnLimit,
  removeOwnChannel,
  setDailyLimit,
  setOwnChannel,
} from '../delivery/channels/settings.ts';
import { type ChannelState, readChannelState } from '../delivery/channels/state.ts';
import { lookAgainAtAll } from '../delivery/queue/release.ts';
import { readQuota } from '../delivery/quota.ts';
import { resumeChannels } from '../delivery/worker/stops.ts';
import {
  CHANNEL_OPTIONS,
  problemText,
  REFUSED_OPTIONS,
  readOptions,
  readSecrets,
  SECRETS_HELP,
  secretsShown,
} from './channelFields.ts';
import { command, Failure, PROGRAM, UsageError } from './command.ts';
import { MERCHANT, merchantOf, withDatabase } from './database.ts';
import { count, createTable, minute } from './terminal.ts';
import { recordCommand } from './who.ts';

const FOLLOWS = 'Running servers and workers use it within 5 seconds.';
const KINDS = DESCRIPTORS.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`).join('\n');

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
          ['channel', `${shown.channel}${shown.own_channel ? '' : ' (from the settings)'}`],
          ...Object.entries(shown.settings),
          ['daily limit', `${shown.limit}${shown.own_limit ? '' : ' (from the settings)'}`],
          ['used today', String(shown.used)],
          ['state', stateText(shown)],
        ].map(([name, value]) => ({ name, value }));
        return { text: table(rows), json: shown };
      }),
  }),

  set: command({
    about: 'Give a merchant its own channel',
    details: `CHANNEL is one of
${KINDS}
It replaces the merchant’s whole channel. At a terminal you are asked for the secrets. Otherwise they are read
from standard input, one per line in this order, or as JSON:
${SECRETS_HELP}
They are stored encrypted with SECRET_KEY.`,
    arguments: ['CHANNEL'],
    options: { merchant: MERCHANT, ...CHANNEL_OPTIONS },
    refused: REFUSED_OPTIONS,
    run: async ({ CHANNEL, ...given }) => {
      const descriptor = findDescriptor(CHANNEL);
      if (!descriptor) throw new UsageError(`CHANNEL is one of ${CHANNEL_NAMES.join(', ')}.`);
      const options = readOptions(descriptor, given);
      return withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, String(given.merchant));
        const vault = await openFittingVault(database, config);
        const settings = { ...options, ...(await readSecrets(descriptor)) };
        await database
          .transaction(async (tx) => {
            await setOwnChannel(tx, vault, merchant.id, { type: descriptor, settings }, new Date());
            await recordCommand(tx, 'channel.changed', merchant.id, { channel: descriptor.name });
          })
          .catch(inOptions);
        await lookAgainAtAll(database, merchant.id, 'customer', new Date());
        return {
          text: `${merchant.name} now has its own channel, ${descriptor.name}. ${FOLLOWS}
"${PROGRAM} channel test --merchant ${merchant.id}" checks whether it works.`,
          json: await describe(database, config, merchant.id),
        };
      });
    },
  }),

  unset: command({
    about: 'Remove a merchant’s own channel: it uses the one from the settings again',
    details: 'Its own daily limit stays.',
    options: { merchant: MERCHANT },
    run: (given) =>
      withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        const had = await database.transaction(async (tx) => {
          const removed = await removeOwnChannel(tx, merchant.id, new Date());
          if (removed) await recordCommand(tx, 'channel.removed', merchant.id);
          return removed;
        });
        if (had) await lookAgainAtAll(database, merchant.id, 'customer', new Date());
        const { name } = config.channel;
        return {
          text: had
            ? `${merchant.name} now uses the channel from the settings, ${name}. ${FOLLOWS}`
            : `${merchant.name} does not have its own channel. It uses the one from the settings, ${name}.`,
          json: await describe(database, config, merchant.id),
        };
      }),
  }),

  limit: command({
    about: 'Set how many customers a merchant’s campaigns may reach in 24 hours',
    details: 'N is a number, or "default" for the limit from the settings.',
    arguments: ['N'],
    options: { merchant: MERCHANT },
    run: ({ N, ...given }) => {
      const limit = N === 'default' ? undefined : Number(N);
      if (limit !== undefined && !(/^\d{1,10}$/.test(N) && limit >= 1 && limit <= DAILY_LIMIT_MAX)) {
        throw new UsageError(`N is a whole number from 1 to ${DAILY_LIMIT_MAX}, or "default".`);
      }
      return withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        await database.transaction(async (tx) => {
          await setDailyLimit(tx, merchant.id, limit, new Date());
          await recordCommand(tx, 'channel.limit_changed', merchant.id, { limit: limit ?? 'default' });
        });
        await lookAgainAtAll(database, merchant.id, 'limit', new Date());
        const customers = count(limit ?? config.channelDailyLimit, 'customer');
        return {
          text: `${merchant.name} may reach ${customers} in 24 hours${limit === undefined ? ' (from the settings)' : ''}. ${FOLLOWS}`,
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
        const channel = await (await openChannels(database, config)).of(merchant.id);
        const problem = await channel.check();
        return {
          text:
            problem === undefined
              ? `The channel ${channel.type.name} of ${merchant.name} works. Nothing was sent.`
              : `The channel ${channel.type.name} of ${merchant.name} has a problem: ${problem}`,
          json: { channel: channel.type.name, ok: problem === undefined, problem: problem ?? null },
          failed: problem !== undefined,
        };
      }),
  }),

  resume: command({
    about: 'Resume every stopped channel',
    details: 'A channel that refuses our messages is stopped. Fix the cause first, then resume.',
    run: () =>
      withDatabase(async (database) => {
        const resumed = await database.transaction(async (tx) => {
          const stops = await resumeChannels(tx, new Date());
          for (const { channel_id } of stops)
            await recordCommand(tx, 'channel.resumed', null, { channel_id });
          return stops;
        });
        const names = resumed.map(({ channel_id }) => channel_id);
        return {
          text: names.length === 0 ? 'No channel is stopped.' : `Resumed: ${names.join(', ')}.`,
          json: { resumed: names },
        };
      }),
  }),
};

async function openChannels(database: Database, config: Config) {
  const vault = await openFittingVault(database, config);
  return createChannels({ database, vault, now: () => new Date() }, config);
}

async function describe(database: Database, config: Config, merchantId: MerchantId) {
  const { channel, settings, own } = await (await openChannels(database, config)).describe(merchantId);
  const descriptor = findDescriptor(channel.type.name);
  const { limit, used } = await readQuota(database, merchantId, config.channelDailyLimit, new Date());
  return {
    merchant_id: merchantId,
    channel: channel.type.name,
    own_channel: own,
    settings: descriptor ? presentable(descriptor, settings) : {},
    limit,
    own_limit: await hasOwnLimit(database, merchantId),
    used,
    ...(await readChannelState(database, channel.id, new Date())),
  };
}

function stateText({ state, code, since, until }: ChannelState): string {
  if (state === 'ok' || since === null) return 'ok';
  const next = until === null ? 'until you resume it' : `next try ${minute(until)} UTC`;
  return `${state.replace('_', ' ')} since ${minute(since)} UTC (${code}), ${next}`;
}

/** The settings by option name. A flag is shown only if it is on. */
function presentable(descriptor: ChannelDescriptor, settings: ChannelSettings): Record<string, string> {
  const visible = Object.entries(visibleSettings(descriptor.fields, settings))
    .filter(([, value]) => value !== false)
    .map(([option, value]) => [option, value === true ? 'yes' : String(value)]);
  return { ...Object.fromEntries(visible), ...secretsShown(descriptor) };
}

function inOptions(error: unknown): never {
  if (!(error instanceof ChannelSettingsError)) throw error;
  throw new Failure(error.problems.map(problemText).join('\n'));
}
