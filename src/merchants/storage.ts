import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { storageFull } from '../errors.ts';

/** A merchant's storage allowance. The database counts exactly; this remembers the count for a while. */
export interface Storage {
  /**
   * Throws if a merchant that writes so many bytes more would have more than its allowance. Answers count, but are not
   * refused: customers wait for them.
   */
  reserve(queries: Queries, merchantId: MerchantId, bytes: number): Promise<void>;
}

/** What another process writes in this time is not seen, so a merchant can get that much more. */
const REMEMBER_MS = 30_000;
const REMEMBERED_MAX = 10_000;

/** `columns` are SQL expressions of the merchant `$1`: what each feature stores. 0 bytes: no limit. */
export function createStorage(columns: readonly string[], bytesMax: number): Storage {
  const remembered = new LRUCache<MerchantId, { bytes: number }>({ max: REMEMBERED_MAX, ttl: REMEMBER_MS });
  const sql = `select ${columns.join(' + ')} as bytes`;

  async function read(queries: Queries, merchantId: MerchantId): Promise<{ bytes: number }> {
    const row = await queries.one<{ bytes: number }>(sql, [merchantId]);
    if (!row) throw new Error('a select without a table returns a row');
    remembered.set(merchantId, row);
    return row;
  }

  return {
    async reserve(queries, merchantId, bytes) {
      if (bytesMax === 0) return;
      let used = remembered.get(merchantId);
      // Before it refuses, it reads again: something may have been deleted.
      if (!used || used.bytes + bytes > bytesMax) used = await read(queries, merchantId);
      if (used.bytes + bytes > bytesMax) throw storageFull();
      used.bytes += bytes;
    },
  };
}

/** What each merchant stores. `bytesOf` returns SQL expressions of a merchant. */
export async function listStorage(
  queries: Queries,
  bytesOf: (merchantId: string) => readonly string[],
): Promise<{ id: number; name: string; bytes: number }[]> {
  const merchants = await queries.all<{ id: number; name: string }>(
    'select id, name from merchants order by id',
  );
  const all: { id: number; name: string; bytes: number }[] = [];
  for (const merchant of merchants) {
    const row = await queries.one<{ bytes: number }>(`select ${bytesOf('$1').join(' + ')} as bytes`, [
      merchant.id,
    ]);
    all.push({ ...merchant, bytes: row!.bytes });
  }
  return all;
}
