import { USER_ID } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Document } from '../../contract/knowledge.ts';
import type { Queries } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';

/** Who removed what. The rest of the history is in the versions and wordings, which are gone with their document. */

/** Per merchant, the newest ones. More would not be read, and a program could fill the disk. */
const KEPT_MAX = 1000;
/** Each clean-up reads the rows that stay. */
const CLEAN_UP_EVERY = 32;
export async function recordRemoval(
  tx: Queries,
  merchantId: MerchantId,
  { id, title }: Pick<Document, 'id' | 'title'>,
  { what, author, at }: { what: 'deleted' | 'wording_removed'; author: Author | null; at: Date },
): Promise<void> {
  const [row] = await insertRows<{ id: number }>(
    tx,
    'knowledge_removals',
    [
      {
        ...{ merchant_id: merchantId, document_id: id, title, what },
        ...{ user_id: author?.userId ?? null, key_id: author?.keyId ?? null, at: at.toISOString() },
      },
    ],
    { returning: 'id', reference: USER_ID },
  );
  if (row!.id % CLEAN_UP_EVERY > 0) return;
  await tx.run(
    `delete from knowledge_removals where merchant_id = $1 and id <= (select id from knowledge_removals
      where merchant_id = $1 order by id desc limit 1 offset ${KEPT_MAX})`,
    [merchantId],
  );
}
