import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { recordEvent } from '../../audit/record.ts';
import { authorOf, merchantOf, requireMerchant, whoOf } from '../../auth/guard.ts';
import type { MerchantId } from '../../contract/ids.ts';
import {
  ExportedFile,
  ExportQuery,
  IMPORT_DOCUMENTS_MAX,
  IMPORT_MAX_BYTES,
  ImportBody,
  ImportResult,
} from '../../contract/knowledgeUpkeep.ts';
import { CHANGES, type Database } from '../../database/database.ts';
import { invalid, payloadTooLarge, storageFull } from '../../errors.ts';
import { oneOf } from '../../http/input.ts';
import { type App, route } from '../../http/openapi.ts';
import { checkNothing } from '../../http/schemas.ts';
import type { Storage } from '../../merchants/storage.ts';
import { listDocumentsById } from '../documents/read.ts';
import { readWordings } from '../documents/wordingRows.ts';
import { FILE_FORMATS, type FileFormat, formatDocuments, parseDocuments } from './files.ts';
import { importDocuments } from './import.ts';
import { previewImport } from './preview.ts';

export interface FileParts {
  database: Database;
  storage: Storage;
  now: () => Date;
}

/** One transaction of an import. Smaller than that of the command line, because others use this server. */
const IMPORTED_AT_ONCE = 20;
const EXPORTED_AT_ONCE = 50;
const PROBLEMS_SHOWN_MAX = 100;

const formatInvalid = () => oneOf('format', FILE_FORMATS);
const tooManyDocuments = () =>
  invalid('text', `text must not have more than ${IMPORT_DOCUMENTS_MAX} documents. Split the file.`);

const TYPES: Readonly<Record<FileFormat, string>> = {
  md: 'text/markdown',
  jsonl: 'application/jsonl',
  csv: 'text/csv',
};

export async function fileRoutes(app: App, { database, storage, now }: FileParts): Promise<void> {
  requireMerchant(app);
  checkNothing(app);

  app.post(
    '/import',
    {
      bodyLimit: IMPORT_MAX_BYTES,
      ...route('knowledge', 'Import documents', {
        operationId: 'importDocuments',
        scopes: ['knowledge:write'],
        description:
          'Adds the documents of a file and changes those whose title exists, so that a file can be imported again. ' +
          'What cannot be used is reported with its line; the rest is imported. If the call fails, repeat it. A ' +
          '`preview` writes nothing. At most 1 MiB and 1,000 documents: split a larger file, or use the command line.',
        errors: [formatInvalid(), tooManyDocuments(), payloadTooLarge(IMPORT_MAX_BYTES), storageFull()],
        body: ImportBody,
        response: { 200: ImportResult },
      }),
    },
    async (request) => {
      const merchantId = merchantOf(request);
      const { format, text, preview } = readImport(request.body);
      const documents = parseDocuments(text, format, IMPORT_DOCUMENTS_MAX + 1);
      if (documents.length > IMPORT_DOCUMENTS_MAX) throw tooManyDocuments();
      const usable = documents.filter((document) => 'content' in document);
      const problems = documents.filter((document) => 'problem' in document);
      const report = {
        failed: problems.length,
        problems: problems.slice(0, PROBLEMS_SHOWN_MAX),
        documents: [],
      };
      if (preview) {
        const previewed = await previewImport(database, merchantId, usable);
        const count = (change: string) => previewed.filter((each) => each.change === change).length;
        return {
          ...{ added: count('new'), updated: count('changed'), unchanged: count('same') },
          ...{ ...report, documents: previewed },
        };
      }
      const author = authorOf(request);
      const who = whoOf(request);
      try {
        // First, because an import has many transactions and may be interrupted.
        await recordEvent(database, { what: 'documents.imported', merchantId, who, at: now() });
        const contents = usable.map(({ content }) => content);
        const options = { storage, now, author, batchSize: IMPORTED_AT_ONCE };
        return { ...(await importDocuments(database, merchantId, contents, options)), ...report };
      } finally {
        database.signal(CHANGES);
      }
    },
  );

  app.get(
    '/export',
    route('knowledge', 'Export documents', {
      operationId: 'exportDocuments',
      scopes: ['knowledge:read'],
      description:
        'All documents as a file that can be imported again; Markdown by default, which does not have the other ' +
        'wordings.',
      errors: [formatInvalid()],
      querystring: ExportQuery,
      response: { 200: ExportedFile },
    }),
    async (request, reply) => {
      const { format: given = 'md' } = request.query as Record<string, unknown>;
      const format = FILE_FORMATS.find((each) => each === given);
      if (!format) throw formatInvalid();
      const pages = exportPages(database, merchantOf(request), format);
      // The first page is read before the headers are sent, so that a failure has its status.
      const first = await pages.next();
      async function* texts() {
        if (!first.done) yield first.value;
        yield* pages;
      }
      return (reply as FastifyReply)
        .type(`${TYPES[format]}; charset=utf-8`)
        .header('content-disposition', `attachment; filename="knowledge.${format}"`)
        .send(Readable.from(texts()));
    },
  );
}

/** A byte order mark, without which spreadsheets guess another encoding. */
const CSV_START = '\ufeff';

async function* exportPages(
  database: Database,
  merchantId: MerchantId,
  format: FileFormat,
): AsyncGenerator<string> {
  let afterId = 0;
  for (;;) {
    const page = await listDocumentsById(database, merchantId, { afterId, limit: EXPORTED_AT_ONCE });
    const wordings = await readWordings(
      database,
      merchantId,
      page.map(({ id }) => id),
    );
    const documents = page.map((document) => ({ ...document, wordings: wordings.get(document.id) ?? [] }));
    const isContinued = afterId > 0;
    const text = formatDocuments(documents, format, { isContinued });
    if (!isContinued && format === 'csv') yield CSV_START;
    if (text !== '') yield isContinued ? `\n${text}` : text;
    if (page.length < EXPORTED_AT_ONCE) break;
    afterId = page.at(-1)!.id;
  }
  yield '\n';
}

function readImport(body: unknown): { format: FileFormat; text: string; preview: boolean } {
  const { format: given, text, preview } = (body ?? {}) as Record<string, unknown>;
  const format = FILE_FORMATS.find((each) => each === given);
  if (!format) throw formatInvalid();
  if (typeof text !== 'string' || text.trim() === '') throw invalid('text', 'text must not be blank');
  if (preview != null && typeof preview !== 'boolean') throw invalid('preview', 'preview must be a boolean');
  return { format, text, preview: preview === true };
}
