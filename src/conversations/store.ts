import type { MerchantId } from '../contract/ids.ts';
import {
  type Database,
  type Dialect,
  type Engine,
  inTransaction,
  type Queries,
  type Transaction,
} from '../database/database.ts';
import { FOR_UPDATE, ownIdIn } from '../database/ids.ts';
import { insertRows } from '../database/insert.ts';
import { namesIn } from '../database/tables.ts';
import type { NewConversation } from './rules.ts';
import { customersChanged } from './searchChange.ts';
import { CONVERSATION_BYTES, countBytes } from './storage.ts';
import { CONVERSATIONS } from './tables.ts';
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

const COLUMNS = namesIn(CONVERSATIONS.exported).join(', ');

/** The name of a customer of whom neither name nor number is known. */
export const NO_NAME = 'Customer';
/**
 * Returns the new id, or undefined if the merchant already has a conversation with this reference. Without a name, the
 * phone number is its name.
 */
export async function insertConversation(
  tx: Transaction,
  merchantId: MerchantId,
  { reference, name, phone }: NewConversation,
  at: Date,
): Promise<number | undefined> {
  const given = [{ reference, name: name || phone || NO_NAME, phone }];
  const [row] = await insertUnknown(tx, merchantId, given, at);
  if (row) await countBytes(tx, merchantId, CONVERSATION_BYTES);
  return row?.id;
}

/** Adds those whose reference is new to the merchant. The caller counts them, after all it does with conversations. */
async function insertUnknown(
  tx: Transaction,
  merchantId: MerchantId,
  conversations: readonly NewConversation[],
  at: Date,
): Promise<Conversation[]> {
  const time = at.toISOString();
  const rows = conversations.map(({ reference, name, phone }) => ({
    ...{ merchant_id: merchantId, reference, customer_name: name, customer_phone: phone },
    ...{ created_at: time, updated_at: time },
  }));
  return insertRows<Conversation>(tx, 'conversations', rows, {
    onConflict: '(merchant_id, reference) do nothing',
    returning: COLUMNS,
  });
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

/** SQL: the number that was given, or the one that replaced it because it is wrong. */
const rightPhone = (
  given: string,
) => `coalesce((select w.replaced_by from wrong_phones w where w.merchant_id = $1
  and w.conversation_id = conversations.id and w.phone = ${given}), ${given})`;

/** Adds the conversations whose reference is new to the merchant, and updates the others if they have changed. */
export function upsertConversations(
  queries: Database | Transaction,
  merchantId: MerchantId,
  conversations: readonly NewConversation[],
  at: Date,
): Promise<{ added: number; updated: number }> {
  return inTransaction(queries, async (tx) => {
    const known = await findByReferences(tx, merchantId, conversations);
    const isKnown = ({ reference }: NewConversation) => known.has(reference!);
    const unknown = conversations.filter((given) => !isKnown(given));
    const added = await insertUnknown(tx, merchantId, unknown, at);
    const isAdded = new Set(added.map(({ reference }) => reference));
    const others = conversations.filter(({ reference, name, phone }) => {
      const row = known.get(reference!);
      // Somebody else has added it at this moment.
      if (!row) return !isAdded.has(reference);
      return row.customer_name !== name || row.customer_phone !== phone;
    });
    const updated = await updateByReferences(tx, merchantId, others, at);
    // The reference of an erased customer is free again.
    const gone = others.filter(({ reference }) => !updated.found.has(reference!));
    const again = await insertUnknown(tx, merchantId, gone, at);
    const count = added.length + again.length;
    await customersChanged(tx, merchantId, updated.ids);
    if (count > 0) await countBytes(tx, merchantId, count * CONVERSATION_BYTES);
    return { added: count, updated: updated.ids.length };
  });
}

/** SQL: the merchant's conversations with the references in $2. */
const ownReferenceIn = (queries: Dialect) => ownIdIn(queries, '$1', '$2', 'reference', 'text');
const referencesOf = (conversations: readonly NewConversation[]) =>
  conversations.map(({ reference }) => reference!);

async function findByReferences(
  queries: Queries,
  merchantId: MerchantId,
  conversations: readonly NewConversation[],
): Promise<Map<string, Pick<Conversation, 'customer_name' | 'customer_phone'>>> {
  const rows = await queries.all<Conversation & { reference: string }>(
    `select reference, customer_name, customer_phone from conversations
      where ${ownReferenceIn(queries)}`,
    [merchantId, referencesOf(conversations)],
  );
  return new Map(rows.map((row) => [row.reference, row]));
}

const ELEMENTS: Readonly<Record<Engine, string>> = {
  sqlite: 'json_each($2)',
  postgres: 'json_array_elements(cast($2 as json)) as elements (value)',
};

/** Returns the references that exist, and the ids of those that it has changed. */
async function updateByReferences(
  tx: Transaction,
  merchantId: MerchantId,
  conversations: readonly NewConversation[],
  at: Date,
): Promise<{ found: ReadonlySet<string>; ids: number[] }> {
  if (conversations.length === 0) return { found: new Set(), ids: [] };
  const references = referencesOf(conversations);
  // Whoever corrects a number holds this lock: the update sees which numbers are wrong.
  const locked = await tx.all<{ reference: string }>(
    `select reference from conversations where ${ownReferenceIn(tx)}
      order by id ${FOR_UPDATE[tx.engine]}`,
    [merchantId, references],
  );
  const updated = await tx.run<{ id: number }>(
    `with given (own_reference, new_name, new_phone) as materialized (
        select value ->> 0, value ->> 1, value ->> 2 from ${ELEMENTS[tx.engine]})
      update conversations set customer_name = new_name, customer_phone = ${rightPhone('new_phone')}, updated_at = $3
      from given where merchant_id = $1 and reference = own_reference
        and (customer_name <> new_name or customer_phone <> ${rightPhone('new_phone')})
      returning id`,
    [
      merchantId,
      JSON.stringify(conversations.map(({ reference, name, phone }) => [reference, name, phone])),
      at.toISOString(),
    ],
  );
  return { found: new Set(locked.map(({ reference }) => reference)), ids: updated.map(({ id }) => id) };
}

/**
 * Adds a conversation, or updates the merchant's conversation with this reference. Without a number, it keeps its own.
 * `reserve` is called before one is added.
 */
export async function upsertConversation(
  queries: Database | Transaction,
  merchantId: MerchantId,
  given: NewConversation,
  at: Date,
  reserve: (bytes: number) => Promise<void> = async () => {},
): Promise<Conversation> {
  const { reference, name, phone } = given;
  const known = reference === null ? undefined : await findByReference(queries, merchantId, reference);
  if (known?.customer_name === name) {
    const right =
      phone === '' ? known.customer_phone : await findRightPhone(queries, merchantId, known.id, phone);
    if (right === known.customer_phone) return known;
  }
  if (!known) await reserve(CONVERSATION_BYTES);
  return inTransaction(queries, async (tx) => {
    const add = async () => {
      const [added] = await insertUnknown(tx, merchantId, [given], at);
      if (added) await countBytes(tx, merchantId, CONVERSATION_BYTES);
      return added;
    };
    // The reference is free again if the customer was erased a moment ago.
    const row = (await add()) ?? (await updateByReference(tx, merchantId, given, at)) ?? (await add());
    if (!row) throw new Error('the insert returned no row');
    return row;
  });
}

async function updateByReference(
  tx: Transaction,
  merchantId: MerchantId,
  { reference, name, phone }: NewConversation,
  at: Date,
): Promise<Conversation | undefined> {
  const [row] = await tx.run<Conversation>(
    `update conversations set updated_at = $5, customer_name = $3,
        customer_phone = case when $4 = '' then customer_phone else ${rightPhone('$4')} end
      where merchant_id = $1 and reference = $2 returning ${COLUMNS}`,
    [merchantId, reference, name, phone, at.toISOString()],
  );
  if (row) await customersChanged(tx, merchantId, [row.id]);
  return row;
}

/**
 * Adds the name and the number that a conversation lacks. False, and nothing is written, if it has got another number
 * since it was read.
 */
export async function completeConversation(
  tx: Transaction,
  merchantId: MerchantId,
  { known, customer, at }: { known: Conversation; customer: NewConversation; at: Date },
): Promise<boolean> {
  const isNamed = ![NO_NAME, known.customer_phone].includes(known.customer_name);
  const name = isNamed ? '' : customer.name;
  const phone = known.customer_phone === '' ? customer.phone : '';
  if (name === '' && phone === '') return true;
  const rows = await tx.run(
    `update conversations set updated_at = $5,
        customer_name = case when $3 <> '' and customer_name = $6 then $3 else customer_name end,
        customer_phone = case when $4 = '' then customer_phone else $4 end
      where merchant_id = $1 and id = $2 and erased_at is null and ($4 = '' or customer_phone in ('', $4)) returning id`,
    [merchantId, known.id, name, phone, at.toISOString(), known.customer_name],
  );
  if (rows.length === 0) return false;
  await customersChanged(tx, merchantId, [known.id]);
  return true;
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
