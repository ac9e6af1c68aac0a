import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';

/** What a client can subscribe to. Each topic has a version, which the database renews with every change. */
export const TOPICS = ['inbox', 'deliveries', 'knowledge'] as const;
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
  const [inbox, deliveries, knowledge] = await Promise.all(
    TOPICS.map((topic) => readers[topic](queries, merchantIds)),
  );
  return new Map(
    merchantIds.map((id) => [
      id,
      {
        inbox: inbox?.get(id) ?? NO_CHANGES,
        deliveries: deliveries?.get(id) ?? NO_CHANGES,
        knowledge: knowledge?.get(id) ?? NO_CHANGES,
      },
    ]),
  );
}
