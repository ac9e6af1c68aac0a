import { type CountryCode, phoneOrText } from '../delivery/phone.ts';

/** The numbers of a notification's customer. */
export interface CustomerNumbers {
  customer_phone: string;
  /** One that a person replaced by `customer_phone`, as it was sent to. */
  wrong_phone: string | null;
  /** The merchant's, for numbers without a country code. */
  country: string | null;
}

/** Where an answer goes: to the number in the context, unless a person has corrected it. */
export function recipientOf(leadPhone: unknown, numbers: CustomerNumbers): string {
  const { customer_phone: known, wrong_phone: wrong, country } = numbers;
  if (typeof leadPhone !== 'string' || leadPhone.trim() === '') return known;
  if (wrong === null) return leadPhone;
  const isWrong = [leadPhone, phoneOrText(leadPhone, (country as CountryCode | null) ?? undefined)].includes(
    wrong,
  );
  return isWrong ? known : leadPhone;
}
