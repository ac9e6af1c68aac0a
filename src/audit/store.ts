import type { AuditEvent } from '../contract/audit.ts';
import type { EventName } from '../contract/auditEvents.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Param, Queries } from '../database/database.ts';
import type { Who } from './record.ts';

/** The last event of the previous page. */
export interface Position {
  at: string;
  id: number;
}

export interface EventFilter {
  what: EventName | undefined;
  userId: number | undefined;
  since: Date | undefined;
  after: Position | undefined;
  limit: number;
}

export interface StoredEvent {
  id: number;
  merchant_id: number;
  at: string;
  what: EventName;
  actor: Who['kind'];
  user_id: number | null;
  name: string | null;
  address: string | null;
  about: string;
  count: number;
  last_at: string;
}

/** Newest first. */
export const listEvents = (queries: Queries, merchantId: MerchantId, filter: EventFilter) =>
  selectEvents(queries, merchantId, filter);

/** The events of all merchants, and those of none. Only for operators. */
export const listAllEvents = (queries: Queries, filter: EventFilter) =>
  selectEvents(queries, undefined, filter);

function selectEvents(
  queries: Queries,
  merchantId: MerchantId | undefined,
  { what, userId, since, after, limit }: EventFilter,
): Promise<StoredEvent[]> {
  const params: Param[] = [];
  const bind = (value: Param) => `$${params.push(value)}`;
  const conditions: string[] = [];
  if (merchantId !== undefined) conditions.push(`merchant_id = ${bind(merchantId)}`);
  if (what !== undefined) conditions.push(`what = ${bind(what)}`);
  if (userId !== undefined) conditions.push(`user_id = ${bind(userId)}`);
  if (since !== undefined) conditions.push(`at >= ${bind(since.toISOString())}`);
  if (after !== undefined) conditions.push(`(at, id) < (${bind(after.at)}, ${bind(after.id)})`);
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
  return queries.all(
    `select id, merchant_id, at, what, actor, user_id, name, address, about, count, last_at from audit_events
      ${where} order by at desc, id desc limit ${bind(limit)}`,
    params,
  );
}

/** What a merchant sees. The names of the operator's people are not shown. */
export function auditEventOf(event: StoredEvent): AuditEvent {
  const isOperator = event.actor === 'command_line';
  return {
    id: event.id,
    at: event.at,
    what: event.what,
    who: {
      kind: isOperator ? 'operator' : event.actor,
      user_id: event.user_id,
      name: isOperator ? null : event.name,
    },
    from: event.address,
    about: JSON.parse(event.about),
    count: event.count,
    last_at: event.last_at,
  };
}

/** Replaces the name of somebody who was deleted, and removes from where they came. */
export async function forgetActor(
  tx: Queries,
  merchantId: number | null,
  userId: number,
  name: string,
): Promise<void> {
  await tx.run(
    'update audit_events set name = $3, address = null where merchant_id = $1 and user_id = $2 and name <> $3',
    [merchantId ?? 0, userId, name],
  );
}
