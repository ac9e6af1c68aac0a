import type { CountryCode } from 'libphonenumber-js/min';
import type { Deliver } from '../contract/asks.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Confident } from '../contract/merchant.ts';
import type { Queries } from '../database/database.ts';

export interface Merchant {
  id: number;
  name: string;
  /** The country of numbers without a country code. Null: `DEFAULT_COUNTRY`, if that is set. */
  country: CountryCode | null;
  /** Who sends answers to the customers of its assistant, unless an ask has its own `deliver`. */
  deliver: Deliver;
  /** From which score on its assistant gets an answer without asking a person. */
  confident: Confident;
  /** How long the dashboard lets people undo an answer. */
  undo_seconds: number;
  created_at: string;
}

/** As it is stored. */
type Row = Omit<Merchant, 'confident'> & { confident: string };

const COLUMNS = 'id, name, country, deliver, confident, undo_seconds, created_at';

const merchantOf = (row: Row): Merchant => ({ ...row, confident: readConfident(row.confident) });

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

export async function findMerchant(queries: Queries, id: number): Promise<Merchant | undefined> {
  const row = await queries.one<Row>(`select ${COLUMNS} from merchants where id = $1`, [id]);
  return row && merchantOf(row);
}

/** Changes only the given fields. Returns undefined if there is no such merchant. */
export async function updateMerchant(
  queries: Queries,
  id: number,
  {
    name,
    country,
    deliver,
    confident,
    undoSeconds,
  }: {
    name?: string | undefined;
    country?: CountryCode | null | undefined;
    deliver?: Deliver | undefined;
    confident?: Confident | undefined;
    undoSeconds?: number | undefined;
  },
): Promise<Merchant | undefined> {
  const [row] = await queries.run<Row>(
    `update merchants set name = coalesce($2, name), country = case when $3 = 1 then $4 else country end,
        deliver = coalesce($5, deliver), confident = coalesce($6, confident),
        undo_seconds = coalesce($7, undo_seconds)
      where id = $1 returning ${COLUMNS}`,
    [
      ...[id, name ?? null, country === undefined ? 0 : 1, country ?? null, deliver ?? null],
      confident === undefined ? null : String(confident),
      undoSeconds ?? null,
    ],
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

/** Who speaks to the merchant's customers, unless an ask has its own `deliver`. */
export async function deliverOf(queries: Queries, merchantId: MerchantId): Promise<Deliver> {
  const row = await queries.one<Pick<Merchant, 'deliver'>>('select deliver from merchants where id = $1', [
    merchantId,
  ]);
  return row?.deliver ?? 'deskbell';
}
