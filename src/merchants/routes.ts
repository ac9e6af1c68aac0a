import { recordEvent } from '../audit/record.ts';
import { merchantOf, requireMerchant, requireOwner, whoOf } from '../auth/guard.ts';
import { Merchant, MerchantChange, type OpeningHours, WEEKDAYS } from '../contract/merchant.ts';
import type { Database } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { type CountryCode, isCountry } from '../delivery/phone.ts';
import { invalid, ownerRequired, required, tokenInvalid } from '../errors.ts';
import { type App, route } from '../http/openapi.ts';
import { type Changes, findMerchant, hasChange, type Merchant as Stored, updateMerchant } from './store.ts';

export interface MerchantRouteParts {
  database: Database;
  now: () => Date;
}

/** A merchant's own settings. */
export async function merchantRoutes(app: App, { database, now }: MerchantRouteParts): Promise<void> {
  await app.register(readRoutes);
  await app.register(ownerRoutes);

  async function readRoutes(app: App): Promise<void> {
    requireMerchant(app);

    app.get(
      '/merchant',
      route('merchant', 'Get the merchant', {
        operationId: 'getMerchant',
        scopes: ['ask', 'notifications:read'],
        description: 'The merchant of the caller, and its settings.',
        response: { 200: Merchant },
      }),
      async (request) => wireOf(await findMerchant(database, merchantOf(request))),
    );
  }

  async function ownerRoutes(app: App): Promise<void> {
    requireOwner(app);

    app.patch(
      '/merchant',
      route('merchant', 'Change the merchant', {
        operationId: 'changeMerchant',
        description: 'For owners. Changes the given fields. Questions that are already asked do not change.',
        errors: [ownerRequired(), required('deliver'), countryInvalid(), timeZoneInvalid()],
        body: MerchantChange,
        response: { 200: Merchant },
      }),
      async (request) => {
        const merchantId = merchantOf(request);
        const change = readChange(request.body);
        const changed = await database.transaction(async (tx) => {
          const merchant = await updateMerchant(tx, merchantId, change);
          await recordEvent(tx, { what: 'merchant.changed', merchantId, who: whoOf(request), at: now() });
          return merchant;
        });
        return wireOf(changed);
      },
    );
  }
}

function wireOf(merchant: Stored | undefined) {
  // It was removed from the database.
  if (!merchant) throw tokenInvalid();
  const { id: _id, created_at: _createdAt, ...wire } = merchant;
  return wire;
}

const countryInvalid = () =>
  invalid('country', 'country must be the two letters of a country, such as ES, or null');
const timeZoneInvalid = () =>
  invalid('time_zone', 'time_zone must be the name of a time zone, such as Europe/Madrid, or null');

/** Checks what a schema cannot say. */
function readChange(body: MerchantChange): Changes {
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
