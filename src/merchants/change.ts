import { type MerchantChange, type OpeningHours, WEEKDAYS } from '../contract/merchant.ts';
import { storableText } from '../database/text.ts';
import { type CountryCode, isCountry } from '../delivery/phone.ts';
import { invalid, required } from '../errors.ts';
import { type Changes, hasChange } from './store.ts';

export const countryInvalid = () =>
  invalid('country', 'country must be the two letters of a country, such as ES, or null');
export const timeZoneInvalid = () =>
  invalid('time_zone', 'time_zone must be the name of a time zone, such as Europe/Madrid, or null');

/** Checks what a schema cannot say. */
export function readChange(body: MerchantChange): Changes {
  const { name, country, time_zone, opening_hours, quiet_hours, waiting_message } = body;
  const changes: Changes = { ...body, country: country as CountryCode | null | undefined };
  if (!hasChange(changes)) throw required('deliver');
  if (name !== undefined) {
    changes.name = storableText(name.trim());
    if (changes.name === '') throw required('name');
  }
  if (typeof country === 'string' && !isCountry(country)) throw countryInvalid();
  if (typeof time_zone === 'string' && !isTimeZone(time_zone)) throw timeZoneInvalid();
  if (opening_hours) checkOpeningHours(opening_hours);
  if (quiet_hours && quiet_hours.from === quiet_hours.to)
    throw invalid('quiet_hours', 'quiet_hours must not begin and end at the same time');
  if (typeof waiting_message === 'string') {
    changes.waiting_message = storableText(waiting_message.trim());
    if (changes.waiting_message === '') throw required('waiting_message');
  }
  return changes;
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Times of day in this form compare like texts. */
function checkOpeningHours(hours: OpeningHours): void {
  for (const day of WEEKDAYS) {
    let end = '';
    for (const { from, to } of hours[day]) {
      if (from >= to) throw invalid(`opening_hours.${day}`, `${day}: ${from} must be before ${to}`);
      if (from < end) throw invalid(`opening_hours.${day}`, `${day}: ${from} must not be before ${end}`);
      end = to;
    }
  }
}
