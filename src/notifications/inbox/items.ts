import { authorNameOf } from '../../auth/columns.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { type InboxItem, PREVIEW_LENGTH_MAX, QUESTION_LENGTH_MAX } from '../../contract/inbox.ts';
import type { NotificationType, Status } from '../../contract/notifications.ts';
import { customerNameOf, customerPhoneOf, wrongPhonesOf } from '../../conversations/columns.ts';
import type { Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { type AttentionContext, attentionOf } from '../../delivery/attention.ts';
import type { CountryCode } from '../../delivery/phone.ts';
import { findNewestMessages } from '../../delivery/queue/attention.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { countryColumn } from '../../merchants/store.ts';
import { askWire } from '../asks/columns.ts';
import { KINDS, readContext } from '../kinds.ts';
import { recipientOf } from '../recipient.ts';
import { assigneeWire, noteCount } from '../team/columns.ts';

export interface ItemParts {
  database: Queries;
  /** Whether the merchant's channel sends at the moment. */
  channelStateOf: (merchantId: MerchantId) => Promise<AttentionContext['channel']>;
  /** Until when each of these customers may receive free text. */
  windowsOf: (merchantId: MerchantId, phones: readonly string[]) => Promise<(Date | undefined)[]>;
  defaultCountry: CountryCode | undefined;
  now: () => Date;
}

interface Row {
  id: number;
  notification_type: NotificationType;
  status: Status;
  created_at: string;
  updated_at: string;
  conversation_id: number;
  context: string;
  answer: string | null;
  outcome: InboxItem['outcome'];
  undo_until: string | null;
  answered_by: string | null;
  customer_name: string;
  customer_phone: string;
  wrong_phones: string;
  country: string | null;
  /** JSON, and the next one too. */
  ask: string | null;
  assigned_to: string;
  notes: number;
}

/** Contexts are up to 64 KB, and PostgreSQL's JSON refuses some that we accept, so they are read here, a few at once. */
const READ_AT_ONCE = 25;

/** These notifications as the inbox lists them. Those that do not exist are left out. */
export async function readItems(
  { database, channelStateOf, windowsOf, defaultCountry, now }: ItemParts,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<Map<number, InboxItem>> {
  if (ids.length === 0) return new Map();
  const pause = inSlices();
  const items: InboxItem[] = [];
  const messages = await findNewestMessages(database, merchantId, ids);
  const context = { at: now(), channel: await channelStateOf(merchantId) };
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    for (const row of await readRows(database, merchantId, ids.slice(from, from + READ_AT_ONCE))) {
      const message = messages.get(row.id);
      items.push({
        ...itemOf(row, defaultCountry),
        delivery: message
          ? {
              id: message.id,
              state: message.state,
              recipient: message.recipient,
              updated_at: message.updated_at,
            }
          : null,
        attention: message ? attentionOf(message, context) : null,
      });
      await pause();
    }
  }
  const windows = await windowsOf(
    merchantId,
    items.map(({ customer }) => customer.phone),
  );
  for (const [place, { conversation }] of items.entries())
    conversation.window_open_until = windows[place]?.toISOString() ?? null;
  return new Map(items.map((item) => [item.id, item]));
}

const readRows = (queries: Queries, merchantId: MerchantId, ids: readonly number[]): Promise<Row[]> =>
  queries.all(
    `select n.id, n.notification_type, n.status, n.created_at, n.updated_at, n.conversation_id, n.context, n.answer,
        n.outcome, n.undo_until,
        ${authorNameOf('$1', 'n.answered_by', 'n.answered_by_key')} as answered_by,
        ${customerNameOf('n', '$1')} as customer_name, ${customerPhoneOf('n', '$1')} as customer_phone,
        ${wrongPhonesOf(queries.engine, 'n', '$1')} as wrong_phones, ${countryColumn('$1')} as country,
        ${askWire(queries.engine, '$1', 'n.id')} as ask,
        ${assigneeWire(queries.engine, 'n')} as assigned_to, ${noteCount('$1', 'n.id')} as notes
      from notifications n where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, ids],
  );

function itemOf(
  row: Row,
  defaultCountry: CountryCode | undefined,
): Omit<InboxItem, 'delivery' | 'attention'> {
  const { question, leadPhone } = readContext(row);
  return {
    id: row.id,
    notification_type: row.notification_type,
    status: row.status,
    outcome: row.outcome,
    created_at: row.created_at,
    updated_at: row.updated_at,
    question: shortened(question.trim(), QUESTION_LENGTH_MAX),
    answer_preview: previewOf(row),
    answered_by: row.answered_by,
    undo_until: row.undo_until,
    customer: { name: row.customer_name, phone: recipientOf(leadPhone, row, defaultCountry) },
    conversation: { id: row.conversation_id, window_open_until: null },
    ask: askOf(row),
    assigned_to: JSON.parse(row.assigned_to) as InboxItem['assigned_to'],
    notes: row.notes,
  };
}

function askOf({ ask }: Row): InboxItem['ask'] {
  if (ask === null) return null;
  const { status, deliver } = JSON.parse(ask) as NonNullable<InboxItem['ask']>;
  return { status, deliver };
}

/** The text that was sent, or the first of the other fields. */
function previewOf({ answer, notification_type }: Row): string | null {
  if (answer === null) return null;
  const fields = JSON.parse(answer) as Record<string, unknown>;
  const text = KINDS[notification_type].answeredFields.map((field) => fields[field]).find(isText);
  return text === undefined ? null : shortened(text, PREVIEW_LENGTH_MAX);
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

const shortened = (text: string, lengthMax: number) =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
