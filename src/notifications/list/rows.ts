import type { MerchantId } from '../../contract/ids.ts';
import type { NotificationType, Status } from '../../contract/notifications.ts';
import type { Queries } from '../../database/database.ts';
import { NO_VERSION } from '../inboxes.ts';
import { LISTED_BYTES, type Window } from '../scan.ts';
import { notificationWire } from '../store.ts';

export interface ListFilter {
  status: Status | undefined;
  /** Sorted, without repeats. */
  types: readonly NotificationType[];
  /** Only notifications older than this one. */
  beforeId: number | undefined;
  limit: number | undefined;
}

export interface ListPage {
  version: string;
  /** A JSON array, newest first. */
  body: string;
  last_id: number | null;
  more: number;
}

/** SQL. Few fixed names, so they are part of the text. As parameters they made PostgreSQL plan each list: 140 of 320 µs. */
const statusIs = ({ status }: Pick<ListFilter, 'status'>) => (status ? `status = '${status}'` : 'true');
const typeIsAmong = ({ types }: Pick<ListFilter, 'types'>) =>
  types.length > 0 ? `notification_type in ('${types.join("', '")}')` : 'true';
/** The window of a list after a position. */
export const windowOf = (filter: ListFilter, rowsMax: number): Window => ({
  driver: statusIs(filter),
  checks: [typeIsAmong(filter)],
  order: 'desc',
  byTime: false,
  after: filter.beforeId === undefined ? undefined : { id: filter.beforeId },
  rowsMax,
});
const isBefore = (id: number | undefined) => id ?? Number.MAX_SAFE_INTEGER;

/** One statement, so that the version belongs to exactly this list. Only for a list that is known to be small. */
export async function listNotifications(
  queries: Queries,
  merchantId: MerchantId,
  filter: ListFilter,
): Promise<ListPage> {
  const params: number[] = [merchantId];
  const bind = (value: number) => `$${params.push(value)}`;
  const matching = `from notifications where merchant_id = $1 and ${statusIs(filter)} and ${typeIsAmong(filter)}`;
  const before = filter.beforeId === undefined ? '' : ` and id < ${bind(filter.beforeId)}`;
  const limit = filter.limit === undefined ? '' : `limit ${bind(filter.limit)}`;

  const row = await queries.one<ListPage>(
    `with page as (select id, ${notificationWire()} as wire ${matching}${before} order by id desc ${limit})
    select coalesce((select version from inboxes where merchant_id = $1), '${NO_VERSION}') as version,
      concat('[', string_agg(wire, ',' order by id desc), ']') as body,
      min(id) as last_id,
      ${filter.limit === undefined ? '0' : `(select count(*) from (select 1 ${matching} and id < (select min(id) from page) order by id desc limit 1) older)`} as more
    from page`,
    params,
  );
  if (!row) throw new Error('an aggregate always returns a row');
  return row;
}

interface Piece {
  /** The notifications as JSON, separated by commas, newest first. Undefined if the filter leaves out all of them. */
  body: Buffer | undefined;
  /** The next piece begins before this id. Undefined at the end of the list. */
  lastId: number | undefined;
}

/** The next piece of a list, down to `lastId`. It has at least one row, and ends with the first row above the size. */
export async function readPiece(
  queries: Pick<Queries, 'one'>,
  merchantId: MerchantId,
  filter: ListFilter,
  lastId: number,
  opening: string,
  { rowsMax, bytesMax }: { rowsMax: number; bytesMax: number },
): Promise<Piece> {
  const piece = await queries.one<{ wires: string | null; last_id: number | null }>(
    `with scanned as (select id, ${LISTED_BYTES} as bytes from notifications
        where merchant_id = $1 and ${statusIs(filter)} and id < $2 and id >= $3 order by id desc limit $4),
      sized as (select id, sum(bytes) over (order by id desc) - bytes as bytes_before from scanned),
      last as (select min(id) as id from sized where bytes_before < $5)
    select $6 || (select string_agg(wire, ',' order by id desc) from (select id, ${notificationWire()} as wire from notifications
        where merchant_id = $1 and ${statusIs(filter)} and ${typeIsAmong(filter)} and id < $2 and id >= last.id) page) as wires,
      last.id as last_id
    from last`,
    [merchantId, isBefore(filter.beforeId), lastId, rowsMax, bytesMax, opening],
  );
  if (!piece) throw new Error('an aggregate always returns a row');
  const body = piece.wires === null ? undefined : Buffer.from(piece.wires);
  // The driver keeps finished rows reachable until a full garbage collection: 130 MB of texts without this line.
  piece.wires = null;
  return { body, lastId: piece.last_id ?? undefined };
}
