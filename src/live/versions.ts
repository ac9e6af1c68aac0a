import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';

/** What a client can subscribe to. Each topic has a version, which the database renews with every change. */
export const TOPICS = ['inbox', 'presence', 'deliveries', 'knowledge', 'conversations'] as const;
export type Topic = (typeof TOPICS)[number];
export type Versions = Readonly<Record<Topic, string>>;

/** The topics of one feature, with one statement. A merchant without changes is absent from the result. */
export type VersionReader = (
  queries: Queries,
  merchantIds: readonly MerchantId[],
) => Promise<ReadonlyMap<MerchantId, Partial<Versions>>>;

const NO_CHANGES: Versions = {
  ...{ inbox: 'empty', presence: '', deliveries: 'empty', knowledge: 'empty', conversations: 'empty' },
};

/** One statement per feature, for any number of merchants; on a cluster more: see `readOfMerchants`. */
export async function readVersions(
  queries: Queries,
  readers: readonly VersionReader[],
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, Versions>> {
  const parts = await Promise.all(readers.map((read) => read(queries, merchantIds)));
  return new Map(
    merchantIds.map((id) => [id, Object.assign({ ...NO_CHANGES }, ...parts.map((part) => part.get(id)))]),
  );
}
