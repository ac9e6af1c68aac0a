import type { Ask } from './store.ts';

/** What callers see of an ask. */

export const baseOf = (ask: Ask) => ({
  id: ask.id,
  notification_id: ask.id,
  conversation_id: ask.conversation_id,
  reference: ask.reference,
  metadata: ask.metadata === null ? null : (JSON.parse(ask.metadata) as Record<string, unknown>),
  deliver: ask.deliver,
  created_at: ask.created_at,
  expires_at: ask.expires_at,
});

export type AskState = ReturnType<typeof stateOf>;

/** `delivery` is JSON: the message with the answer, if there is one. */
export function stateOf(ask: Ask & { delivery: string | null }) {
  const base = baseOf(ask);
  // It has an end unless it waits or has expired.
  const endedAt = ask.ended_at ?? ask.created_at;
  switch (ask.status) {
    case 'waiting':
      return { status: ask.status, ...base };
    case 'answered':
      return {
        status: ask.status,
        ...base,
        answer: ask.answer ?? '',
        answered_by: ask.answered_by,
        answered_at: endedAt,
        late: ask.expires_at !== null && endedAt > ask.expires_at,
        delivery: ask.delivery === null ? null : JSON.parse(ask.delivery),
      };
    case 'resolved':
      return { status: ask.status, ...base, resolved_by: ask.answered_by, resolved_at: endedAt };
    case 'deleted':
      return { status: ask.status, ...base, deleted_at: endedAt };
    case 'expired':
      return { status: ask.status, ...base, expired_at: ask.expires_at ?? endedAt };
    case 'cancelled':
      return { status: ask.status, ...base, cancelled_at: endedAt };
  }
}
