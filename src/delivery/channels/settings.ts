import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import type { Vault } from '../../secrets.ts';
import type { ChannelName } from './channel.ts';
import { webhookSettingsProblems, whatsappSettingsProblems } from './fields.ts';
import { type ChannelSettings, channelPurpose } from './merchantChannels.ts';
import { refusesLiteral } from './webhook/publicAddress.ts';

/** A merchant's own channel and limit, where it does not have those of the environment. */

type OwnChannel = {
  [name in ChannelName]: { name: name; settings: ChannelSettings[name] };
}[ChannelName];

interface OwnSettings {
  channel: OwnChannel | undefined;
  dailyLimit: number | undefined;
  updatedAt: string;
}

/** Thrown with every mistake at once. None repeats a value. */
export class ChannelSettingsError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export const DAILY_LIMIT_MAX = 1_000_000_000;

type Unchecked<Settings> = { [key in keyof Settings]: Settings[key] | undefined };

const PROBLEMS: { [name in ChannelName]: (given: Unchecked<ChannelSettings[name]>) => string[] } = {
  simulator: () => [],
  webhook(given) {
    const problems = webhookSettingsProblems(given);
    const url = given.url === undefined ? null : URL.parse(given.url);
    if (url && !given.allowPrivate && refusesLiteral(url)) {
      problems.push('WEBHOOK_URL must not lead into a private network unless that is allowed.');
    }
    return problems;
  },
  whatsapp: whatsappSettingsProblems,
};

interface Row {
  channel: ChannelName | null;
  sealed_settings: string | null;
  daily_limit: number | null;
  updated_at: string;
}

/** Fails with a `VaultError` where it was sealed with another key. */
export async function readOwnSettings(
  queries: Queries,
  vault: Vault,
  merchantId: MerchantId,
): Promise<OwnSettings | undefined> {
  const row = await queries.one<Row>(
    'select channel, sealed_settings, daily_limit, updated_at from channel_settings where merchant_id = $1',
    [merchantId],
  );
  if (!row) return undefined;
  const open = (sealed: string | null) =>
    sealed === null ? {} : JSON.parse(vault.open(sealed, channelPurpose(merchantId)));
  return {
    channel:
      row.channel === null
        ? undefined
        : ({ name: row.channel, settings: open(row.sealed_settings) } as OwnChannel),
    dailyLimit: row.daily_limit ?? undefined,
    updatedAt: row.updated_at,
  };
}

export async function merchantsWithOwnChannel(queries: Queries): Promise<MerchantId[]> {
  const rows = await queries.all<{ merchant_id: MerchantId }>(
    'select merchant_id from channel_settings where channel is not null order by merchant_id',
  );
  return rows.map(({ merchant_id }) => merchant_id);
}

/** Replaces the channel as a whole; workers follow within seconds. */
export async function setOwnChannel<Name extends ChannelName>(
  tx: Queries,
  vault: Vault,
  merchantId: MerchantId,
  { name, settings }: { name: Name; settings: Unchecked<ChannelSettings[Name]> },
  at: Date,
): Promise<void> {
  const problems = PROBLEMS[name](settings);
  if (problems.length > 0) throw new ChannelSettingsError(problems);
  // All of it is sealed: an address or a number's id may tell as much as a secret.
  const sealed = vault.seal(JSON.stringify(settings), channelPurpose(merchantId));
  await tx.run(
    `insert into channel_settings (merchant_id, channel, sealed_settings, updated_at) values ($1, $2, $3, $4)
      on conflict (merchant_id) do update set channel = excluded.channel,
        sealed_settings = excluded.sealed_settings, updated_at = excluded.updated_at`,
    [merchantId, name, sealed, at.toISOString()],
  );
  await lookAgain(tx, merchantId, 'customer', at);
}

/** `undefined`: the environment's limit again. */
export async function setDailyLimit(
  tx: Queries,
  merchantId: MerchantId,
  limit: number | undefined,
  at: Date,
): Promise<void> {
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= DAILY_LIMIT_MAX)) {
    throw new ChannelSettingsError([`The limit must be a whole number from 1 to ${DAILY_LIMIT_MAX}.`]);
  }
  await tx.run(
    `insert into channel_settings (merchant_id, daily_limit, updated_at) values ($1, $2, $3)
      on conflict (merchant_id) do update set daily_limit = excluded.daily_limit, updated_at = excluded.updated_at`,
    [merchantId, limit ?? null, at.toISOString()],
  );
  await lookAgain(tx, merchantId, 'limit', at);
}

/** The environment's channel again; a limit of its own stays. Says whether there was one. */
export async function removeOwnChannel(tx: Queries, merchantId: MerchantId, at: Date): Promise<boolean> {
  const rows = await tx.run(
    `update channel_settings set channel = null, sealed_settings = null, updated_at = $2
      where merchant_id = $1 and channel is not null returning merchant_id`,
    [merchantId, at.toISOString()],
  );
  if (rows.length > 0) await lookAgain(tx, merchantId, 'customer', at);
  return rows.length > 0;
}

/** What waits by the old settings need not wait by the new ones. */
async function lookAgain(
  tx: Queries,
  merchantId: MerchantId,
  waitingFor: 'limit' | 'customer',
  at: Date,
): Promise<void> {
  await tx.run(
    `update deliveries set due_at = $3
      where merchant_id = $1 and state = 'waiting' and waiting_for = $2 and due_at > $3`,
    [merchantId, waitingFor, at.toISOString()],
  );
}
