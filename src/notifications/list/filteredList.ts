import type { MerchantId } from '../../contract/ids.ts';
import { INCLUDED, type Included, LISTED_IDS_MAX, PAGE_DEFAULT } from '../../contract/notifications.ts';
import type { Param, Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { invalid } from '../../errors.ts';
import { readId, readIds } from '../../http/ids.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { collectPage, cursorOf, readCursor } from '../../http/paging.ts';
import { readTime } from '../../http/times.ts';
import { scan } from '../scan.ts';
import { answerMembers, askMember, notificationWire } from '../store.ts';
import { readListQuery } from './list.ts';
import type { ListFilter } from './rows.ts';

/** The list with one of these parameters: always in pages, without a version. */
const PARAMETERS = ['conversation_id', 'ids', 'updated_since', 'include'] as const;

export const isFiltered = (query: Record<string, unknown>): boolean =>
  PARAMETERS.some((name) => query[name] !== undefined);

interface Position {
  id: number;
  updated_at: string;
}

interface Filter extends Pick<ListFilter, 'status' | 'types'> {
  conversationId: number | undefined;
  ids: readonly number[] | undefined;
  /** As stored. The list is then in the order of the changes. */
  updatedSince: string | undefined;
  include: readonly Included[];
  limit: number;
  /** The last one of the previous page. */
  after: Position;
}

const FIRST: Position = { id: Number.MAX_SAFE_INTEGER, updated_at: '9999' };

export function readFilteredQuery(query: Record<string, unknown>): Filter {
  const { status, types, limit = PAGE_DEFAULT } = readListQuery({ ...query, cursor: undefined });
  const updatedSince = readSince(query.updated_since);
  return {
    status,
    types,
    limit,
    conversationId: readConversationId(query.conversation_id),
    ids: readWanted(query.ids),
    updatedSince,
    include: readIncluded(query.include),
    after: readAfter(query.cursor, updatedSince !== undefined),
  };
}

/** Finds the page's notifications first, then reads their texts piece by piece. */
export async function readFilteredPage(
  queries: Queries,
  merchantId: MerchantId,
  filter: Filter,
): Promise<{ body: Buffer; nextCursor: string | undefined }> {
  const pause = inSlices();
  const scanMore = filter.ids === undefined ? scanNext : scanIds;
  let scanned: Scanned = { found: [], last: filter.after };
  async function find(count: number): Promise<Position[]> {
    while (scanned.found.length < count && scanned.last) {
      const { found, last } = await scanMore(queries, merchantId, filter, scanned.last);
      scanned = { found: [...scanned.found, ...found], last };
      await pause();
    }
    return scanned.found.splice(0, count);
  }

  const { rows, hasMore } = await collectPage<Row>(
    filter.limit,
    ({ wire }) => wire.length,
    async (_last, atMost) => {
      const read: Row[] = [];
      // Some may have changed or been deleted since they were found.
      while (read.length < atMost) {
        const found = await find(atMost - read.length);
        if (found.length === 0) break;
        read.push(...(await readRows(queries, merchantId, filter, found)));
      }
      return read;
    },
  );
  const last = rows.at(-1);
  return {
    body: Buffer.from(`[${rows.map(({ wire }) => wire).join(',')}]`),
    nextCursor: hasMore && last ? cursorAfter(last, filter.updatedSince !== undefined) : undefined,
  };
}

interface Scanned {
  found: Position[];
  /** The next scan begins after this one. Undefined at the end. */
  last: Position | undefined;
}

/** At most so many rows are read by one statement, because no index has every filter. */
const SCAN_ROWS_MAX = 1000;

async function scanNext(
  queries: Queries,
  merchantId: MerchantId,
  filter: Filter,
  after: Position,
): Promise<Scanned> {
  const params: Param[] = [];
  const { indexed, others } = conditionsOf(filter, (value) => `$${1 + params.push(value)}`);
  const [driver = 'true', ...rest] = indexed;
  const checks = [...rest, ...others];
  return scan(queries, merchantId, {
    ...{ driver, checks, params, after, order: 'desc', byTime: filter.updatedSince !== undefined },
    rowsMax: checks.length === 0 ? filter.limit + 1 : SCAN_ROWS_MAX,
  });
}

async function scanIds(
  queries: Queries,
  merchantId: MerchantId,
  filter: Filter,
  after: Position,
): Promise<Scanned> {
  const rows = await queries.all<Position>(
    `select id, updated_at from notifications where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, filter.ids ?? []],
  );
  const order = filter.updatedSince === undefined ? byId : byChange;
  return { found: rows.filter((row) => order(after, row) < 0).sort(order), last: undefined };
}

const byId = (a: Position, b: Position) => b.id - a.id;
const byChange = (a: Position, b: Position) =>
  a.updated_at === b.updated_at ? byId(a, b) : a.updated_at < b.updated_at ? 1 : -1;

interface Row extends Position {
  /** JSON. */
  wire: string;
}

async function readRows(
  queries: Queries,
  merchantId: MerchantId,
  filter: Filter,
  found: readonly Position[],
): Promise<Row[]> {
  const params: Param[] = [merchantId, found.map(({ id }) => id)];
  const { indexed, others } = conditionsOf(filter, (value) => `$${params.push(value)}`);
  const id = 'notifications.id';
  const members = {
    ...(filter.include.includes('answer') && answerMembers(queries.engine, '$1', id)),
    ...(filter.include.includes('ask') && askMember(queries.engine, '$1', id)),
  };
  const rows = await queries.all<{ id: number; wire: string }>(
    `select id, ${notificationWire(members)} as wire from notifications
      where ${[ownIdIn(queries, '$1', '$2'), ...indexed, ...others].join(' and ')}`,
    params,
  );
  const wires = new Map(rows.map((row) => [row.id, row.wire]));
  return found.flatMap((position) => {
    const wire = wires.get(position.id);
    return wire === undefined ? [] : { ...position, wire };
  });
}

/** `indexed`: those with an index, the one that finds the fewest rows first. */
function conditionsOf(
  { updatedSince, conversationId, status, types }: Filter,
  bind: (value: Param) => string,
) {
  const indexed: string[] = [];
  if (updatedSince !== undefined) indexed.push(`updated_at >= ${bind(updatedSince)}`);
  if (conversationId !== undefined) indexed.push(`conversation_id = ${bind(conversationId)}`);
  if (status !== undefined) indexed.push(`status = '${status}'`);
  return { indexed, others: types.length > 0 ? [`notification_type in ('${types.join("', '")}')`] : [] };
}

const cursorAfter = ({ id, updated_at }: Position, byTime: boolean) =>
  cursorOf(byTime ? `updated ${updated_at} ${id}` : `before ${id}`);

function readAfter(cursor: unknown, byTime: boolean): Position {
  const parts = byTime
    ? readCursor(cursor, /^updated (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\d{1,15})$/)
    : readCursor(cursor, /^before (\d{1,15})$/);
  if (!parts) return FIRST;
  return { id: Number(parts.at(-1)), updated_at: parts[0]! };
}

function readConversationId(given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const id = typeof given === 'string' ? readId(given) : undefined;
  if (id === undefined) throw invalid('conversation_id', 'conversation_id must be the id of a conversation');
  return id;
}

function readWanted(given: unknown): number[] | undefined {
  if (given === undefined) return undefined;
  const ids = readIds(given, LISTED_IDS_MAX);
  if (!ids) {
    throw invalid('ids', `ids must be at most ${LISTED_IDS_MAX} whole numbers, separated by commas`);
  }
  return ids;
}

export const updatedSinceInvalid = () =>
  invalid('updated_since', 'updated_since must be a time such as 2026-01-15T09:30:00Z');
function readSince(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const time = readTime(given);
  if (!time) throw updatedSinceInvalid();
  return time.toISOString();
}

function readIncluded(given: unknown): Included[] {
  const parts = given === undefined ? [] : [given].flat().flatMap((part) => String(part).split(','));
  return parts.map((part) => {
    const known = INCLUDED.find((name) => name === part.trim());
    if (!known) throw invalid('include', `include must be among ${INCLUDED.join(', ')}`);
    return known;
  });
}
