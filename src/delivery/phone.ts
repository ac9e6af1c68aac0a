import { createRequire } from 'node:module';
import type { CountryCode } from 'libphonenumber-js/min';

export type { CountryCode };

type Library = typeof import('libphonenumber-js/min');
const require = createRequire(import.meta.url);
let loaded: { library: Library; countries: ReadonlySet<string> } | undefined;

/**
 * The library has a hundred files, a third of the start of the command line, and most commands read no number. So it is
 * loaded with the first one; a server calls this before that.
 */
export function loadPhoneNumbers() {
  if (!loaded) {
    const library: Library = require('libphonenumber-js/min');
    loaded = { library, countries: new Set(library.getCountries()) };
  }
  return loaded;
}

/**
 * `problem` is the rest of a sentence that starts with the name of the field or with the number, and has no full
 * stop. It never repeats the number, so it may go into a log or an error body.
 */
export type ParsedPhone = { phone: string } | { problem: string };

const TEXT_LENGTH_MAX = 64;
/** The maximum in E.164. The library allows more: up to 17 for German numbers. */
const DIGITS_MAX = 15;
/** Invisible characters that are copied along with a number from a contact or a spreadsheet. */
const INVISIBLE = /\p{Cf}/gu;
/** `+` or `00`, perhaps in brackets: (+34) 611 55 01 01. The library reads the same three kinds of digits. */
const INTERNATIONAL = /^[(（]?\s*(?:[+＋]|[0٠۰０]{2})/;
/** Mexico dropped the 1 before mobile numbers in 2019; WhatsApp still gives its customers' numbers with it. */
const OLD_MEXICAN_MOBILE = /^\+521(?=\d{10}$)/;

const NOT_A_NUMBER = 'is not a phone number';
const NO_COUNTRY = 'has no country code; write it with + and the country code in front';
const PROBLEMS: Readonly<Record<string, string>> = {
  NOT_A_NUMBER,
  INVALID_COUNTRY: 'does not start with the code of a country',
  TOO_SHORT: 'has too few digits for its country',
  TOO_LONG: 'has too many digits for its country',
  INVALID_LENGTH: 'has the wrong number of digits for its country',
};

/** ISO 3166-1 alpha-2, in capitals. */
export const isCountry = (text: string): text is CountryCode => loadPhoneNumbers().countries.has(text);

/**
 * Returns the number as E.164, with +. A number that starts with + or 00 has its own country code; any other belongs
 * to `country`. The text must contain only the number.
 */
export function parsePhone(text: string, country: CountryCode | undefined): ParsedPhone {
  if (text.length > TEXT_LENGTH_MAX) return { problem: `is longer than ${TEXT_LENGTH_MAX} characters` };
  const written = text.replace(INVISIBLE, '').trim();
  // A semicolon starts the parameters of a tel: address, which may replace the country code.
  if (!/\p{Nd}/u.test(written) || written.includes(';')) return { problem: NOT_A_NUMBER };
  if (INTERNATIONAL.test(written)) return parse(written.replace(INTERNATIONAL, '+'));
  if (country === undefined || !isCountry(country)) return { problem: NO_COUNTRY };
  return parse(written, country);
}

function parse(written: string, defaultCountry?: CountryCode): ParsedPhone {
  const { ParseError, parsePhoneNumberWithError, validatePhoneNumberLength } = loadPhoneNumbers().library;
  try {
    const { number, ext } = parsePhoneNumberWithError(written, {
      extract: false,
      ...(defaultCountry && { defaultCountry }),
    });
    if (ext) return { problem: 'has an extension, which cannot receive messages' };
    const phone = number.replace(OLD_MEXICAN_MOBILE, '+52');
    // The library drops one trunk zero at a time. If it would drop another, as in +49 00 30 1234, it is not valid.
    const checked = parsePhoneNumberWithError(phone);
    if (checked.number !== phone) return { problem: NOT_A_NUMBER };
    if (phone.length > DIGITS_MAX + 1) return { problem: PROBLEMS.TOO_LONG! };
    if (checked.isPossible()) return { phone };
    return { problem: PROBLEMS[validatePhoneNumberLength(phone) ?? 'INVALID_LENGTH'] ?? NOT_A_NUMBER };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return { problem: PROBLEMS[error.message] ?? NOT_A_NUMBER };
  }
}

/** A stored number as E.164, or as it was written if it is not valid. Without a country it must begin with one. */
export function phoneOrText(text: string, country?: CountryCode): string {
  const parsed = parsePhone(text, country);
  return 'phone' in parsed ? parsed.phone : text;
}
