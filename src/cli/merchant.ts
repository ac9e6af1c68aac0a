import { insertMerchant, listMerchants } from '../merchants/store.ts';
import { command, PROGRAM } from './command.ts';
import { databasePlace, withDatabase } from './database.ts';
import { minute } from './terminal.ts';
import { nameOf } from './texts.ts';

export const commands = {
  add: command({
    about: 'Add a merchant',
    arguments: ['NAME'],
    run: async ({ NAME }) => {
      const name = nameOf(NAME);
      const { merchant, place } = await withDatabase(async (database, config) => ({
        merchant: await insertMerchant(database, name, new Date()),
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
        { title: 'ADDED (UTC)', value: ({ created_at }) => minute(created_at) },
      ],
      pages: [await withDatabase(listMerchants)],
      none: `There are no merchants yet. "${PROGRAM} merchant add NAME" adds one.`,
    }),
  }),
};
