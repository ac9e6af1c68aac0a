import type { Notification, NotificationDetail } from '../api/types.ts';
import { textOfNotification } from '../inbox/notifications.ts';
import type { Turn } from './timeline.ts';

/** What is shown of a conversation while a notification of it is open. */

const NOTHING = {
  ...{ by: null, can_quote: false, question: null },
  ...{ notification_id: null, reply_to: null, delivery: null },
};

/** The question is shown at once, before anything else is loaded, and if it is on a page that is not loaded. */
export function withQuestion(turns: readonly Turn[], item: Notification): readonly Turn[] {
  if (turns.some(({ question }) => question?.notification_id === item.id)) return turns;
  const turn: Turn = {
    ...{ ...NOTHING, id: `n${item.id}`, from: 'customer' },
    ...{ text: textOfNotification(item), at: item.created_at },
    question: {
      ...{ notification_id: item.id, notification_type: item.notification_type, status: item.status },
      ...{ outcome: null, answer: null, undo_until: null, answered_by: null, answered_at: null },
    },
  };
  return [turn, ...turns.filter(({ at }) => at >= turn.at)];
}

/** Answers that no message has are turns, too: held ones, and those that the assistant passes on. */
export function withAnswers(turns: readonly Turn[], item: NotificationDetail): readonly Turn[] {
  const sent = new Set(turns.flatMap(({ notification_id: id }) => (id === null ? [] : [id])));
  const own = textOfAnswer(item);
  const others = turns.flatMap((turn): Turn[] => {
    const { question } = turn;
    if (!question || sent.has(question.notification_id)) return [];
    const isOpen = question.notification_id === item.id;
    const text = isOpen ? own : question.answer;
    if (!text) return [];
    const at = question.answered_at ?? item.updated_at;
    // What is open says so below.
    const heldUntil = isOpen ? null : question.undo_until;
    return [
      {
        ...{ ...NOTHING, id: `a${question.notification_id}`, from: 'merchant', text },
        ...{ at: at > turn.at ? at : turn.at, notification_id: question.notification_id },
        by: (isOpen ? item.answered_by : question.answered_by) ?? null,
        reply_to: { id: turn.id, text: turn.text },
        delivery:
          heldUntil === null
            ? null
            : { id: 0, state: 'queued', reason: null, code: null, updated_at: at, undo_until: heldUntil },
      },
    ];
  });
  if (others.length === 0) return turns;
  // The sort is stable: at the same time, an answer comes after its question.
  return [...turns, ...others].sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1));
}

/** Empty if nothing was sent, or if it is not loaded. */
function textOfAnswer({ answer, answered_fields: [field = 'answer'], outcome }: NotificationDetail): string {
  const given = (answer ?? {}) as Record<string, unknown>;
  if (outcome === 'resolved' || given.resolve_only === true || given.cancelled === true) return '';
  const text = given[field];
  return typeof text === 'string' ? text : '';
}
