import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { readOfMerchants } from '../database/ofMerchants.ts';

/** A merchant's version is a new random value after every change to one of its documents. */
export async function readKnowledgeVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, { knowledge: string }>> {
  const rows = await readOfMerchants<{ merchant_id: MerchantId; version: string }>(
    queries,
    merchantIds,
    (isTheirs) => `select merchant_id, version from live_versions where topic = 'knowledge' and ${isTheirs}`,
  );
  return new Map(rows.map(({ merchant_id, version }) => [merchant_id, { knowledge: version }]));
}

/** SQL: what a merchant's documents count towards its storage allowance. */
export const knowledgeBytes = (merchantId: string) =>
  `coalesce((select bytes from live_versions where merchant_id = ${merchantId} and topic = 'knowledge'), 0)`;
