import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { idIn } from '../database/ids.ts';

/** What a window can be told of. Each has a version, which the database renews with every change. */
export const TOPICS = ['inbox', 'deliveries', 'knowledge'] as const;
export type Topic = (typeof TOPICS)[number];
export type Versions = Readonly<Record<Topic, string>>;

/** Before the first change there is no row. */
const NOTHING: Versions = { inbox: 'empty', deliveries: 'empty', knowledge: 'empty' };

/** One statement, however many merchants there are. */
export async function readVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, Versions>> {
  const ofMerchants = idIn(queries.engine, 'merchant_id', '$1');
  const rows = await queries.all<{ merchant_id: MerchantId; topic: Topic; version: string }>(
    `select merchant_id, 'inbox' as topic, version from inboxes where ${ofMerchants}
      union all select merchant_id, 'deliveries' as topic, version from delivery_queues where ${ofMerchants}
      union all select merchant_id, topic, version from live_versions where ${ofMerchants}`,
    [merchantIds],
  );
  const versions = new Map(merchantIds.map((id) => [id, { ...NOTHING }]));
  for (const { merchant_id, topic, version } of rows) versions.get(merchant_id)![topic] = version;
  return versions;
}
