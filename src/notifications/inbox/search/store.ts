import type { MerchantId } from '../../../contract/ids.ts';
import type { Dialect, Engine, Param, Queries, Transaction } from '../../../database/database.ts';
import { ownIdIn } from '../../../database/ids.ts';

/** The index, and what is not in it yet. */

export interface Change {
  /** As a text: the numbers that a node of a cluster draws can be larger than those of JavaScript. */
  seq: string;
  notification_id: number | null;
  conversation_id: number | null;
  after_id: number;
}

/** The newest first. */
export const listChanges = (queries: Queries, merchantId: MerchantId, limit: number): Promise<Change[]> =>
  queries.all(
    `select cast(seq as text) as seq, notification_id, conversation_id, after_id from inbox_changes
      where merchant_id = $1 order by inbox_changes.seq desc limit $2`,
    [merchantId, limit],
  );

/** Of all merchants: on a cluster this look visits every node, so one finds several merchants. */
const CHANGES_LOOKED_AT = 100;

/** The next merchants after this one that have changes. None if there are no more. */
export const findChanged = (queries: Queries, after: number): Promise<{ merchant_id: MerchantId }[]> =>
  queries.all(
    `select merchant_id from inbox_changes where merchant_id > $1 order by merchant_id limit ${CHANGES_LOOKED_AT}`,
    [after],
  );

export async function listOfConversation(
  queries: Queries,
  merchantId: MerchantId,
  { conversationId, afterId, limit }: { conversationId: number; afterId: number; limit: number },
): Promise<number[]> {
  const rows = await queries.all<{ id: number }>(
    `select id from notifications where merchant_id = $1 and conversation_id = $2 and id > $3 order by id limit $4`,
    [merchantId, conversationId, afterId, limit],
  );
  return rows.map(({ id }) => id);
}

const seqIn = (dialect: Dialect) => ownIdIn(dialect, '$1', '$2', 'seq');

export async function removeChanges(
  tx: Transaction,
  merchantId: MerchantId,
  seqs: readonly string[],
): Promise<void> {
  await tx.run(`delete from inbox_changes where ${seqIn(tx)}`, [merchantId, seqs]);
}

/** Notifications of this conversation up to this one are done. */
export async function continueChange(
  tx: Transaction,
  merchantId: MerchantId,
  seq: string,
  afterId: number,
): Promise<void> {
  await tx.run('update inbox_changes set after_id = $3 where merchant_id = $1 and seq = $2', [
    merchantId,
    seq,
    afterId,
  ]);
}

/** Each number of rows is a statement of its own that PostgreSQL prepares. */
const WRITTEN_AT_ONCE = 20;

export async function writeWords(
  tx: Transaction,
  merchantId: MerchantId,
  words: ReadonlyMap<number, ReadonlySet<string>>,
): Promise<void> {
  if (words.size === 0) return;
  const own = (set: ReadonlySet<string>) => [...set].map((word) => `${merchantId}:${word}`);
  if (tx.engine === 'sqlite') {
    await tx.run('delete from inbox_index where rowid in (select value from json_each($1))', [
      [...words.keys()],
    ]);
    await tx.run(
      `insert into inbox_index (rowid, words) select value ->> 0, value ->> 1 from json_each($1)`,
      [JSON.stringify([...words].map(([id, set]) => [id, own(set).join(' ')]))],
    );
    return;
  }
  const rows = [...words].sort(([a], [b]) => a - b);
  for (let from = 0; from < rows.length; from += WRITTEN_AT_ONCE) {
    const params: Param[] = [merchantId];
    const values = rows.slice(from, from + WRITTEN_AT_ONCE).map(([id, set]) => {
      const first = params.push(id, own(set).join(' ')) - 1;
      return `($1, $${first}, array_to_tsvector(string_to_array($${first + 1}, ' ')))`;
    });
    await tx.run(
      `insert into inbox_index (merchant_id, notification_id, found_by) values ${values}
        on conflict (merchant_id, notification_id) do update set found_by = excluded.found_by
        returning notification_id`,
      params,
    );
  }
}

export interface Wanted {
  expression: string;
  /** Only after this one, in this order. */
  after: number | undefined;
  order: 'asc' | 'desc';
  limit: number;
}

/** So many rows are read in their order before the whole index is asked: enough to fill a page with a common word. */
const WALKED = 1000;

/** The next notifications in the index that match, in order. */
export async function findIndexed(
  queries: Queries,
  merchantId: MerchantId,
  { expression, after, order, limit }: Wanted,
): Promise<number[]> {
  const isAfter = order === 'desc' ? '<' : '>';
  const position = after ?? (order === 'desc' ? Number.MAX_SAFE_INTEGER : 0);
  if (queries.engine === 'sqlite') {
    const rows = await queries.all<{ id: number }>(
      `select rowid as id from inbox_index where inbox_index match $1 and rowid ${isAfter} $2
        order by rowid ${order} limit $3`,
      [expression, position, limit],
    );
    return rows.map(({ id }) => id);
  }
  // PostgreSQL's index has no order: with a common word it would read all rows that have it.
  const walked = await queries.all<{ id: number; found: boolean }>(
    `select notification_id as id, found_by @@ cast($2 as tsquery) as found from inbox_index
      where merchant_id = $1 and notification_id ${isAfter} $3 order by notification_id ${order} limit ${WALKED}`,
    [merchantId, expression, position],
  );
  const found = walked.filter((row) => row.found).map(({ id }) => id);
  if (found.length >= limit || walked.length < WALKED) return found.slice(0, limit);
  // With a plain column it may walk again.
  const rest = await queries.all<{ id: number }>(
    `select notification_id as id from inbox_index where merchant_id = $1 and found_by @@ cast($2 as tsquery)
      and notification_id + 0 ${isAfter} $3 order by notification_id + 0 ${order} limit $4`,
    [merchantId, expression, walked.at(-1)!.id, limit - found.length],
  );
  return [...found, ...rest.map(({ id }) => id)];
}

/** Which of these match. */
export async function matchIndexed(
  queries: Queries,
  merchantId: MerchantId,
  expression: string,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await queries.all<{ id: number }>(MATCH_AMONG[queries.engine](queries), [
    merchantId,
    ids,
    expression,
  ]);
  return rows.map(({ id }) => id);
}

const MATCH_AMONG: Record<Engine, (dialect: Dialect) => string> = {
  // Every word of the expression begins with the merchant.
  sqlite: () => `select rowid as id from inbox_index where inbox_index match $3
    and rowid in (select value from json_each($2)) and $1 > 0`,
  postgres: (dialect) => `select notification_id as id from inbox_index
    where ${ownIdIn(dialect, '$1', '$2', 'notification_id')} and found_by @@ cast($3 as tsquery)`,
};
