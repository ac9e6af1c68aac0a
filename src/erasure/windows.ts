import type { MerchantId } from '../contract/ids.ts';
import { merchantsWith } from '../conversations/person.ts';
import type { Database } from '../database/database.ts';
import { forgetWindows, type KnownUntil } from '../delivery/queue/ofPerson.ts';

/** The ids of the channels that a merchant uses or used. */
export type ChannelsOf = (merchantId: MerchantId) => Promise<readonly string[]>;

export const END_OF_TIME = new Date('9999-12-31T00:00:00.000Z');

/**
 * Forgets when a customer last wrote to the merchant's channels. A channel of several merchants keeps it while another
 * one of them has a customer with this number.
 */
export async function forgetOwnWindows(
  { database, channelsOf }: { database: Database; channelsOf: ChannelsOf },
  merchantId: MerchantId,
  known: KnownUntil,
  alsoUsed: readonly string[] = [],
): Promise<void> {
  const own = new Set([...(await channelsOf(merchantId)), ...alsoUsed]);
  for (const other of await merchantsWith(database, known.phone)) {
    if (other === merchantId) continue;
    for (const id of await channelsOf(other)) own.delete(id);
  }
  await database.transaction((tx) => forgetWindows(tx, known, [...own].sort()));
}
