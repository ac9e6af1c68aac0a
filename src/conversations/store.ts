import type { MerchantId } from '../contract/ids.ts';
import type { Engine, Queries } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import type { NewConversation } from './rules.ts';
import { findRightPhone } from './wrongPhones.ts';

export interface Conversation {
  id: number;
  reference: string | null;
  customer_name: string;
  customer_phone: string;
  created_at: string;
  updated_at: string;
  taken_over_at: string | null;
  taken_over_by: string | null;
}

const COLUMNS =
  'id, reference, customer_name, customer_phone, created_at, updated_at, taken_over_at, taken_over_by';

/** The name of a customer of whom neither name nor number is known. */
export const NO_NAME = 'Customer';
/**
 * Returns the new id, or undefined if the merchant already has a conversation with this reference. Without a name, the
 * phone number is its name.
 */
export async function insertConversation(
  queries: Queries,
  merchantId: MerchantId,
  { reference, name, phone }: NewConversation,
  at: Date,
): Promise<number | undefined> {
  const [row] = await queries.run<{ id: number }>(
    `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
      values ($1, $2, $3, $4, $5, $5) on conflict (merchant_id, reference) do nothing returning id`,
    [merchantId, reference, name || phone || NO_NAME, phone, at.toISOString()],
  );
  return row?.id;
}

/** Oldest first, after the one with this id. */
export function listConversations(
  queries: Queries,
  merchantId: MerchantId,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<Conversation[]> {
  return queries.all(
    `select ${COLUMNS} from conversations where merchant_id = $1 and id > $2 and erased_at is null order by id limit $3`,
    [merchantId, afterId, limit],
  );
}

/** The elements of the JSON array in $2, each as `value`. */
const ELEMENTS: Readonly<Record<Engine, string>> = {
  sqlite: 'json_each($2)',
  postgres: 'json_array_elements($2::json) as elements (value)',
};

/** In an upsert: the number that was given, or the one that replaced it because it is wrong. */
const RIGHT_PHONE = `coalesce((select w.replaced_by from wrong_phones w where w.merchant_id = conversations.merchant_id
  and w.conversation_id = conversations.id and w.phone = excluded.customer_phone), excluded.customer_phone)`;

/**
 * Adds the conversations whose reference is new to the merchant, and updates the others if they have changed.
 * References must not repeat. `at` must differ from one call to the next: it shows whether a row was added or
 * updated.
 *
 * One array in one parameter, so that a batch of any size is the same prepared statement.
 */
export async function upsertConversations(
  queries: Queries,
  merchantId: MerchantId,
  conversations: readonly NewConversation[],
  at: Date,
): Promise<{ added: number; updated: number }> {
  const rows = await queries.run<{ created_at: string }>(
    `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
      select $1, value ->> 0, value ->> 1, value ->> 2, $3, $3 from ${ELEMENTS[queries.engine]} where true
      on conflict (merchant_id, reference) do update set customer_name = excluded.customer_name,
        customer_phone = ${RIGHT_PHONE}, updated_at = excluded.updated_at
        where conversations.customer_name <> excluded.customer_name
          or conversations.customer_phone <> ${RIGHT_PHONE}
      returning created_at`,
    [
      merchantId,
      JSON.stringify(conversations.map(({ reference, name, phone }) => [reference, name, phone])),
      at.toISOString(),
    ],
  );
  const added = rows.filter(({ created_at }) => created_at === at.toISOString()).length;
  return { added, updated: rows.length - added };
}

/** Adds a conversation, or updates the merchant's conversation with this reference. Without a number, it keeps its own. */
export async function upsertConversation(
  queries: Queries,
  merchantId: MerchantId,
  { reference, name, phone }: NewConversation,
  at: Date,
): Promise<Conversation> {
  const known = reference === null ? undefined : await findByReference(queries, merchantId, reference);
  if (known?.customer_name === name) {
    const right =
      phone === '' ? known.customer_phone : await findRightPhone(queries, merchantId, known.id, phone);
    if (right === known.customer_phone) return known;
  }
  const [row] = await queries.run<Conversation>(
    `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
      values ($1, $2, $3, $4, $5, $5)
      on conflict (merchant_id, reference) do update set updated_at = excluded.updated_at,
        customer_name = excluded.customer_name,
        customer_phone = case when $4 = '' then conversations.customer_phone else ${RIGHT_PHONE} end
      returning ${COLUMNS}`,
    [merchantId, reference, name, phone, at.toISOString()],
  );
  if (!row) throw new Error('the insert returned no row');
  return row;
}

/**
 * Adds the name and the number that a conversation lacks. False, and nothing is written, if it has got another number
 * since it was read.
 */
export async function completeConversation(
  queries: Queries,
  merchantId: MerchantId,
  { known, customer, at }: { known: Conversation; customer: NewConversation; at: Date },
): Promise<boolean> {
  const isNamed = ![NO_NAME, known.customer_phone].includes(known.customer_name);
  const name = isNamed ? '' : customer.name;
  const phone = known.customer_phone === '' ? customer.phone : '';
  if (name === '' && phone === '') return true;
  const rows = await queries.run(
    `update conversations set updated_at = $5,
        customer_name = case when $3 <> '' and customer_name = $6 then $3 else customer_name end,
        customer_phone = case when $4 = '' then customer_phone else $4 end
      where merchant_id = $1 and id = $2 and erased_at is null and ($4 = '' or customer_phone in ('', $4)) returning id`,
    [merchantId, known.id, name, phone, at.toISOString(), known.customer_name],
  );
  return rows.length > 0;
}

export function findConversation(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<Conversation | undefined> {
  return queries.one(
    `select ${COLUMNS} from conversations where merchant_id = $1 and id = $2 and erased_at is null`,
    [merchantId, id],
  );
}

export function findByReference(
  queries: Queries,
  merchantId: MerchantId,
  reference: string,
): Promise<Conversation | undefined> {
  return queries.one(`select ${COLUMNS} from conversations where merchant_id = $1 and reference = $2`, [
    merchantId,
    reference,
  ]);
}

/** The newest conversation of a customer, or else of one whose number turned out to be another than this one. */
export async function findByPhone(
  queries: Queries,
  merchantId: MerchantId,
  phone: string,
): Promise<Conversation | undefined> {
  const found = await queries.one<Conversation>(
    `select ${COLUMNS} from conversations where merchant_id = $1 and customer_phone = $2 order by id desc limit 1`,
    [merchantId, phone],
  );
  // Their own number comes first: a wrong number may be the right one of another customer.
  return (
    found ??
    queries.one(
      `select ${COLUMNS} from conversations where merchant_id = $1 and id = (
          select w.conversation_id from wrong_phones w
            join conversations c on c.merchant_id = w.merchant_id and c.id = w.conversation_id
            where w.merchant_id = $1 and w.phone = $2 and w.replaced_by = c.customer_phone
            order by w.conversation_id desc limit 1)`,
      [merchantId, phone],
    )
  );
}

/** Newest first: those with these ids, or the newest of all. */
export function findConversations(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[] | undefined,
  limit: number,
): Promise<Conversation[]> {
  const wanted = ids === undefined ? 'merchant_id = $1' : ownIdIn(queries, '$1', '$3');
  return queries.all(
    `select ${COLUMNS} from conversations where ${wanted} and erased_at is null order by id desc limit $2`,
    [merchantId, limit, ...(ids === undefined ? [] : [ids])],
  );
}

/** What a conversation takes. The trigger counts with the same number. */
export const CONVERSATION_BYTES = 500;

/** A SQL expression: what a merchant's conversations and their messages take. */
export const conversationBytes = (merchantId: string) =>
  `coalesce((select bytes from conversation_storage where merchant_id = ${merchantId}), 0)`;

export async function findCustomerPhone(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<string | undefined> {
  const row = await queries.one<{ customer_phone: string }>(
    'select customer_phone from conversations where merchant_id = $1 and id = $2 and erased_at is null',
    [merchantId, id],
  );
  return row?.customer_phone;
}
