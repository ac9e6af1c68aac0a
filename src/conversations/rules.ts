import { type CountryCode, parsePhone } from '../delivery/phone.ts';

export interface NewConversation {
  /** The conversation's id in the system it comes from. */
  reference: string | null;
  name: string;
  /** E.164, with +. */
  phone: string;
}

/** `problem` starts with the name of the field and never repeats its value. */
type CheckedConversation = { conversation: NewConversation } | { problem: string };

const LENGTH_MAX = 255;
/** All but tabs and line ends. */
const CONTROL = /[^\P{Cc}\t\r\n]/u;

/** `country` is the country of a phone number without a country code. */
export function checkConversation(
  given: { reference?: unknown; name?: unknown; phone?: unknown },
  country: CountryCode | undefined,
): CheckedConversation {
  const texts = { reference: '', name: '', phone: '' };
  for (const field of Object.keys(texts) as (keyof typeof texts)[]) {
    // Many systems number their conversations: a whole number is a valid reference.
    const value =
      field === 'reference' && Number.isSafeInteger(given[field]) ? `${given[field]}` : given[field];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return { problem: `${field} must be text` };
    if (value.includes('\ufffd') || !value.isWellFormed()) return { problem: `${field} is not valid UTF-8` };
    if (CONTROL.test(value)) return { problem: `${field} contains control characters` };
    texts[field] = value.trim();
    if (texts[field].length > LENGTH_MAX)
      return { problem: `${field} is longer than ${LENGTH_MAX} characters` };
  }
  if (texts.name === '') return { problem: 'name is required' };
  if (texts.phone === '') return { problem: 'phone is required' };
  const parsed = parsePhone(texts.phone, country);
  if ('problem' in parsed) return { problem: `phone ${parsed.problem}` };
  return { conversation: { reference: texts.reference || null, name: texts.name, phone: parsed.phone } };
}
