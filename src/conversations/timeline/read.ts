import type { MerchantId } from '../../contract/ids.ts';
import type { NotificationType, Status } from '../../contract/notifications.ts';
import type { Turn } from '../../contract/timeline.ts';
import type { Queries } from '../../database/database.ts';
import { failureOf } from '../../delivery/attention.ts';
import {
  canBeTakenBack,
  findSentIds,
  listSentBefore,
  type SentTurn,
} from '../../delivery/queue/deliveries.ts';
import { collectPage } from '../../http/paging.ts';
import { findMessages, listMessagesBefore, type StoredMessage } from '../messages.ts';
import { isEcho, NEAR_MS, pairQuestions } from './pairs.ts';

/** A conversation as people see it: messages, questions and what was sent, in one order. */

/** At the same time, a message comes before its question, and a question before its answer. */
const RANKS = { m: 0, n: 1, d: 2 } as const;
type Kind = keyof typeof RANKS;

export interface Position {
  at: string;
  kind: Kind;
  id: number;
}

interface Question {
  id: number;
  type: NotificationType;
  text: string;
  at: string;
  status: Status;
  outcome: 'answered' | 'resolved' | null;
  /** Only if no message has it. */
  answer: string | null;
  /** Until when the answer can be undone, if it can. */
  undoUntil: string | null;
  answeredBy: string | null;
  answeredAt: string | null;
}

interface Before {
  before: { at: string; id: number };
  limit: number;
}

/** From the feature that owns notifications. */
export interface Questions {
  /** Newest first. */
  before(
    queries: Queries,
    merchantId: MerchantId,
    conversationId: number,
    range: Before,
  ): Promise<Question[]>;
  byIds(queries: Queries, merchantId: MerchantId, ids: readonly number[]): Promise<Question[]>;
}

type Entry = Position & { text: string } & (
    | { kind: 'm'; row: StoredMessage }
    | { kind: 'n'; row: Question }
    | { kind: 'd'; row: SentTurn }
  );
type EntryOf<K extends Kind> = Extract<Entry, { kind: K }>;

export interface TimelineParts {
  queries: Queries;
  questions: Questions;
}

const ID_MAX = Number.MAX_SAFE_INTEGER;
/** How many turns beside a page are compared with it. With more within ten minutes, a turn may be shown twice. */
const NEIGHBOURS_MAX = 34;
const QUOTE_LENGTH_MAX = 300;

export async function readTimeline(
  parts: TimelineParts,
  merchantId: MerchantId,
  conversationId: number,
  { before, limit, now }: { before: Position | undefined; limit: number; now: Date },
): Promise<{ items: Turn[]; last: Position | undefined }> {
  const read = (position: Position, atMost: number) =>
    readBefore(parts, merchantId, conversationId, position, atMost);
  const { rows, hasMore } = await collectPage<Entry>(
    limit,
    ({ text }) => text.length,
    (last, atMost) => read(last ?? before ?? END, atMost),
  );
  const [first] = rows;
  const last = rows.at(-1);
  if (!first || !last) return { items: [], last: undefined };
  const later = before ? await read({ ...END, at: shifted(first.at, NEAR_MS) }, NEIGHBOURS_MAX) : [];
  const earlier = hasMore ? await read(last, NEIGHBOURS_MAX) : [];
  const known = [
    ...later.filter((entry) => inOrder(first, entry) < 0),
    ...rows,
    ...earlier.filter(({ at }) => at >= shifted(last.at, -NEAR_MS)),
  ];
  const items = await turnsOf(parts, merchantId, conversationId, { rows, known, now });
  return { items, last: hasMore ? last : undefined };
}

/** Without what can still be taken back: an assistant might pass it on. */
export const settledTurns = (turns: readonly Turn[]): Turn[] =>
  turns
    .filter(({ delivery }) => delivery === null || delivery.undo_until === null)
    .map((turn) =>
      turn.question?.undo_until ? { ...turn, question: { ...turn.question, answer: null } } : turn,
    );

const END: Position = { at: '9999', kind: 'd', id: ID_MAX };
const shifted = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();

const inOrder = (a: Position, b: Position): number => {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  return RANKS[a.kind] - RANKS[b.kind] || a.id - b.id;
};

/** What comes before a position, newest first. */
async function readBefore(
  { queries, questions }: TimelineParts,
  merchantId: MerchantId,
  conversationId: number,
  position: Position,
  limit: number,
): Promise<Entry[]> {
  const range = (kind: Kind): Before => {
    const rank = RANKS[kind] - RANKS[position.kind];
    const id = rank === 0 ? position.id : rank < 0 ? ID_MAX : 0;
    return { before: { at: position.at, id }, limit };
  };
  const messages = await listMessagesBefore(queries, merchantId, conversationId, range('m'));
  const raised = await questions.before(queries, merchantId, conversationId, range('n'));
  const sent = await listSentBefore(queries, merchantId, conversationId, range('d'));
  const entries: Entry[] = [
    ...messages.map((row) => ({ kind: 'm', id: row.id, at: row.at, text: row.text, row }) as const),
    ...raised.map((row) => ({ kind: 'n', id: row.id, at: row.at, text: row.text, row }) as const),
    ...sent.map((row) => ({ kind: 'd', id: row.id, at: row.created_at, text: row.content, row }) as const),
  ];
  return entries.sort((a, b) => inOrder(b, a)).slice(0, limit);
}

const isKind =
  <K extends Kind>(kind: K) =>
  (entry: Entry): entry is EntryOf<K> =>
    entry.kind === kind;

/** `rows` as the caller sees them, oldest first. `known` has also what comes soon before and after. */
async function turnsOf(
  { queries, questions }: TimelineParts,
  merchantId: MerchantId,
  conversationId: number,
  { rows, known, now }: { rows: readonly Entry[]; known: readonly Entry[]; now: Date },
): Promise<Turn[]> {
  const messages = known.filter(isKind('m'));
  const raised = known.filter(isKind('n')).reverse();
  const sent = known.filter(isKind('d'));
  const pairs = pairQuestions(
    messages.filter(({ row }) => row.sender === 'customer'),
    raised,
  );
  const questionOf = new Map([...pairs].map(([question, message]) => [message.id, question.row]));
  // Some assistants record everything that they see in the channel.
  const isSent = new Set(
    await findSentIds(
      queries,
      merchantId,
      conversationId,
      messages.flatMap(({ row }) => (row.sender === 'assistant' && row.message_id ? [row.message_id] : [])),
    ),
  );
  const isRepeated = (entry: Entry) => {
    if (entry.kind === 'n') return pairs.has(entry);
    if (entry.kind === 'd' || entry.row.sender === 'customer') return false;
    const messageId = entry.row.message_id;
    return (messageId !== null && isSent.has(messageId)) || isEcho(entry, sent);
  };
  const shown = rows.filter((entry) => !isRepeated(entry)).reverse();

  const answers = shown.filter(isKind('d')).map(({ row }) => row);
  const answeredIds = answers.flatMap(({ notification_id: id }) => (id === null ? [] : [id]));
  const answered = new Map(
    (await questions.byIds(queries, merchantId, answeredIds)).map((one) => [one.id, one]),
  );
  const quotedIds = answers.flatMap(({ reply_to: id }) => (id === null ? [] : [id]));
  const quoted = new Map(
    (await findMessages(queries, merchantId, conversationId, quotedIds)).map((one) => [one.id, one]),
  );
  const messageOf = new Map([...pairs].map(([question, message]) => [question.id, message.id]));

  return shown.map((entry): Turn => {
    const base = { id: `${entry.kind}${entry.id}`, text: entry.text, at: entry.at, ...EMPTY };
    if (entry.kind === 'n') return { ...base, from: 'customer', question: questionWire(entry.row) };
    if (entry.kind === 'm') {
      const { sender } = entry.row;
      const question = questionOf.get(entry.id);
      return {
        ...base,
        from: sender,
        can_quote: sender === 'customer',
        question: question ? questionWire(question) : null,
      };
    }
    const { row } = entry;
    const question = row.notification_id === null ? undefined : answered.get(row.notification_id);
    return {
      ...base,
      from: 'merchant',
      by: row.sent_by ?? question?.answeredBy ?? null,
      notification_id: row.notification_id,
      reply_to:
        row.reply_to !== null
          ? quote(`m${row.reply_to}`, quoted.get(row.reply_to)?.text)
          : question
            ? quote(
                messageOf.has(question.id) ? `m${messageOf.get(question.id)}` : `n${question.id}`,
                question.text,
              )
            : null,
      delivery: deliveryWire(row, now),
    };
  });
}

const EMPTY = {
  ...{ by: null, can_quote: false, question: null },
  ...{ notification_id: null, reply_to: null, delivery: null },
};

const quote = (id: string, text: string | undefined) => ({
  id,
  text:
    text === undefined ? null : [...text.slice(0, 2 * QUOTE_LENGTH_MAX)].slice(0, QUOTE_LENGTH_MAX).join(''),
});

const questionWire = (question: Question): Turn['question'] => ({
  notification_id: question.id,
  notification_type: question.type,
  status: question.status,
  outcome: question.outcome,
  answer: question.answer,
  undo_until: question.undoUntil,
  answered_by: question.answeredBy,
  answered_at: question.answeredAt,
});

function deliveryWire(row: SentTurn, now: Date): Turn['delivery'] {
  const { id, state, reason, updated_at, due_at } = row;
  const isHeld = canBeTakenBack(row, now);
  const code = state === 'failed' ? failureOf(row.last_code) : null;
  return { id, state, reason, code, updated_at, undo_until: isHeld ? due_at : null };
}
