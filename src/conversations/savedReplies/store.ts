import type { MerchantId } from '../../contract/ids.ts';
import { SAVED_REPLIES_MAX, type SavedReplyBody } from '../../contract/savedReplies.ts';
import type { Queries, Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { storableText } from '../../database/text.ts';
import { tooManySavedReplies } from '../../errors.ts';

/** Texts that people insert into a message: the only SQL on saved_replies. */

interface SavedReply {
  id: number;
  title: string;
  text: string;
  created_at: string;
  updated_at: string;
}

const COLUMNS = 'id, title, text, created_at, updated_at';
const byTitle = new Intl.Collator('en', { numeric: true });

/** By title. */
export async function listSavedReplies(queries: Queries, merchantId: MerchantId): Promise<SavedReply[]> {
  const rows = await queries.all<SavedReply>(
    `select ${COLUMNS} from saved_replies where merchant_id = $1 order by id limit ${SAVED_REPLIES_MAX}`,
    [merchantId],
  );
  return rows.sort((a, b) => byTitle.compare(a.title, b.title) || a.id - b.id);
}

export async function insertSavedReply(
  tx: Transaction,
  merchantId: MerchantId,
  { title, text }: SavedReplyBody,
  at: Date,
): Promise<SavedReply> {
  // Two requests at the same time must not both take the last place.
  await tx.lock(`saved replies ${merchantId}`);
  const count = await tx.one<{ count: number }>(
    'select count(*) as count from saved_replies where merchant_id = $1',
    [merchantId],
  );
  if (Number(count?.count ?? 0) >= SAVED_REPLIES_MAX) throw tooManySavedReplies(SAVED_REPLIES_MAX);
  const time = at.toISOString();
  const row = {
    title: storableText(title.trim()),
    text: storableText(text),
    created_at: time,
    updated_at: time,
  };
  const [added] = await insertRows<SavedReply>(tx, 'saved_replies', [{ merchant_id: merchantId, ...row }], {
    returning: COLUMNS,
  });
  if (!added) throw new Error('the insert returned no row');
  return added;
}

/** Changes only what is given. Undefined if the merchant has no such reply. */
export async function updateSavedReply(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  { title, text }: Partial<SavedReplyBody>,
  at: Date,
): Promise<SavedReply | undefined> {
  const [row] = await queries.run<SavedReply>(
    `update saved_replies set title = coalesce($3, title), text = coalesce($4, text), updated_at = $5
      where merchant_id = $1 and id = $2 returning ${COLUMNS}`,
    [
      merchantId,
      id,
      title === undefined ? null : storableText(title.trim()),
      text === undefined ? null : storableText(text),
      at.toISOString(),
    ],
  );
  return row;
}

export async function deleteSavedReply(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<boolean> {
  const rows = await queries.run(
    'delete from saved_replies where merchant_id = $1 and id = $2 returning id',
    [merchantId, id],
  );
  return rows.length > 0;
}
