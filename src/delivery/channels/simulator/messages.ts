import type { MerchantId } from '../../../contract/ids.ts';
import type { Engine, Queries } from '../../../database/database.ts';
import { inSelect } from '../../../database/ids.ts';
import { insertRows } from '../../../database/insert.ts';
import { storableText } from '../../../database/text.ts';
import type { LastWrote, Outgoing } from '../channel.ts';

/** The messages on the simulator's phones: the only SQL on simulator_messages. */

export interface PhoneMessage {
  id: number;
  from_customer: number;
  text: string;
  at: string;
  read_at: string | null;
  delivery_key: string | null;
}

/** Oldest first. */
export function listMessages(
  queries: Queries,
  merchantId: MerchantId,
  phone: string,
): Promise<PhoneMessage[]> {
  return queries.all<PhoneMessage>(
    `select id, from_customer, content as text, at, read_at, delivery_key from simulator_messages
      where merchant_id = $1 and phone = $2 order by id`,
    [merchantId, phone],
  );
}

/** The key makes a second attempt after a crash harmless. */
export async function addDeliveredMessage(
  queries: Queries,
  { merchantId, recipient, content, key }: Outgoing,
  at: Date,
): Promise<void> {
  await insertRows(
    queries,
    'simulator_messages',
    [
      {
        ...{ merchant_id: merchantId, phone: recipient, from_customer: 0, content },
        ...{ delivery_key: key, at: at.toISOString() },
      },
    ],
    { onConflict: 'do nothing' },
  );
}

interface NewMessage {
  phone: string;
  text: string;
  at: Date;
}

/** A message without a delivery: a direct answer from the demo's assistant. */
export async function addAssistantMessage(
  queries: Queries,
  merchantId: MerchantId,
  { phone, text, at }: NewMessage,
): Promise<void> {
  await insertRows(queries, 'simulator_messages', [
    { merchant_id: merchantId, phone, from_customer: 0, content: text, at: at.toISOString() },
  ]);
}

/** Returns its id. */
export async function addCustomerMessage(
  queries: Queries,
  merchantId: MerchantId,
  { phone, text, at }: NewMessage,
): Promise<number> {
  const [row] = await insertRows<{ id: number }>(
    queries,
    'simulator_messages',
    [{ merchant_id: merchantId, phone, from_customer: 1, content: storableText(text), at: at.toISOString() }],
    { returning: 'id' },
  );
  if (!row) throw new Error('the insert returned no row');
  return row.id;
}

/** Marks the messages to the customer as read, up to the message with this id. */
export async function markMessagesRead(
  tx: Queries,
  merchantId: MerchantId,
  { phone, upToId, at }: { phone: string; upToId: number; at: Date },
): Promise<void> {
  await tx.run(
    `update simulator_messages set read_at = $3
      where merchant_id = $1 and phone = $2 and from_customer = 0 and read_at is null and id <= $4`,
    [merchantId, phone, at.toISOString(), upToId],
  );
}

const ELEMENTS: Readonly<Record<Engine, string>> = {
  sqlite: 'select value from json_each($2)',
  postgres: 'select json_array_elements_text(cast($2 as json))',
};

export function lastMessagesFrom(
  queries: Queries,
  merchantId: MerchantId,
  phones: readonly string[],
): Promise<LastWrote[]> {
  return queries.all<LastWrote>(
    `select phone, max(at) as at from simulator_messages
      where merchant_id = $1 and ${inSelect(queries.engine, 'phone', ELEMENTS[queries.engine])} and from_customer = 1
      group by phone`,
    [merchantId, JSON.stringify(phones)],
  );
}
