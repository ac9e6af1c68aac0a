import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';

/** Somebody who works for a merchant. */
export interface PersonName {
  id: number;
  name: string;
}

/** More are not offered or found. */
const PEOPLE_MAX = 1000;

/** A merchant's people who can sign in, or also those who no longer can. */
export const listPeople = (
  queries: Queries,
  merchantId: MerchantId,
  which: 'current' | 'former too' = 'current',
): Promise<PersonName[]> =>
  queries.all(
    `select id, name from users where merchant_id = $1 and deleted_at is null ${which === 'current' ? 'and disabled_at is null' : ''}
      order by id limit ${PEOPLE_MAX}`,
    [merchantId],
  );

/** The name of one of a merchant's people. */
export async function nameOfPerson(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<string | undefined> {
  const row = await queries.one<PersonName>('select id, name from users where id = $2 and merchant_id = $1', [
    merchantId,
    id,
  ]);
  return row?.name;
}

/** Undefined if there is no such person, or they cannot sign in. */
export const findPerson = (
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<(PersonName & { email: string }) | undefined> =>
  queries.one(
    'select id, name, email from users where id = $2 and merchant_id = $1 and disabled_at is null',
    [merchantId, id],
  );
