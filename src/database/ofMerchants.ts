import type { MerchantId } from '../contract/ids.ts';
import type { Reads } from './database.ts';
import { idIn } from './ids.ts';

/** With more, a statement for each takes a cluster longer than one that visits many nodes. */
const STATEMENTS_MAX = 8;

/**
 * Rows of these merchants, with one statement. On a cluster a few merchants have one each, which only visits the
 * merchant's node. `sql` gets the condition that a row is theirs.
 */
export async function readOfMerchants<Row>(
  queries: Reads,
  merchantIds: readonly MerchantId[],
  sql: (isTheirs: string) => string,
): Promise<Row[]> {
  if (!queries.isSpread || merchantIds.length > STATEMENTS_MAX)
    return queries.all<Row>(sql(idIn(queries.engine, 'merchant_id', '$1')), [merchantIds]);
  const rows = await Promise.all(merchantIds.map((id) => queries.all<Row>(sql('merchant_id = $1'), [id])));
  return rows.flat();
}
