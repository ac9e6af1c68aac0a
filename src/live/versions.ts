import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';

/** What a client can subscribe to. Each topic has a version, which the database renews with every change. */
export const TOPICS = ['inbox', 'deliveries', 'knowledge', 'conversations'] as const;
export type Topic = (typeof TOPICS)[number];
export type Versions = Readonly<Record<Topic, string>>;

/** One for each topic, from the feature that owns it. A merchant without changes is absent from the result. */
export type VersionReaders = Readonly<
  Record<
    Topic,
    (queries: Queries, merchantIds: readonly MerchantId[]) => Promise<ReadonlyMap<MerchantId, string>>
  >
>;

const NO_CHANGES = 'empty';

/** One statement per topic, for any number of merchants. */
export async function readVersions(
  queries: Queries,
  readers: VersionReaders,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, Versions>> {
  const byTopic = await Promise.all(
    TOPICS.map(async (topic) => [topic, await readers[topic](queries, merchantIds)] as const),
  );
  return new Map(
    merchantIds.map((id) => [
      id,
      Object.fromEntries(
        byTopic.map(([topic, versions]) => [topic, versions.get(id) ?? NO_CHANGES]),
      ) as Versions,
    ]),
  );
}
