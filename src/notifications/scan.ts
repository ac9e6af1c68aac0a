import type { MerchantId } from '../contract/ids.ts';
import type { Param, Queries } from '../database/database.ts';
import { ROW_BYTES } from './inboxes.ts';

/** A place in a list of notifications. */
export interface Position {
  id: number;
  /** When it changed, in a list of that order. */
  updated_at?: string | undefined;
}

/** A part of a list. No index has every filter, so a statement reads at most so many rows, and says which of them match. */
export interface Window {
  /** SQL: a condition with an index. */
  driver: string;
  /** SQL: what is checked in the rows that it finds. */
  checks: readonly string[];
  /** Those of the conditions, from $2 on. */
  params?: readonly Param[];
  order: 'asc' | 'desc';
  /** In the order of the changes. */
  byTime: boolean;
  /** Undefined: from the beginning. */
  after: Position | undefined;
  rowsMax: number;
}

export interface Scanned {
  id: number;
  updated_at: string;
  bytes: number;
}

/** SQL: what a notification adds to a list. Neither engine reads a long text to get its length. */
export const LISTED_BYTES = `octet_length(context) + ${ROW_BYTES}`;

function selectOf(
  merchantId: MerchantId,
  { driver, checks, params: given = [], order, byTime, after, rowsMax }: Window,
) {
  const params: Param[] = [merchantId, ...given];
  const bind = (value: Param) => `$${params.push(value)}`;
  const columns = byTime ? ['updated_at', 'id'] : ['id'];
  const position = after && [...(byTime ? [after.updated_at!] : []), after.id].map(bind);
  const isAfter = position ? `(${columns}) ${order === 'desc' ? '<' : '>'} (${position})` : 'true';
  const sql = `select id, updated_at, ${LISTED_BYTES} as bytes,
      case when ${['true', ...checks].join(' and ')} then 1 end as matches
    from notifications where merchant_id = $1 and ${driver} and ${isAfter}
    order by ${columns.map((column) => `${column} ${order}`)} limit ${bind(rowsMax)}`;
  return { sql, params };
}

/** Those that match, and after which the next window begins: undefined at the end of the list. */
export async function scan(
  queries: Pick<Queries, 'all'>,
  merchantId: MerchantId,
  window: Window,
): Promise<{ found: Scanned[]; last: Scanned | undefined }> {
  const { sql, params } = selectOf(merchantId, window);
  const rows = await queries.all<Scanned & { matches: number | null }>(sql, params);
  return {
    found: rows.filter(({ matches }) => matches === 1),
    last: rows.length < window.rowsMax ? undefined : rows.at(-1),
  };
}

/** How many match, and how many rows there are. */
export async function countScanned(
  queries: Queries,
  merchantId: MerchantId,
  window: Window,
): Promise<{ matches: number; rows: number }> {
  const { sql, params } = selectOf(merchantId, window);
  const row = await queries.one<{ matches: number; rows: number }>(
    `select count(*) as rows, count(matches) as matches from (${sql}) scanned`,
    params,
  );
  return row!;
}
