import { createReadStream, type ReadStream, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { callerFolder } from '../config.ts';
import { checkConversation } from '../conversations/rules.ts';
import { type Conversation, insertConversation, listConversations } from '../conversations/store.ts';
import { command, Failure, PROGRAM, UsageError } from './command.ts';
import { merchantOf, pagesOf, withDatabase } from './database.ts';
import { deleteConversation, exportConversation } from './erasure/conversation.ts';
import { FORMATS, type Format, importConversations, type Summary } from './import.ts';
import { count, createProgress, minute } from './terminal.ts';
import { recordCommand } from './who.ts';

const MERCHANT = {
  type: 'string',
  value: 'ID',
  about: 'The merchant it belongs to',
  required: true,
} as const;
const PAGE_SIZE = 1000;

export const commands = {
  add: command({
    about: 'Add a conversation with a customer',
    options: {
      merchant: MERCHANT,
      name: { type: 'string', value: 'NAME', about: 'The customer’s name', required: true },
      phone: {
        type: 'string',
        value: 'NUMBER',
        about: 'The customer’s number: with +, or as written in the merchant’s country',
        required: true,
      },
      reference: { type: 'string', value: 'TEXT', about: 'Its id in the system it comes from' },
    },
    run: (given) =>
      withDatabase(async (database, { defaultCountry }) => {
        const merchant = await merchantOf(database, given.merchant);
        const checked = checkConversation(given, merchant.country ?? defaultCountry);
        if ('problem' in checked) throw new UsageError(`${checked.field} ${checked.problem}.`);
        const id = await database.transaction(async (tx) => {
          const added = await insertConversation(tx, merchant.id, checked.conversation, new Date());
          if (added !== undefined)
            await recordCommand(tx, 'conversation.added', merchant.id, { conversation_id: added });
          return added;
        });
        if (id === undefined)
          throw new Failure(`${merchant.name} already has a conversation with this reference.`);
        const { reference, name } = checked.conversation;
        return {
          text: `Conversation ${id} with ${name} was added to ${merchant.name}.`,
          json: { id, merchant_id: merchant.id, reference, customer_name: name },
        };
      }),
  }),

  list: command({
    about: 'List a merchant’s conversations',
    options: { merchant: MERCHANT },
    run: async (given) => ({
      columns: [
        { title: 'ID', value: ({ id }) => id },
        { title: 'REFERENCE', value: ({ reference }) => reference },
        { title: 'CUSTOMER', value: ({ customer_name }) => customer_name },
        { title: 'PHONE', value: ({ customer_phone }) => customer_phone },
        { title: 'ADDED (UTC)', value: ({ created_at }) => minute(created_at) },
      ],
      pages: conversationPages(given.merchant),
      none: `There are no conversations yet. "${PROGRAM} conversation import --help" shows how to add many.`,
    }),
  }),

  import: command({
    about: 'Add or update a merchant’s conversations from a file',
    details: `CSV whose first line names the columns reference, name and phone, or JSON Lines with the same members;
customer_name and customer_phone work too, other columns are ignored. A conversation whose reference the merchant
already has is updated, so you can import a file again. A phone number without + or 00 belongs to the merchant’s
country (see "merchant set"). Bad lines are reported with the reason, good ones are stored. If FILE is -, standard
input is read.`,
    arguments: ['FILE'],
    options: {
      merchant: MERCHANT,
      format: { type: 'string', value: FORMATS.join('|'), about: 'Default: by the file name' },
    },
    run: async ({ FILE, ...given }, { json }) => {
      const format = formatOf(FILE, given.format);
      const startedAt = performance.now();
      const progress = createProgress({ bar: process.stderr.isTTY === true && !json });
      const summary = await withDatabase(async (database, { defaultCountry }) => {
        const { id, country } = await merchantOf(database, given.merchant);
        const { stream, fractionRead } = openFile(FILE);
        // Before the first write: an import has many transactions and may be interrupted.
        const onFirstWrite = () => recordCommand(database, 'conversations.imported', id);
        return importConversations(
          database,
          { id, country: country ?? defaultCountry },
          { chunks: stream, format },
          {
            onFirstWrite,
            onBadLine: (line, reason) =>
              progress.note(json ? JSON.stringify({ line, error: reason }) : `Line ${line}: ${reason}.`),
            onProgress: (soFar) => progress.show(count(totalOf(soFar), 'line'), fractionRead()),
          },
        ).catch(explainFile(FILE));
      }).finally(progress.end);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      return { text: `${describe(summary)}, in ${seconds} s.`, json: summary, failed: summary.failed > 0 };
    },
  }),

  export: exportConversation,
  delete: deleteConversation,
};

const conversationPages = (given: string) =>
  pagesOf<Conversation[]>(async function* (database) {
    const merchant = await merchantOf(database, given);
    let afterId = 0;
    for (;;) {
      const page = await listConversations(database, merchant.id, { afterId, limit: PAGE_SIZE });
      yield page;
      if (page.length < PAGE_SIZE) return;
      afterId = page.at(-1)!.id;
    }
  });

function formatOf(file: string, given: string | undefined): Format {
  const named = FORMATS.find((format) => format === given);
  if (given !== undefined && !named) throw new UsageError(`--format is one of ${FORMATS.join(', ')}.`);
  return named ?? (/^\.(jsonl|ndjson)$/i.test(extname(file)) ? 'jsonl' : 'csv');
}

function openFile(file: string): { stream: AsyncIterable<Buffer>; fractionRead: () => number | undefined } {
  if (file === '-') return { stream: process.stdin, fractionRead: () => undefined };
  const path = resolve(callerFolder(), file);
  const stream: ReadStream = createReadStream(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return { stream, fractionRead: () => (size > 0 ? stream.bytesRead / size : undefined) };
}

const explainFile = (file: string) => (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOENT') throw new Failure(`There is no file ${file}.`);
  if (error.code === 'EISDIR') throw new Failure(`${file} is a folder.`);
  if (error.code === 'EACCES') throw new Failure(`No permission to read ${file}.`);
  throw error;
};

const totalOf = ({ added, updated, unchanged, failed }: Summary) => added + updated + unchanged + failed;

function describe(summary: Summary): string {
  const { added, updated, unchanged, failed } = summary;
  const parts = Object.entries({ added, updated, unchanged, failed });
  const texts = parts.map(([name, number]) => `${number.toLocaleString('en')} ${name}`);
  return `${count(totalOf(summary), 'line')}: ${texts.join(', ')}`;
}
