import { recordEvent, type Who } from '../audit/record.ts';
import type { EventName } from '../contract/auditEvents.ts';
import type { Queries } from '../database/database.ts';

/** A user, for the audit log. */
export const userAt = (userId: number, address: string): Who => ({ kind: 'user', userId, address });

/** Records what a user did at this address, or somebody who named an account that does not exist. */
export function recordFor(
  queries: Queries,
  what: EventName,
  user: { id: number; merchant_id: number | null } | undefined,
  address: string,
  at: Date,
): Promise<void> {
  const who: Who = user ? userAt(user.id, address) : { kind: 'unknown', address };
  return recordEvent(queries, { what, merchantId: user?.merchant_id ?? null, who, at });
}
