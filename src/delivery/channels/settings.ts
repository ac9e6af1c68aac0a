import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { type Sealed, type Vault, VaultError } from '../../secrets.ts';
import { lookAgain } from '../queue/release.ts';
import type { ChannelDescriptor } from './channel.ts';
import { type ChannelSettings, fieldProblems, type Problem } from './fields.ts';

/** A merchant's own channel and daily limit, if it does not use those from the environment. */

interface OwnSettings {
  channel: { name: string; settings: ChannelSettings } | undefined;
  dailyLimit: number | undefined;
  updatedAt: string;
}

/** Lists every mistake, not only the first. Never repeats a value. */
export class ChannelSettingsError extends Error {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(problems.map(({ field, text }) => `${field.variable} ${text}`).join('\n'));
    this.problems = problems;
  }
}

export const DAILY_LIMIT_MAX = 1_000_000_000;

interface Row {
  channel: string | null;
  sealed_settings: string | null;
  daily_limit: number | null;
  updated_at: string;
}

export const channelPurpose = (merchantId: number) => `channel of merchant ${merchantId}`;

const purposeOf: Sealed['purposeOf'] = ({ merchant_id }) => channelPurpose(Number(merchant_id));
export const SEALED_CHANNELS: readonly Sealed[] = [
  {
    table: 'channel_settings',
    about: 'merchants’ channels',
    key: { merchant_id: 0 },
    column: 'sealed_settings',
    purposeOf,
  },
  {
    table: 'former_channels',
    about: 'former channels of merchants',
    key: { merchant_id: 0, replaced_at: '' },
    column: 'sealed_settings',
    purposeOf,
  },
];

const unseal = (vault: Vault, merchantId: number, sealed: string | null): ChannelSettings =>
  sealed === null ? {} : JSON.parse(vault.open(sealed, channelPurpose(merchantId)));

/** Throws a `VaultError` if it was sealed with another key. */
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
  return {
    channel:
      row.channel === null
        ? undefined
        : { name: row.channel, settings: unseal(vault, merchantId, row.sealed_settings) },
    dailyLimit: row.daily_limit ?? undefined,
    updatedAt: row.updated_at,
  };
}

/** Takes about 2 ms in SQLite. */
const LISTED_AT_ONCE = 250;

/**
 * The settings of all merchants that have a channel of this type, or had one until a few days ago, by their
 * sealed texts. Only those that are not `known` from the last call are decrypted. With many merchants it takes a while,
 * so others run in between.
 */
export async function listOwnSettings(
  queries: Queries,
  vault: Vault,
  typeName: string,
  known: ReadonlyMap<string, ChannelSettings>,
): Promise<Map<string, ChannelSettings>> {
  const all = new Map<string, ChannelSettings>();
  const pause = inSlices();
  for (const select of [
    `select merchant_id, '' as replaced_at, sealed_settings from channel_settings
      where channel = $1 and merchant_id > $2 and $3 = '' order by merchant_id limit ${LISTED_AT_ONCE}`,
    `select merchant_id, replaced_at, sealed_settings from former_channels
      where channel = $1 and (merchant_id, replaced_at) > ($2, $3) order by merchant_id, replaced_at
      limit ${LISTED_AT_ONCE}`,
  ]) {
    let last = { merchant_id: 0, replaced_at: '' };
    for (let isFull = true; isFull; ) {
      const rows = await queries.all<{ merchant_id: number; replaced_at: string; sealed_settings: string }>(
        select,
        [typeName, last.merchant_id, last.replaced_at],
      );
      for (const { merchant_id, sealed_settings: sealed } of rows) {
        const settings = known.get(sealed) ?? tryUnseal(vault, merchant_id, sealed);
        if (settings) all.set(sealed, settings);
        await pause();
      }
      isFull = rows.length === LISTED_AT_ONCE;
      last = rows.at(-1) ?? last;
    }
  }
  return all;
}

/** The settings of a merchant's own channel and of its former ones, without those that were sealed with another key. */
export async function listSettingsOf(
  queries: Queries,
  vault: Vault,
  merchantId: MerchantId,
): Promise<{ name: string; settings: ChannelSettings; isFormer: boolean }[]> {
  const rows = await queries.all<{ name: string; sealed: string | null; is_former: number }>(
    `select channel as name, sealed_settings as sealed, 0 as is_former from channel_settings
        where merchant_id = $1 and channel is not null
      union all select channel, sealed_settings, 1 from former_channels
        where merchant_id = $1 and replaced_at > ''`,
    [merchantId],
  );
  return rows.flatMap(({ name, sealed, is_former }) => {
    const settings = sealed === null ? {} : tryUnseal(vault, merchantId, sealed);
    return settings ? { name, settings, isFormer: is_former === 1 } : [];
  });
}

/** Undefined if it was sealed with another key: `doctor` reports it. The other merchants' channels still work. */
function tryUnseal(vault: Vault, merchantId: number, sealed: string): ChannelSettings | undefined {
  try {
    return unseal(vault, merchantId, sealed);
  } catch (error) {
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}

export async function merchantsWithOwnChannel(queries: Queries): Promise<MerchantId[]> {
  const rows = await queries.all<{ merchant_id: MerchantId }>(
    'select merchant_id from channel_settings where channel is not null order by merchant_id',
  );
  return rows.map(({ merchant_id }) => merchant_id);
}

/** Replaces the whole channel. Workers use the new one within seconds. */
export async function setOwnChannel(
  tx: Queries,
  vault: Vault,
  merchantId: MerchantId,
  { type, settings }: { type: ChannelDescriptor; settings: ChannelSettings },
  at: Date,
): Promise<void> {
  const problems = fieldProblems(type.fields, settings);
  if (problems.length === 0) problems.push(...(type.checkOwn?.(settings) ?? []));
  if (problems.length > 0) throw new ChannelSettingsError(problems);
  await keepFormer(tx, merchantId, at);
  // All of it is sealed: an address or a number's id can be as confidential as a secret.
  const sealed = vault.seal(JSON.stringify(settings), channelPurpose(merchantId));
  await tx.run(
    `insert into channel_settings (merchant_id, channel, sealed_settings, updated_at) values ($1, $2, $3, $4)
      on conflict (merchant_id) do update set channel = excluded.channel,
        sealed_settings = excluded.sealed_settings, updated_at = excluded.updated_at`,
    [merchantId, type.name, sealed, at.toISOString()],
  );
  await lookAgain(tx, merchantId, 'customer', at);
}

/** The old channel still reports on the messages that went through it. */
async function keepFormer(tx: Queries, merchantId: MerchantId, at: Date): Promise<void> {
  const former = await tx.one<{ channel: string; sealed_settings: string | null }>(
    'select channel, sealed_settings from channel_settings where merchant_id = $1 and channel is not null',
    [merchantId],
  );
  if (!former) return;
  await tx.run(
    `insert into former_channels (merchant_id, replaced_at, channel, sealed_settings) values ($1, $2, $3, $4)
      on conflict (merchant_id, replaced_at) do update set channel = excluded.channel,
        sealed_settings = excluded.sealed_settings
      returning merchant_id`,
    [merchantId, at.toISOString(), former.channel, former.sealed_settings],
  );
}

export async function hasOwnLimit(queries: Queries, merchantId: MerchantId): Promise<boolean> {
  const row = await queries.one(
    'select merchant_id from channel_settings where merchant_id = $1 and daily_limit is not null',
    [merchantId],
  );
  return row !== undefined;
}

/** `undefined` restores the environment's limit. */
export async function setDailyLimit(
  tx: Queries,
  merchantId: MerchantId,
  limit: number | undefined,
  at: Date,
): Promise<void> {
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= DAILY_LIMIT_MAX)) {
    throw new RangeError(`The limit must be a whole number from 1 to ${DAILY_LIMIT_MAX}.`);
  }
  await tx.run(
    `insert into channel_settings (merchant_id, daily_limit, updated_at) values ($1, $2, $3)
      on conflict (merchant_id) do update set daily_limit = excluded.daily_limit, updated_at = excluded.updated_at`,
    [merchantId, limit ?? null, at.toISOString()],
  );
  await lookAgain(tx, merchantId, 'limit', at);
}

/** Restores the environment's channel and keeps the merchant's own limit. Returns whether it had its own channel. */
export async function removeOwnChannel(tx: Queries, merchantId: MerchantId, at: Date): Promise<boolean> {
  await keepFormer(tx, merchantId, at);
  const rows = await tx.run(
    `update channel_settings set channel = null, sealed_settings = null, updated_at = $2
      where merchant_id = $1 and channel is not null returning merchant_id`,
    [merchantId, at.toISOString()],
  );
  if (rows.length > 0) await lookAgain(tx, merchantId, 'customer', at);
  return rows.length > 0;
}
