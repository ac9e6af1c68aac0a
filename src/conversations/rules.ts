import { MESSAGE_LENGTH_MAX, MESSAGES_AT_ONCE_MAX, SENDERS } from '../contract/conversations.ts';
import { storableText } from '../database/text.ts';
import { type CountryCode, parsePhone } from '../delivery/phone.ts';
import { invalid, required } from '../errors.ts';
import { memberOf } from '../http/input.ts';
import { readTime } from '../http/times.ts';

export interface NewConversation {
  /** The conversation's id in the system it comes from. */
  reference: string | null;
  name: string;
  /** E.164, with +. */
  phone: string;
}

type Field = 'reference' | 'name' | 'phone';

/** `problem` continues a sentence that starts with the name of the field. It never repeats the value. */
type CheckedConversation = { conversation: NewConversation } | { field: Field; problem: string };

const LENGTH_MAX = 255;
/** All but tabs and line ends. */
const CONTROL = /[^\P{Cc}\t\r\n]/u;

/**
 * `country` is the country of a phone number without a country code. A name or phone number that is not required may be
 * empty in the result.
 */
export function checkConversation(
  given: { readonly [field in Field]?: unknown },
  country: CountryCode | undefined,
  requiredFields: readonly Field[] = ['name', 'phone'],
): CheckedConversation {
  const texts = { reference: '', name: '', phone: '' };
  for (const field of Object.keys(texts) as Field[]) {
    // Many systems number their conversations: a whole number is a valid reference.
    const value =
      field === 'reference' && Number.isSafeInteger(given[field]) ? `${given[field]}` : given[field];
    if (value !== undefined && value !== null) {
      if (typeof value !== 'string') return { field, problem: 'must be text' };
      const problem = problemOf(value);
      if (problem) return { field, problem };
      texts[field] = value.trim();
    }
    if (texts[field] === '' && requiredFields.includes(field)) return { field, problem: 'is required' };
  }
  const { reference, name, phone: written } = texts;
  const parsed = written === '' ? { phone: '' } : parsePhone(written, country);
  if ('problem' in parsed) return { field: 'phone', problem: parsed.problem };
  return { conversation: { reference: reference || null, name, phone: parsed.phone } };
}

function problemOf(value: string): string | undefined {
  if (value.includes('\ufffd') || !value.isWellFormed()) return 'is not valid UTF-8';
  if (CONTROL.test(value)) return 'contains control characters';
  if (value.trim().length > LENGTH_MAX) return `is longer than ${LENGTH_MAX} characters`;
  return undefined;
}

export interface NewMessage {
  from: (typeof SENDERS)[number];
  text: string;
  at: Date;
  /** A message with the same id is stored once in a conversation. */
  messageId: string | null;
}

const MESSAGE_ID = /^[^\p{Cc}\p{Cs}]{1,255}$/u;
/** Clocks differ. */
const AHEAD_MAX_MS = 5 * 60_000;

export const countInvalid = () =>
  invalid('messages', `messages must be a list of 1 to ${MESSAGES_AT_ONCE_MAX} messages`);

/** A body is `{messages: […]}` or one message. Throws the first problem. */
export function readMessages(body: unknown, now: Date): NewMessage[] {
  const list = memberOf(body, 'messages');
  if (list === undefined) return [readMessage(body, '', now)];
  if (!Array.isArray(list) || list.length < 1 || list.length > MESSAGES_AT_ONCE_MAX) throw countInvalid();
  return list.map((one, index) => readMessage(one, `messages[${index}].`, now));
}

function readMessage(given: unknown, path: string, now: Date): NewMessage {
  const value = (name: string) => memberOf(given, name) ?? undefined;
  const refusal = (name: string, problem: string) => invalid(path + name, `${path + name} ${problem}`);
  const from = SENDERS.find((name) => name === value('from'));
  if (!from) throw refusal('from', `must be one of ${SENDERS.join(', ')}`);
  const text = value('text');
  if (text === undefined) throw required(`${path}text`);
  if (typeof text !== 'string' || !/\S/.test(text)) throw refusal('text', 'must be text that is not blank');
  if (text.length > MESSAGE_LENGTH_MAX && [...text].length > MESSAGE_LENGTH_MAX)
    throw refusal('text', `must not have more than ${MESSAGE_LENGTH_MAX} characters`);
  const messageId = value('message_id') ?? null;
  if (messageId !== null && (typeof messageId !== 'string' || !MESSAGE_ID.test(messageId)))
    throw refusal('message_id', 'must be text of 1 to 255 characters without control characters');
  const at = value('at') ?? now.toISOString();
  const time = readTime(at)?.getTime() ?? -1;
  if (time < 0) throw refusal('at', 'must be a time such as 2026-01-15T09:30:00Z');
  if (time > now.getTime() + AHEAD_MAX_MS) throw refusal('at', 'must not be in the future');
  return { from, text: storableText(text), at: new Date(time), messageId };
}
