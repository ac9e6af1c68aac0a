import type { CountryCode } from 'libphonenumber-js/min';
import type { Deliver } from '../contract/asks.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Confident, Language, OpeningHours, QuietHours } from '../contract/merchant.ts';
import type { Queries } from '../database/database.ts';
import { opensAt } from './openingHours.ts';

export interface Merchant {
  id: number;
  name: string;
  /** The country of numbers without a country code. Null: `DEFAULT_COUNTRY`, if that is set. */
  country: CountryCode | null;
  /** Who sends answers to the customers of its assistant, unless an ask has its own `deliver`. */
  deliver: Deliver;
  /** From which score on its assistant gets an answer without asking a person. */
  confident: Confident;
  /** Of mails. Null: English. */
  language: Language | null;
  /** Of the two below. Null: UTC. */
  time_zone: string | null;
  opening_hours: OpeningHours | null;
  quiet_hours: QuietHours | null;
  /** What customers hear while they wait for an answer. */
  waiting_message: string | null;
  developer_tools: boolean;
  /** How long the dashboard lets people undo an answer. */
  undo_seconds: number;
  created_at: string;
}

/** As it is stored. */
type Row = Omit<Merchant, 'confident' | 'opening_hours' | 'quiet_hours' | 'developer_tools'> &
  Record<'confident', string> &
  Record<'opening_hours' | 'quiet_hours', string | null> & { developer_tools: number };

const COLUMNS =
  'id, name, country, deliver, confident, undo_seconds, language, time_zone, opening_hours, quiet_hours, waiting_message, ' +
  'developer_tools, created_at';

const merchantOf = (row: Row): Merchant => ({
  ...row,
  confident: readConfident(row.confident),
  opening_hours: row.opening_hours === null ? null : JSON.parse(row.opening_hours),
  quiet_hours: row.quiet_hours === null ? null : JSON.parse(row.quiet_hours),
  developer_tools: row.developer_tools === 1,
});

/** The stored text is `learned`, `off` or a number. */
export const readConfident = (stored: string): Confident =>
  stored === 'learned' || stored === 'off' ? stored : Number(stored);

export async function insertMerchant(
  queries: Queries,
  name: string,
  at: Date,
  country: CountryCode | null = null,
): Promise<Merchant> {
  const [row] = await queries.run<Row>(
    `insert into merchants (name, country, created_at) values ($1, $2, $3) returning ${COLUMNS}`,
    [name, country, at.toISOString()],
  );
  if (!row) throw new Error('the insert returned no row');
  return merchantOf(row);
}

export async function listMerchants(queries: Queries): Promise<Merchant[]> {
  return (await queries.all<Row>(`select ${COLUMNS} from merchants order by id`)).map(merchantOf);
}

/** The ids of merchants in order, after the given one. */
export async function listMerchantIds(queries: Queries, after: number, limit: number): Promise<MerchantId[]> {
  const rows = await queries.all<{ id: MerchantId }>(
    'select id from merchants where id > $1 order by id limit $2',
    [after, limit],
  );
  return rows.map(({ id }) => id);
}

export async function findMerchant(queries: Pick<Queries, 'one'>, id: number): Promise<Merchant | undefined> {
  const row = await queries.one<Row>(`select ${COLUMNS} from merchants where id = $1`, [id]);
  return row && merchantOf(row);
}

/** What may change. Undefined stays. */
export type Changes = { [field in keyof Omit<Merchant, 'id' | 'created_at'>]?: Merchant[field] | undefined };

/** How each field is stored. A new one is an entry here. */
const STORED: { [field in keyof Changes]-?: (value: NonNullable<Changes[field]>) => string | number } = {
  name: String,
  country: String,
  deliver: String,
  confident: String,
  undo_seconds: Number,
  language: String,
  time_zone: String,
  opening_hours: JSON.stringify,
  quiet_hours: JSON.stringify,
  waiting_message: String,
  developer_tools: Number,
};

const changedFields = (changes: Changes) =>
  (Object.keys(STORED) as (keyof Changes)[]).filter((field) => changes[field] !== undefined);

export const hasChange = (changes: Changes): boolean => changedFields(changes).length > 0;

/** Changes only the given fields, at least one. Returns undefined if there is no such merchant. */
export async function updateMerchant(
  queries: Queries,
  id: number,
  changes: Changes,
): Promise<Merchant | undefined> {
  const fields = changedFields(changes);
  const values = fields.map((field) => {
    const value = changes[field];
    return value === null ? null : (STORED[field] as (given: unknown) => string | number)(value);
  });
  const [row] = await queries.run<Row>(
    `update merchants set ${fields.map((field, index) => `${field} = $${index + 2}`).join(', ')}
      where id = $1 returning ${COLUMNS}`,
    [id, ...values],
  );
  return row && merchantOf(row);
}

/** The merchant's own country as a sub-select, for another statement. */
export const countryColumn = (merchantId: string) =>
  `(select m.country from merchants m where m.id = ${merchantId})`;

/** The merchant's threshold as it is stored, as a sub-select, for another statement: see `readConfident`. */
export const confidentColumn = (merchantId: string) =>
  `(select m.confident from merchants m where m.id = ${merchantId})`;

/** The merchant's own country, if it has one. */
export async function countryOf(queries: Queries, merchantId: MerchantId): Promise<CountryCode | undefined> {
  const row = await queries.one<Pick<Merchant, 'country'>>(`select ${countryColumn('$1')} as country`, [
    merchantId,
  ]);
  return row?.country ?? undefined;
}

/** The text that the merchant's customers get while they wait. */
export async function waitingMessageOf(queries: Queries, merchantId: MerchantId): Promise<string | null> {
  const sql = 'select waiting_message from merchants where id = $1';
  return (await queries.one<Pick<Row, 'waiting_message'>>(sql, [merchantId]))?.waiting_message ?? null;
}

/** What the merchant's customers hear while they wait, and when the shop opens if it is closed. */
export async function whileWaiting(
  queries: Queries,
  merchantId: MerchantId,
  at: Date,
): Promise<{ waiting_message: string | null; opens_at: string | null }> {
  const row = await queries.one<Pick<Row, 'waiting_message' | 'opening_hours' | 'time_zone'>>(
    'select waiting_message, opening_hours, time_zone from merchants where id = $1',
    [merchantId],
  );
  const { waiting_message = null, opening_hours: hours = null, time_zone = null } = row ?? {};
  const opens = hours === null ? null : opensAt(JSON.parse(hours), time_zone ?? 'UTC', at);
  return { waiting_message, opens_at: opens?.toISOString() ?? null };
}

/** Who speaks to the merchant's customers, unless an ask has its own `deliver`. */
export async function deliverOf(queries: Queries, merchantId: MerchantId): Promise<Deliver> {
  const row = await queries.one<Pick<Merchant, 'deliver'>>('select deliver from merchants where id = $1', [
    merchantId,
  ]);
  return row?.deliver ?? 'deskbell';
}
