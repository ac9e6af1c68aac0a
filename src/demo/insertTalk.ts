import type { Queries } from '../database/database.ts';
import type { DemoNotification } from './history.ts';
import { ASKING, TAKEN_OVER, TALK } from './talk.ts';
import type { Customer } from './topics.ts';

/** The conversations of the demo's last days, on both sides: in the inbox and on the customers' phones. */

/** What is older is not on the phones any more. */
export const SHOWN_MINUTES = 7 * 24 * 60;
/** Customers have read what is older than this. */
const UNREAD_MINUTES = 60;

interface Turn {
  conversation: number;
  from: 'customer' | 'assistant' | 'merchant';
  text: string;
  minutesAgo: number;
  /** The position of the notification that it answers, from 1. */
  notification?: number;
  sentBy?: string;
}

interface Parts {
  /** The position of each is its id minus one. */
  conversations: readonly {
    merchantId: number;
    name: string;
    phone: string;
    language?: Customer['language'];
  }[];
  notifications: readonly DemoNotification[];
  ago(minutes: number): string;
  insert(table: string, row: Record<string, string | number | null>): Promise<unknown[]>;
}

export async function insertTalk(tx: Queries, parts: Parts): Promise<void> {
  const { conversations, ago, insert } = parts;
  const turns = turnsOf(parts).filter(({ minutesAgo }) => minutesAgo <= SHOWN_MINUTES);
  // A phone shows its messages in the order of their ids.
  turns.sort((a, b) => b.minutesAgo - a.minutesAgo);
  for (const turn of turns) {
    const { conversation, from, text, minutesAgo } = turn;
    const { merchantId, phone } = conversations[conversation - 1]!;
    const at = ago(minutesAgo);
    const key = from === 'merchant' ? await insertSent(turn) : null;
    if (from !== 'merchant') {
      await insert('conversation_messages', {
        ...{ merchant_id: merchantId, conversation_id: conversation, sender: from, text },
        ...{ at, message_id: null, created_at: at },
      });
    }
    await insert('simulator_messages', {
      ...{ merchant_id: merchantId, phone, from_customer: from === 'customer' ? 1 : 0, content: text },
      ...{ delivery_key: key, at, read_at: minutesAgo > UNREAD_MINUTES && from !== 'customer' ? at : null },
    });
  }
  const takenOver = conversations.findIndex(({ name }) => name === TAKEN_OVER.customer) + 1;
  await tx.run('update conversations set taken_over_at = $2, taken_over_by = $3 where id = $1', [
    takenOver,
    ago(TAKEN_OVER.minutesAgo),
    TAKEN_OVER.by,
  ]);

  /** Returns its key. */
  async function insertSent({ conversation, text, minutesAgo, notification, sentBy }: Turn): Promise<string> {
    const { merchantId, phone } = conversations[conversation - 1]!;
    const key = `demo-${conversation}-${minutesAgo}`;
    const steps = ['queued', 'sent', 'delivered', ...(minutesAgo > UNREAD_MINUTES ? ['read'] : [])];
    const timeOf = (step: number) => ago(minutesAgo - step / 60);
    await insert('deliveries', {
      ...{ merchant_id: merchantId, key, notification_id: notification ?? 0, conversation_id: conversation },
      ...{ reference: `demo-${conversation}`, context: '{}', recipient: phone, mode: 'reply', content: text },
      ...{
        state: steps.at(-1)!,
        attempts: 1,
        channel_id: 'simulator',
        uses_quota: 0,
        sent_by: sentBy ?? null,
      },
      ...{ due_at: ago(minutesAgo), created_at: ago(minutesAgo), updated_at: timeOf(steps.length - 1) },
    });
    const { id } = (await tx.one<{ id: number }>('select id from deliveries where key = $1', [key]))!;
    for (const [index, state] of steps.entries())
      await insert('delivery_events', {
        ...{ merchant_id: merchantId, delivery_id: id, at: timeOf(index), state },
      });
    return key;
  }
}

function turnsOf({ conversations, notifications }: Parts): Turn[] {
  const said = conversations.flatMap(({ name }, index) =>
    (TALK[name] ?? []).map((one) => ({
      ...{ ...one, conversation: index + 1 },
      ...(one.from === 'merchant' ? { sentBy: TAKEN_OVER.by } : {}),
    })),
  );
  const asked = notifications.flatMap((one, index): Turn[] => {
    const { conversation, minutesAgo, context, answer, answeredAfterMinutes = 0 } = one;
    const { language = 'en' } = conversations[conversation - 1]!;
    const { question, person } = ASKING[language];
    const isQuestion = context.question !== undefined;
    const text = String(isQuestion ? context.question : context.support_request_reason);
    const reply = answer?.answer ?? answer?.agent_response_to_customer;
    const asking: Turn[] = [
      { conversation, from: 'customer', text, minutesAgo },
      { conversation, from: 'assistant', text: isQuestion ? question : person, minutesAgo: minutesAgo - 0.2 },
    ];
    if (reply === undefined) return asking;
    return [
      ...asking,
      {
        ...{ conversation, from: 'merchant', text: String(reply) },
        ...{ minutesAgo: minutesAgo - answeredAfterMinutes, notification: index + 1 },
      },
    ];
  });
  return [...said, ...asked];
}
