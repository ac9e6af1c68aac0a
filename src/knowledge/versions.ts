import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { idIn } from '../database/ids.ts';

/** A merchant's version is a new random value after every change to one of its documents. */
export async function readKnowledgeVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, { knowledge: string }>> {
  const rows = await queries.all<{ merchant_id: MerchantId; version: string }>(
    `select merchant_id, version from live_versions
      where topic = 'knowledge' and ${idIn(queries.engine, 'merchant_id', '$1')}`,
    [merchantIds],
  );
  return new Map(rows.map(({ merchant_id, version }) => [merchant_id, { knowledge: version }]));
}

/** SQL: what a merchant's documents count towards its storage allowance. */
export const knowledgeBytes = (merchantId: string) =>
  `coalesce((select bytes from live_versions where merchant_id = ${merchantId} and topic = 'knowledge'), 0)`;
