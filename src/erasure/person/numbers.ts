import type { MerchantId } from '../../contract/ids.ts';
import { whoHasPhone } from '../../conversations/person.ts';
import type { Queries } from '../../database/database.ts';
import { loadPhoneNumbers, phoneOrText } from '../../delivery/phone.ts';
import { countryOf, waitingMessageOf } from '../../merchants/store.ts';
import { findIn, newLookup } from './find.ts';
import { addPhone, isPhoneText } from './person.ts';

interface Whose {
  merchantId: MerchantId;
  /** When the erasure began. */
  createdAt: string;
  person: { phones: readonly string[] };
}

/**
 * Those of the given numbers that are the person's, also with their country. A question may name any number: one of
 * another customer, or one that the shop tells its customers, is not the person's.
 */
export async function ownNumbers(
  queries: Queries,
  { merchantId, createdAt, person: { phones } }: Whose,
  given: readonly string[],
): Promise<string[]> {
  const isNew = (text: string) => text !== '' && isPhoneText(text) && !phones.includes(text);
  const candidates = [...new Set(given.filter(isNew))];
  if (candidates.length === 0) return [];
  const country = (await countryOf(queries, merchantId)) ?? countryIn(phones[0] ?? '');
  const shop = (await waitingMessageOf(queries, merchantId)) ?? '';
  const own: string[] = [];
  for (const text of candidates) {
    const ways = [...new Set([text, phoneOrText(text, country)])];
    if (isIn(shop, ways)) continue;
    const owners: string[] = [];
    for (const way of ways) owners.push(await whoHasPhone(queries, merchantId, way, createdAt));
    if (!owners.includes('somebody before')) own.push(...ways);
  }
  return own;
}

function isIn(text: string, phones: readonly string[]): boolean {
  const lookup = newLookup('as written');
  for (const phone of phones) addPhone(lookup, phone);
  return findIn(text, lookup).length > 0;
}

function countryIn(phone: string) {
  try {
    return loadPhoneNumbers().library.parsePhoneNumberWithError(phone).country;
  } catch {
    return undefined;
  }
}
