import type { CountryCode } from '../delivery/phone.ts';
import { readAddress } from '../delivery/queue/enqueue.ts';

/** The numbers of a notification's customer. */
export interface CustomerNumbers {
  customer_phone: string;
  /** JSON: those that turned out to be wrong, as they were sent to, each with the one that replaced it. */
  wrong_phones: string;
  /** The merchant's, for numbers without a country code. */
  country: string | null;
}

/** Where an answer goes: to the number in the context, unless a person has corrected it. */
export function recipientOf(
  leadPhone: string | undefined,
  { customer_phone: known, wrong_phones, country }: CustomerNumbers,
  defaultCountry: CountryCode | undefined,
): string {
  if (leadPhone === undefined || leadPhone.trim() === '') return known;
  if (wrong_phones === '{}') return leadPhone;
  const replacements = new Map(Object.entries(JSON.parse(wrong_phones) as Record<string, string>));
  const { recipient } = readAddress({ recipient: leadPhone, country }, defaultCountry);
  return replacements.get(recipient) ?? leadPhone;
}
