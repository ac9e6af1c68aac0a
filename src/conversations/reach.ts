import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { type CountryCode, parsePhone } from '../delivery/phone.ts';
import { countryOf } from '../merchants/store.ts';
import type { Conversation } from './store.ts';

/** The number of a conversation's customer as E.164, or undefined if the customer cannot be reached. */
export async function reachablePhone(
  queries: Queries,
  merchantId: MerchantId,
  { customer_phone: written }: Pick<Conversation, 'customer_phone'>,
  defaultCountry: CountryCode | undefined,
): Promise<string | undefined> {
  if (written === '') return undefined;
  // One of an earlier version may be stored as it was written.
  const parsed = parsePhone(written, (await countryOf(queries, merchantId)) ?? defaultCountry);
  return 'phone' in parsed ? parsed.phone : undefined;
}
