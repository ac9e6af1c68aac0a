import { listPeople } from '../../auth/people.ts';
import type { MerchantId, UserId } from '../../contract/ids.ts';
import { NOTES_MAX, type Note } from '../../contract/teamwork.ts';
import type { Database, Engine, Queries, Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { noteNotFound, noteNotYours, notificationNotFound, tooManyNotes } from '../../errors.ts';
import { logEvents } from '../../events/record.ts';

/** What a note takes besides its text. */
const ROW_BYTES = 200;
export const noteBytes = (text: string) => Buffer.byteLength(text) + ROW_BYTES;

/**
 * After a change of the notes of a notification that the caller has locked. It counts their bytes, so that the trigger
 * frees them with it, and that everybody who looks at the inbox hears of it.
 */
export async function countNotes(
  tx: Transaction,
  merchantId: MerchantId,
  notificationId: number,
  bytes: number,
): Promise<void> {
  await tx.run('update notifications set notes_bytes = notes_bytes + $3 where merchant_id = $1 and id = $2', [
    merchantId,
    notificationId,
    bytes,
  ]);
}

/** Assigns it, and logs that. False if it is so already, or if there is no such notification. */
export async function assignNotification(
  database: Database,
  merchantId: MerchantId,
  id: number,
  { userId, by, at }: { userId: number | null; by: UserId; at: Date },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [row] = await tx.run<{ conversation_id: number }>(
      `update notifications set assigned_to = $3
        where merchant_id = $1 and id = $2 and coalesce(assigned_to, 0) <> coalesce(cast($3 as bigint), 0)
        returning conversation_id`,
      [merchantId, id, userId],
    );
    if (!row) return false;
    const data = { notification_id: id, ...row, assigned_to: userId, assigned_by: by };
    await logEvents(tx, merchantId, [{ type: 'notification.assigned', at, notificationId: id, data }]);
    return true;
  });
}

export const notificationExists = async (queries: Queries, merchantId: MerchantId, id: number) =>
  (await queries.one('select id from notifications where merchant_id = $1 and id = $2', [merchantId, id])) !==
  undefined;

interface StoredNote {
  id: number;
  user_id: number;
  text: string;
  mentions: string;
  created_at: string;
}

/** Oldest first. Undefined if there is no such notification. */
export async function listNotes(
  queries: Queries,
  merchantId: MerchantId,
  notificationId: number,
): Promise<StoredNote[] | undefined> {
  const rows = await queries.all<Omit<StoredNote, 'id'> & { id: number | null }>(
    `select t.id, t.user_id, t.text, t.mentions, t.created_at from notifications n
      left join notification_notes t on t.merchant_id = n.merchant_id and t.notification_id = n.id
      where n.merchant_id = $1 and n.id = $2 order by t.id`,
    [merchantId, notificationId],
  );
  if (rows.length === 0) return undefined;
  return rows.filter((row): row is StoredNote => row.id !== null);
}

/** The notification is locked: its notes are counted before one is added. */
export async function insertNote(
  tx: Transaction,
  merchantId: MerchantId,
  notificationId: number,
  { userId, text, mentions, at }: { userId: UserId; text: string; mentions: readonly number[]; at: Date },
): Promise<StoredNote & { conversation_id: number }> {
  const { notes, conversation_id } = (await tx.one<{ notes: number; conversation_id: number }>(
    `select conversation_id, (select count(*) from notification_notes
        where merchant_id = $1 and notification_id = $2) as notes
      from notifications where merchant_id = $1 and id = $2`,
    [merchantId, notificationId],
  ))!;
  if (notes >= NOTES_MAX) throw tooManyNotes(NOTES_MAX);
  const [row] = await insertRows<StoredNote>(
    tx,
    'notification_notes',
    [
      {
        ...{ merchant_id: merchantId, notification_id: notificationId, user_id: userId, text },
        ...{ mentions: JSON.stringify(mentions), created_at: at.toISOString() },
      },
    ],
    { returning: 'id, user_id, text, mentions, created_at' },
  );
  await countNotes(tx, merchantId, notificationId, noteBytes(text));
  // Without the text: it is only for the merchant's people.
  const data = {
    notification_id: notificationId,
    conversation_id,
    note_id: row!.id,
    author: userId,
    mentions,
  };
  await logEvents(tx, merchantId, [{ type: 'notification.noted', at, notificationId, data }]);
  return { ...row!, conversation_id };
}

const LOCKED: Readonly<Record<Engine, string>> = { sqlite: '', postgres: 'for update of n' };

/** Its author may delete it, and an owner. */
export async function deleteNote(
  tx: Transaction,
  merchantId: MerchantId,
  notificationId: number,
  noteId: number,
  { userId, isOwner }: { userId: UserId; isOwner: boolean },
): Promise<void> {
  const row = await tx.one<{ user_id: number | null }>(
    `select t.user_id from notifications n
      left join notification_notes t on t.merchant_id = n.merchant_id and t.notification_id = n.id and t.id = $3
      where n.merchant_id = $1 and n.id = $2 ${LOCKED[tx.engine]}`,
    [merchantId, notificationId, noteId],
  );
  if (!row) throw notificationNotFound();
  if (row.user_id === null) throw noteNotFound();
  if (row.user_id !== userId && !isOwner) throw noteNotYours();
  const [gone] = await tx.run<{ text: string }>(
    'delete from notification_notes where merchant_id = $1 and id = $2 returning text',
    [merchantId, noteId],
  );
  // Somebody else may have deleted it a moment ago.
  if (gone) await countNotes(tx, merchantId, notificationId, -noteBytes(gone.text));
}

/** With the names of today. Somebody who can no longer sign in keeps theirs. */
export async function notesWire(
  queries: Queries,
  merchantId: MerchantId,
  notes: readonly StoredNote[],
): Promise<Note[]> {
  const people = new Map(
    (notes.length === 0 ? [] : await listPeople(queries, merchantId, 'former too')).map((person) => [
      person.id,
      person,
    ]),
  );
  return notes.map(({ id, user_id, text, mentions, created_at }) => ({
    id,
    text,
    author: people.get(user_id) ?? null,
    mentions: (JSON.parse(mentions) as number[]).flatMap((one) => people.get(one) ?? []),
    created_at,
  }));
}

export async function readNoteText(
  queries: Queries,
  merchantId: MerchantId,
  notificationId: number,
  noteId: number,
): Promise<string | undefined> {
  const row = await queries.one<{ text: string }>(
    'select text from notification_notes where merchant_id = $1 and id = $3 and notification_id = $2',
    [merchantId, notificationId, noteId],
  );
  return row?.text;
}
