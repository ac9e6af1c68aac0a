import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { deleteBatch } from '../database/deleteBatch.ts';
import { idIn, ownIdIn } from '../database/ids.ts';
import { pagesOf } from '../database/pages.ts';
import { keyOf, type Table } from '../database/tables.ts';
import { TABLES } from '../tables.ts';
import { BATCH_MAX } from './store.ts';

/** Erasing as the tables declare it: see src/database/tables.ts. */

type Pause = () => Promise<void> | undefined;
type Way = string | null;

/** The tables with columns that are erased in one of these ways. */
const tablesWith = (of: 'customer' | 'user', ways: readonly Way[]) =>
  TABLES.flatMap((table) => {
    const erase = table[of]?.erase;
    const all: [string, Way][] = typeof erase === 'object' ? Object.entries(erase) : [];
    const columns = all.filter(([, way]) => ways.includes(way));
    return columns.length > 0 ? [{ table, columns }] : [];
  });

const BLANKED = tablesWith('customer', ['', null]);
const REDACTED = tablesWith('customer', ['redact']);
const RENAMED = tablesWith('user', ['rename', 'rename in JSON']);

/** Takes the person out of these conversations at once: nobody finds them any more. */
export async function blankRows(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
  at: Date,
): Promise<void> {
  for (const { table, columns } of BLANKED) {
    const blank = columns.map(([column, value]) => `${column} = ${value === null ? 'null' : `''`}`);
    await tx.run(
      `update ${table.name} set erased_at = $3, updated_at = $3, ${blank} where ${ownIdIn(tx, '$1', '$2')}`,
      [merchantId, ids, at.toISOString()],
    );
  }
}

/** At the end. The database refuses it if something that refers to them is left. */
export async function removeBlankRows(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<void> {
  for (const { table } of BLANKED) {
    const where = `${idIn(tx.engine, 'id', '$2')} and erased_at is not null`;
    await deleteBatch(tx, table, merchantId, { where, params: [ids], limit: ids.length });
  }
}

/** Removes what belongs to a conversation. */
export async function deleteRows(
  database: Database,
  merchantId: MerchantId,
  conversationId: number,
  pause: Pause,
): Promise<void> {
  for (const table of TABLES) {
    if (table.customer?.erase !== 'delete') continue;
    const where = table.customer.rows!.replaceAll(':whose', '$2');
    const some = { where, params: [conversationId], limit: BATCH_MAX };
    for (let count = BATCH_MAX; count === BATCH_MAX; await pause())
      count = await database.transaction((tx) => deleteBatch(tx, table, merchantId, some));
  }
}

/** Takes the person out of texts that stay. */
export async function redactRows(
  queries: Queries,
  merchantId: MerchantId,
  redact: (text: string) => string,
  { only, pause = () => undefined }: { only?: string; pause?: Pause } = {},
): Promise<void> {
  for (const { table, columns } of REDACTED.filter(({ table: { name } }) => (only ?? name) === name))
    for (const [column] of columns) await rewrite(queries, merchantId, table, column, redact, pause);
}

/** Replaces the name of somebody who has left, wherever it was copied. */
export async function renameRows(
  queries: Queries,
  merchantId: MerchantId,
  { from, to }: { from: string; to: string },
  pause: Pause,
): Promise<void> {
  for (const { table, columns } of RENAMED) {
    for (const [column, way] of columns) {
      const renamed = (text: string) =>
        way === 'rename' ? (text === from ? to : text) : renamedIn(text, from, to);
      await rewrite(queries, merchantId, table, column, renamed, pause);
    }
  }
}

/** Changes the texts in a column. One that somebody else changes meanwhile stays as it is. */
export async function rewrite(
  queries: Queries,
  merchantId: MerchantId,
  table: Pick<Table, 'name' | 'key'>,
  column: string,
  change: (text: string) => string | Promise<string>,
  pause: Pause,
): Promise<void> {
  const [key] = keyOf(table);
  const update = `update ${table.name} set ${column} = $3
    where merchant_id = $1 and ${key} = $2 and ${column} = $4`;
  for await (const rows of pagesOf<{ text: string | null }>(
    queries,
    table,
    merchantId,
    `${column} as text`,
  )) {
    for (const { page_key, text } of rows) {
      const changed = text === null ? text : await change(text);
      if (changed !== text) await queries.run(update, [merchantId, page_key, changed, text]);
      await pause();
    }
  }
}

/** The texts of an event, or an event as a webhook endpoint gets it. A message to a customer is no JSON. */
function renamedIn(text: string, from: string, to: string): string {
  if (!text.startsWith('{') || !text.includes(`"answered_by":${JSON.stringify(from)}`)) return text;
  try {
    const content = JSON.parse(text) as { answered_by?: string; data?: { answered_by?: string } };
    const names = [content, content.data].filter((one) => one?.answered_by === from);
    for (const one of names) one!.answered_by = to;
    return names.length > 0 ? JSON.stringify(content) : text;
  } catch {
    return text;
  }
}

/** Removes the rows of somebody who has left. An operator has none of a merchant. */
export async function deleteRowsOfUser(
  tx: Transaction,
  merchantId: MerchantId | null,
  userId: number,
): Promise<void> {
  for (const { name, of, user } of TABLES) {
    if (user?.erase !== 'delete' || (of === undefined && merchantId === null)) continue;
    const ofMerchant = of === undefined ? 'merchant_id = $2 and ' : '';
    await tx.run(`delete from ${name} where ${ofMerchant}${user.rows!.replaceAll(':whose', '$1')}`, [
      userId,
      ...(of === undefined ? [merchantId] : []),
    ]);
  }
}
