import { createHash } from 'node:crypto';
import { storableText } from '../../../database/text.ts';
import { memberOf } from '../../../http/input.ts';

/** Reads what we need from a webhook's body. Names are not kept. */

export type Update =
  | {
      kind: 'message';
      id: string;
      phone: string;
      at: string;
      /** What the customer wrote, or what it was: `[image]`. Absent if it is not part of the conversation. */
      text?: string;
    }
  | {
      kind: 'status';
      id: string;
      status: ReportedStatus;
      at: string;
      /** The delivery's key, as it was sent with the message. */
      key: string | undefined;
      code: number | undefined;
    };

const STATUSES = ['sent', 'delivered', 'read', 'failed'] as const;
export type ReportedStatus = (typeof STATUSES)[number];

export interface Change {
  /** Absent if the change is not about a single number. */
  phoneNumberId: string | undefined;
  updates: Update[];
}

/** The changes in a body of any shape. Anything we do not know is skipped. */
export function readChanges(body: unknown): Change[] {
  return listOf(memberOf(body, 'entry'))
    .flatMap((entry) => listOf(memberOf(entry, 'changes')))
    .map((change) => {
      const value = memberOf(change, 'value');
      return {
        phoneNumberId: word(memberOf(memberOf(value, 'metadata'), 'phone_number_id')),
        updates: [
          ...listOf(memberOf(value, 'messages')).map(readMessage),
          ...listOf(memberOf(value, 'calls')).map(readCall),
          ...listOf(memberOf(value, 'statuses')).map(readStatus),
        ].filter((update) => update !== undefined),
      };
    });
}

/** An update has the same name each time it is received, no matter what else is in the body. */
export function updateName(
  channelId: string,
  update: Pick<Update, 'kind' | 'id'> & { status?: ReportedStatus },
): string {
  const { kind, id, status = '' } = update;
  return createHash('sha256')
    .update(JSON.stringify([channelId, kind, id, status]))
    .digest('base64url');
}

function readMessage(message: unknown): Update | undefined {
  const id = word(memberOf(message, 'id'));
  const from = word(memberOf(message, 'from'));
  const at = timeOf(memberOf(message, 'timestamp'));
  // A customer without a phone number (only a `from_user_id`) cannot be the recipient of a delivery.
  if (id === undefined || at === undefined || !from || !/^\d{4,20}$/.test(from)) return undefined;
  const text = textOf(message);
  return { kind: 'message', id, phone: `+${from}`, at, ...(text === undefined ? {} : { text }) };
}

/** WhatsApp's own limit for a text. */
const TEXT_LENGTH_MAX = 4096;

function textOf(message: unknown): string | undefined {
  const type = word(memberOf(message, 'type'));
  // A call has no type. A system message tells of a new phone number.
  if (type === undefined || type === 'system') return undefined;
  const content = memberOf(message, type);
  const written =
    type === 'interactive'
      ? firstText([memberOf(content, 'button_reply'), memberOf(content, 'list_reply')], ['title'])
      : firstText([content], ['body', 'text', 'caption', 'emoji']);
  const label =
    READ_AS_TEXT.includes(type) && written ? '' : `[${/^\w{1,32}$/.test(type) ? type : 'message'}]`;
  const text = storableText([label, written].filter(Boolean).join(' '));
  return text.length <= TEXT_LENGTH_MAX ? text : text.slice(0, TEXT_LENGTH_MAX).toWellFormed();
}

/** Types that are shown as what the customer wrote or chose. */
const READ_AS_TEXT = ['text', 'button', 'interactive'];

const firstText = (values: readonly unknown[], names: readonly string[]): string | undefined =>
  values
    .flatMap((value) => names.map((name) => memberOf(value, name)))
    .find((value): value is string => typeof value === 'string' && /\S/.test(value));

/** A call from the customer opens the window as a message does. A call from us does not. */
function readCall(call: unknown): Update | undefined {
  return memberOf(call, 'direction') === 'USER_INITIATED' ? readMessage(call) : undefined;
}

function readStatus(report: unknown): Update | undefined {
  const id = word(memberOf(report, 'id'));
  const at = timeOf(memberOf(report, 'timestamp'));
  const status = STATUSES.find((name) => name === memberOf(report, 'status'));
  if (id === undefined || at === undefined || status === undefined) return undefined;
  const code = memberOf(listOf(memberOf(report, 'errors'))[0], 'code');
  return {
    kind: 'status',
    id,
    status,
    at,
    key: word(memberOf(report, 'biz_opaque_callback_data')),
    code: typeof code === 'number' && Number.isSafeInteger(code) ? code : undefined,
  };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Ids, keys and numbers are plain ASCII. Anything else cannot be ours. */
const word = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[\x21-\x7e]{1,512}$/.test(value) ? value : undefined;

/** Seconds since 1970, as text. Eleven digits are enough until after the year 5000. */
const timeOf = (value: unknown): string | undefined =>
  /^\d{1,11}$/.test(String(value)) ? new Date(Number(value) * 1000).toISOString() : undefined;
