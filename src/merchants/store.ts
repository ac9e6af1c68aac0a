import type { CountryCode } from 'libphonenumber-js/min';
import type { Deliver } from '../contract/asks.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';

export interface Merchant {
  id: number;
  name: string;
  /** The country of numbers without a country code. Null: `DEFAULT_COUNTRY`, if that is set. */
  country: CountryCode | null;
  /** Who sends answers to the customers of its assistant, unless an ask has its own `deliver`. */
  deliver: Deliver;
  created_at: string;
}

const COLUMNS = 'id, name, country, deliver, created_at';

export async function insertMerchant(
  queries: Queries,
  name: string,
  at: Date,
  country: CountryCode | null = null,
): Promise<Merchant> {
  const [row] = await queries.run<Merchant>(
    `insert into merchants (name, country, created_at) values ($1, $2, $3) returning ${COLUMNS}`,
    [name, country, at.toISOString()],
  );
  if (!row) throw new Error('the insert returned no row');
  return row;
}

export function listMerchants(queries: Queries): Promise<Merchant[]> {
  return queries.all(`select ${COLUMNS} from merchants order by id`);
}

/** The ids of merchants in order, after the given one. */
export async function listMerchantIds(queries: Queries, after: number, limit: number): Promise<MerchantId[]> {
  const rows = await queries.all<{ id: MerchantId }>(
    'select id from merchants where id > $1 order by id limit $2',
    [after, limit],
  );
  return rows.map(({ id }) => id);
}

export function findMerchant(queries: Queries, id: number): Promise<Merchant | undefined> {
  return queries.one(`select ${COLUMNS} from merchants where id = $1`, [id]);
}

/** Changes only the given fields. Returns undefined if there is no such merchant. */
export async function updateMerchant(
  queries: Queries,
  id: number,
  {
    name,
    country,
    deliver,
  }: {
    name?: string | undefined;
    country?: CountryCode | null | undefined;
    deliver?: Deliver | undefined;
  },
): Promise<Merchant | undefined> {
  const [row] = await queries.run<Merchant>(
    `update merchants set name = coalesce($2, name), country = case when $3 = 1 then $4 else country end,
        deliver = coalesce($5, deliver)
      where id = $1 returning ${COLUMNS}`,
    [id, name ?? null, country === undefined ? 0 : 1, country ?? null, deliver ?? null],
  );
  return row;
}

/** The merchant's own country as a sub-select, for another statement. */
export const countryColumn = (merchantId: string) =>
  `(select m.country from merchants m where m.id = ${merchantId})`;

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
