import type { MerchantId } from '../../../contract/ids.ts';
import type { Outcome } from '../../../contract/inbox.ts';
import type { NotificationType } from '../../../contract/notifications.ts';
import { customerNameOf, customerPhoneOf } from '../../../conversations/columns.ts';
import type { Engine, Queries } from '../../../database/database.ts';
import { ownIdIn } from '../../../database/ids.ts';
import { indexWordsOf, wordsIn } from '../../../knowledge/search/words.ts';
import { KINDS, readContext } from '../../kinds.ts';
import { noteTexts } from '../../team/columns.ts';

/** What a notification is found by. */
interface Texts {
  /** In any language. */
  texts: readonly string[];
  /** Of people: no word of them is left out. */
  names: readonly string[];
  phones: readonly string[];
  /** Only people may find it by them. */
  notes: readonly string[];
  /** Of the list: its tab, its type and its assignee. */
  marks: readonly string[];
}

interface Row {
  id: number;
  notification_type: NotificationType;
  outcome: Outcome | null;
  context: string;
  answer: string | null;
  customer_name: string | null;
  customer_phone: string | null;
  assigned_to: number | null;
  notes: string | null;
}

/** No message of a customer is longer. It bounds the work, since texts come from anybody. */
const TEXT_LENGTH_MAX = 10_000;
const NOTES_LENGTH_MAX = 20_000;
/** An edit need not wait, only a deletion. */
const NOT_DELETED: Record<Engine, string> = { sqlite: '', postgres: 'for key share' };

/**
 * The texts of these notifications, for the index and for what is not in it yet. Those that no longer exist are left out.
 * A new source of texts is one more text of `textsOf`; whatever changes it adds a row to `inbox_changes`.
 */
export async function readTexts(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
  { lock = false } = {},
): Promise<Map<number, Texts>> {
  const rows = await queries.all<Row>(
    `select n.id, n.notification_type, n.outcome, n.context, n.answer, ${customerNameOf('n', '$1')} as customer_name,
        ${customerPhoneOf('n', '$1')} as customer_phone, n.assigned_to, ${noteTexts('$1', 'n.id', NOTES_LENGTH_MAX)} as notes
      from notifications n where ${ownIdIn(queries, '$1', '$2')}
      ${lock ? `order by n.id ${NOT_DELETED[queries.engine]}` : ''}`,
    [merchantId, ids],
  );
  return new Map(rows.map((row) => [row.id, textsOf(row)]));
}

function textsOf(row: Row): Texts {
  const { question, leadPhone } = readContext(row);
  const answer = row.answer === null ? {} : (JSON.parse(row.answer) as Record<string, unknown>);
  const answers = KINDS[row.notification_type].answeredFields.map((field) => answer[field]);
  return {
    texts: [question, ...answers.filter((text) => typeof text === 'string')],
    names: [row.customer_name ?? ''],
    phones: [row.customer_phone ?? '', leadPhone ?? ''],
    notes: [row.notes ?? ''],
    marks: [
      tabMark(row.outcome ?? 'open'),
      typeMark(row.notification_type),
      assigneeMark(row.assigned_to ?? 'none'),
    ],
  };
}

export const tabMark = (tab: string) => `=${tab}`;
export const typeMark = (type: string) => `=${type}`;
export const assigneeMark = (assigned: number | 'none') => `=to_${assigned}`;

export const noteWord = (word: string) => `~${word}`;

/** A part of a phone number, to be found as the beginning of one of its ends. */
export const phoneWord = (digits: string) => `#${digits}`;
const PHONE_DIGITS_MAX = 20;
export const PHONE_DIGITS_MIN = 3;

export const digitsOf = (text: string) =>
  text.replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 0xf)).replace(/\D/g, '');

/** The different words of a notification. Each is a letter or a digit, or a mark of ours in front of them. */
export function indexedWordsOf({ texts, names, phones, notes, marks }: Texts): Set<string> {
  const words = new Set(marks);
  for (const text of texts) {
    const { stems, forms } = indexWordsOf(text.slice(0, TEXT_LENGTH_MAX));
    for (const word of [...stems, ...forms]) words.add(word);
  }
  for (const note of notes) {
    const { stems, forms } = indexWordsOf(note);
    for (const word of [...stems, ...forms]) words.add(noteWord(word));
  }
  for (const name of names) {
    for (const { stem, form } of wordsIn(name.slice(0, TEXT_LENGTH_MAX))) words.add(stem).add(form);
  }
  for (const phone of phones) {
    const digits = digitsOf(phone).slice(0, PHONE_DIGITS_MAX);
    for (let from = 0; from <= digits.length - PHONE_DIGITS_MIN; from += 1)
      words.add(phoneWord(digits.slice(from)));
  }
  return words;
}
