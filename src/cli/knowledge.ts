import { readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { callerFolder } from '../config.ts';
import type { MerchantId } from '../contract/ids.ts';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import { ApiError } from '../errors.ts';
import { listDocumentsById } from '../knowledge/documents/read.ts';
import { readWordings } from '../knowledge/documents/wordingRows.ts';
import { FILE_FORMATS, type FileFormat, formatDocuments, parseDocuments } from '../knowledge/files/files.ts';
import { type ImportSummary, importDocuments } from '../knowledge/files/import.ts';
import { openStorage } from '../storage.ts';
import { command, Failure, UsageError } from './command.ts';
import { MERCHANT, merchantOf, withDatabase } from './database.ts';
import { count, createProgress } from './terminal.ts';
import { recordCommand } from './who.ts';

const PAGE_SIZE = 500;

export const commands = {
  import: command({
    about: 'Add or update a merchant’s documents from a file',
    details: `A Markdown file in which each line "# Title" starts a document, or JSON Lines or CSV with title, body and, if
you like, wordings: other wordings of the title, which are added to those that the document has. A document whose title
already exists is updated, so a file can be imported again. Invalid documents are reported with the reason; the others
are imported. Use - as FILE for standard input.`,
    arguments: ['FILE'],
    options: {
      merchant: MERCHANT,
      format: { type: 'string', value: FILE_FORMATS.join('|'), about: 'Default: by the file name' },
    },
    run: async ({ FILE, ...given }, { json }) => {
      const format = formatOf(given.format, FILE);
      const progress = createProgress({ bar: process.stderr.isTTY === true && !json });
      const documents = parseDocuments(await readFile(FILE), format);
      const contents = documents.flatMap((document) => ('content' in document ? [document.content] : []));
      for (const document of documents) {
        if (!('problem' in document)) continue;
        const { line, problem } = document;
        progress.note(json ? JSON.stringify({ line, error: problem }) : `Line ${line}: ${problem}.`);
      }
      let done: ImportSummary = { added: 0, updated: 0, unchanged: 0 };
      const stored = () => done.added + done.updated + done.unchanged;
      await withDatabase(async (database, config) => {
        const merchant = await merchantOf(database, given.merchant);
        // First, because an import has many transactions and may be interrupted.
        if (contents.length > 0) await recordCommand(database, 'documents.imported', merchant.id);
        await importDocuments(database, merchant.id, contents, {
          storage: openStorage(config),
          now: () => new Date(),
          onProgress: (soFar) => {
            done = soFar;
            progress.show(count(stored(), 'document'), stored() / contents.length);
          },
        }).catch((cause) => {
          if (cause instanceof ApiError && cause.code === 'STORAGE_FULL') {
            throw new Failure(
              `The merchant’s storage is full after ${count(stored(), 'document')}. Raise STORAGE_PER_MERCHANT_MB and run the import again.`,
            );
          }
          if (!(cause instanceof DatabaseUnavailable)) throw cause;
          throw new Failure(
            `The database stopped responding after ${count(stored(), 'document')}. Run the import again: it skips those.`,
            { cause },
          );
        });
      }).finally(progress.end);
      const summary = { ...done, failed: documents.length - contents.length };
      const texts = Object.entries(summary).map(([name, number]) => `${number.toLocaleString('en')} ${name}`);
      return {
        text: `${count(documents.length, 'document')}: ${texts.join(', ')}.`,
        json: summary,
        failed: summary.failed > 0,
      };
    },
  }),

  export: command({
    about: 'Print a merchant’s documents as a file',
    details: 'The output can be imported again. Markdown does not have the other wordings of the titles.',
    options: {
      merchant: MERCHANT,
      format: { type: 'string', value: FILE_FORMATS.join('|'), about: 'Default: md' },
    },
    run: (given) => {
      const format = formatOf(given.format, '');
      return withDatabase(async (database) => {
        const merchant = await merchantOf(database, given.merchant);
        const documents = await allDocuments(database, merchant.id);
        return { text: formatDocuments(documents, format), json: documents };
      });
    },
  }),
};

function formatOf(given: string | undefined, file: string): FileFormat {
  const named = FILE_FORMATS.find((format) => format === given);
  if (given !== undefined && !named) throw new UsageError(`--format is one of ${FILE_FORMATS.join(', ')}.`);
  if (named) return named;
  const extension = extname(file).toLowerCase();
  return extension === '.csv' ? 'csv' : /^\.(jsonl|ndjson|json)$/.test(extension) ? 'jsonl' : 'md';
}

async function readFile(file: string): Promise<string> {
  if (file === '-') return readAll(process.stdin);
  try {
    return readFileSync(resolve(callerFolder(), file), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Failure(`There is no file ${file}.`);
    if (code === 'EISDIR') throw new Failure(`${file} is a folder.`);
    if (code === 'EACCES') throw new Failure(`${file} cannot be read: no permission.`);
    throw error;
  }
}

async function allDocuments(database: Database, merchantId: MerchantId) {
  const documents = [];
  for (let afterId = 0; ; ) {
    const page = await listDocumentsById(database, merchantId, { afterId, limit: PAGE_SIZE });
    const ids = page.map(({ id }) => id);
    const wordings = await readWordings(database, merchantId, ids);
    documents.push(...page.map((document) => ({ ...document, wordings: wordings.get(document.id) ?? [] })));
    if (page.length < PAGE_SIZE) return documents;
    afterId = page.at(-1)!.id;
  }
}
