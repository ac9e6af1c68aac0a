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
    `select id, name from users where merchant_id = $1 ${which === 'current' ? 'and disabled_at is null' : ''}
      order by id limit ${PEOPLE_MAX}`,
    [merchantId],
  );
