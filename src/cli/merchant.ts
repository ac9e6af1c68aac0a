import { DELIVER, type Deliver } from '../contract/asks.ts';
import { CONFIDENT_LIMITS, type Confident } from '../contract/merchant.ts';
import { type CountryCode, isCountry } from '../delivery/phone.ts';
import { insertMerchant, listMerchants, updateMerchant } from '../merchants/store.ts';
import { command, Failure, PROGRAM, UsageError } from './command.ts';
import { databasePlace, withDatabase } from './database.ts';
import { deleteMerchant, exportMerchant } from './erasure/merchant.ts';
import { minute } from './terminal.ts';
import { nameOf } from './texts.ts';
import { recordCommand } from './who.ts';

const COUNTRY_DETAILS = `The country is two letters (ISO 3166-1), such as ES. Phone numbers without a country code belong to it.
A merchant without a country uses the setting DEFAULT_COUNTRY.`;

export const commands = {
  add: command({
    about: 'Add a merchant',
    details: COUNTRY_DETAILS,
    arguments: ['NAME'],
    options: { country: { type: 'string', value: 'ES', about: 'The country of its phone numbers' } },
    run: async ({ NAME, ...given }) => {
      const name = nameOf(NAME);
      const country = countryFrom(given.country) ?? null;
      const { merchant, place } = await withDatabase(async (database, config) => ({
        merchant: await database.transaction(async (tx) => {
          const added = await insertMerchant(tx, name, new Date(), country);
          await recordCommand(tx, 'merchant.added', added.id);
          return added;
        }),
        place: databasePlace(config),
      }));
      return {
        text: `Merchant ${merchant.id}, ${merchant.name}, was added to the database ${place}. Add its first user with
  ${PROGRAM} user add --merchant ${merchant.id} --email ADDRESS --name NAME`,
        json: merchant,
      };
    },
  }),

  list: command({
    about: 'List the merchants',
    run: async () => ({
      columns: [
        { title: 'ID', value: ({ id }) => id },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'COUNTRY', value: ({ country }) => country },
        { title: 'ANSWERS SENT BY', value: ({ deliver }) => deliver },
        { title: 'CONFIDENT', value: ({ confident }) => confident },
        { title: 'ADDED (UTC)', value: ({ created_at }) => minute(created_at) },
      ],
      pages: [await withDatabase(listMerchants)],
      none: `There are no merchants yet. "${PROGRAM} merchant add NAME" adds one.`,
    }),
  }),

  set: command({
    about:
      'Change a merchant’s country, its name, who sends its answers, or when its assistant asks a person',
    details: `${COUNTRY_DETAILS}\nNumbers that are already stored do not change.
With --deliver assistant, Deskbell sends nothing: the assistant passes the answers on to its customers.
Questions that were asked before do not change.
With --confident 0.8, its assistant gets answers from a match of 80% on without asking a person; with off, never;
with learned, from the match on that was right often enough.`,
    arguments: ['ID'],
    options: {
      country: { type: 'string', value: 'ES|none', about: 'The country of its phone numbers' },
      name: { type: 'string', value: 'NAME', about: 'Its new name' },
      deliver: {
        type: 'string',
        value: 'deskbell|assistant',
        about: 'Who sends answers to the customers of its assistant',
      },
      confident: {
        type: 'string',
        value: 'learned|off|0.5-1',
        about: 'From which match on its assistant gets an answer without asking a person',
      },
    },
    run: async ({ ID, ...given }) => {
      if (!/^[1-9]\d{0,14}$/.test(ID)) throw new UsageError('ID is a number: see "merchant list".');
      const country = countryFrom(given.country);
      const name = given.name === undefined ? undefined : nameOf(given.name);
      const deliver = deliverFrom(given.deliver);
      const confident = confidentFrom(given.confident);
      const change = { name, country, deliver, confident };
      if (Object.values(change).every((one) => one === undefined)) {
        throw new UsageError('Nothing to change: give --country, --name, --deliver or --confident.');
      }
      const merchant = await withDatabase((database) =>
        database.transaction(async (tx) => {
          const changed = await updateMerchant(tx, Number(ID), change);
          if (changed) await recordCommand(tx, 'merchant.changed', changed.id);
          return changed;
        }),
      );
      if (!merchant) throw new Failure(`There is no merchant ${ID}. "${PROGRAM} merchant list" shows them.`);
      return {
        text: `Merchant ${merchant.id} is ${merchant.name}, ${merchant.country ? `country ${merchant.country}` : 'without a country'}. ${SENDERS[merchant.deliver]} ${confidentText(merchant.confident)}`,
        json: merchant,
      };
    },
  }),

  export: exportMerchant,
  delete: deleteMerchant,
};

const SENDERS: Readonly<Record<Deliver, string>> = {
  deskbell: 'Deskbell sends its answers.',
  assistant: 'Its assistant passes the answers on.',
};

function confidentText(confident: Confident): string {
  if (confident === 'off') return 'Its assistant always asks a person.';
  return confident === 'learned'
    ? 'When its assistant need not ask a person is learned.'
    : `From a match of ${confident} on, its assistant does not ask a person.`;
}

function confidentFrom(given: string | undefined): Confident | undefined {
  if (given === undefined || given === 'learned' || given === 'off') return given;
  const threshold = /^[01](\.\d{1,4})?$/.test(given) ? Number(given) : 0;
  const { minimum, maximum } = CONFIDENT_LIMITS;
  if (threshold >= minimum && threshold <= maximum) return threshold;
  throw new UsageError(`--confident is learned, off, or a number from ${minimum} to ${maximum}.`);
}

function deliverFrom(given: string | undefined): Deliver | undefined {
  const deliver = DELIVER.find((one) => one === given);
  if (given !== undefined && !deliver) throw new UsageError(`--deliver is ${DELIVER.join(' or ')}.`);
  return deliver;
}

/** Null means `none`. Undefined: the option was not given. */
function countryFrom(given: string | undefined): CountryCode | null | undefined {
  if (given === undefined) return undefined;
  const country = given.trim().toUpperCase();
  if (country === 'NONE') return null;
  if (isCountry(country)) return country;
  throw new UsageError('--country takes the two letters of a country, such as ES for Spain, or none.');
}
