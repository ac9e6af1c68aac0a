import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';
import { NOBODY, type Person } from './person/person.ts';
import type { ChannelsOf } from './windows.ts';

/** Erasures that are not finished: the only SQL on erasures. */

/** In one transaction. Others wait for its rows no longer than for an ordinary write. */
export const BATCH_MAX = 500;

export interface EraseParts {
  database: Database;
  channelsOf: ChannelsOf;
  now: () => Date;
  /** Between two pages: other work goes on, and the lease is renewed. */
  pause?: () => Promise<void>;
}

/** `name` is the only one of a colleague. */
export type Step = 'rows' | 'sending' | 'texts' | 'again' | 'files' | 'name';

export interface Erasure {
  id: number;
  merchantId: MerchantId;
  person: Person;
  step: Step;
  createdAt: string;
}

export async function addErasure(
  tx: Transaction,
  merchantId: MerchantId,
  { step, person, at }: { step: Step; person: Person; at: Date },
): Promise<void> {
  const time = at.toISOString();
  const row = {
    merchant_id: merchantId,
    person: JSON.stringify(person),
    step,
    due_at: time,
    created_at: time,
  };
  await insertRows(tx, 'erasures', [row], { returning: 'id' });
}

interface Row {
  id: number;
  person: string;
  step: Step;
  due_at: string;
  created_at: string;
}

/** If a worker dies, another goes on after this time. */
export const LEASE_MS = 60_000;

/** The error of `JSON.parse` quotes the text, which must not be logged. */
function readPerson(text: string): Partial<Person> {
  try {
    return JSON.parse(text) as Person;
  } catch {
    throw new Error('the person of an erasure is not valid JSON');
  }
}

const AT_ONCE = 100;

/** The next ones that are due, in the order of their merchants: each has its turn. */
export const listDue = (queries: Queries, at: Date, after: number): Promise<{ merchant_id: MerchantId }[]> =>
  queries.all(
    `select merchant_id from erasures where merchant_id > $1 and due_at <= $2 order by merchant_id limit ${AT_ONCE}`,
    [after, at.toISOString()],
  );

/** The merchant's first one that is due, until the lease ends. Of several workers one gets it. */
export async function takeErasure(
  database: Database,
  { at, leaseUntil }: { at: Date; leaseUntil: Date },
  merchantId: MerchantId,
): Promise<Erasure | undefined> {
  const row = await database.one<Row>(
    `select id, step, person, due_at, created_at from erasures
      where merchant_id = $1 and due_at <= $2 order by due_at limit 1`,
    [merchantId, at.toISOString()],
  );
  if (!row) return undefined;
  const { id, step, created_at: createdAt } = row;
  const taken = await database.run(
    'update erasures set due_at = $4 where merchant_id = $1 and id = $2 and due_at = $3 returning id',
    [merchantId, id, row.due_at, leaseUntil.toISOString()],
  );
  if (taken.length === 0) return takeErasure(database, { at, leaseUntil }, merchantId);
  return { id, merchantId, step, createdAt, person: { ...NOBODY, ...readPerson(row.person) } };
}

export async function moveErasure(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  { step, dueAt }: { step: Step; dueAt: Date },
): Promise<void> {
  await queries.run('update erasures set step = $3, due_at = $4 where merchant_id = $1 and id = $2', [
    ...[merchantId, id, step, dueAt.toISOString()],
  ]);
}

/** More is known about the person. */
export async function savePerson(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  person: Person,
): Promise<void> {
  await queries.run('update erasures set person = $3 where merchant_id = $1 and id = $2', [
    ...[merchantId, id, JSON.stringify(person)],
  ]);
}

export async function removeErasure(tx: Transaction, merchantId: MerchantId, id: number): Promise<boolean> {
  const rows = await tx.run('delete from erasures where merchant_id = $1 and id = $2 returning id', [
    merchantId,
    id,
  ]);
  return rows.length > 0;
}

/** How many of a merchant's are not finished. */
export async function countErasures(queries: Queries, merchantId: MerchantId): Promise<number> {
  const row = await queries.one<{ open: number }>(
    'select count(*) as open from erasures where merchant_id = $1',
    [merchantId],
  );
  return row?.open ?? 0;
}
