import { ApiError, invalid } from '../../errors.ts';
import { createCsvReader } from '../../files/csv.ts';
import { type Content, checkBody, checkTitle, checkWording } from '../documents/texts.ts';
import { WORDINGS_MAX } from '../documents/wordingRows.ts';

export const FILE_FORMATS = ['md', 'jsonl', 'csv'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Without `wordings`, an import leaves those of the document as they are. */
export interface FileContent extends Content {
  wordings?: readonly string[];
}

/** A document of a file with the number of its first line, or why it cannot be used. */
export type FileDocument = { line: number; content: FileContent } | { line: number; problem: string };

/** Reads at most `max` documents: what follows costs nothing. */
export function parseDocuments(
  text: string,
  format: FileFormat,
  max = Number.POSITIVE_INFINITY,
): FileDocument[] {
  const documents: FileDocument[] = [];
  for (const document of readDocuments(text.replace(/^\ufeff/, ''), format)) {
    documents.push(document);
    if (documents.length === max) break;
  }
  return documents;
}

function readDocuments(text: string, format: FileFormat): Iterable<FileDocument> {
  if (format === 'csv') return readCsv(text);
  const lines = text.split(/\r?\n/);
  if (format === 'md') return readMarkdown(lines);
  return readJsonArray(text) ?? readJsonLines(lines);
}

/** Markdown has no wordings. `isContinued`: other documents were before these, so there is no header. */
export function formatDocuments(
  documents: readonly FileContent[],
  format: FileFormat,
  { isContinued = false } = {},
): string {
  const texts = documents.map(({ title, body, wordings = [] }) => {
    if (format === 'md') return `# ${title}\n\n${escapeTitles(body.trim())}\n`;
    if (format === 'csv') {
      const [shownTitle, shownBody, ...others] = [title, body, ...wordings].map(withQuote);
      return [shownTitle!, shownBody!, others.join('\n')].map(csvField).join(',');
    }
    return JSON.stringify({ title, body, ...(wordings.length > 0 && { wordings }) });
  });
  if (format === 'csv' && !isContinued) texts.unshift(CSV_COLUMNS.join(','));
  return texts.join('\n');
}

// A spreadsheet would run a text that begins like a formula, and customers write some of these texts. One that begins
// with quotes and such a character gets one quote more, so that an import restores every text.
const FORMULA = /^'*[=+\-@\t\r]/;
const withQuote = (text: string) => (FORMULA.test(text) ? `'${text}` : text);
const withoutQuote = (text: string) => (text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text);
const CSV_COLUMNS = ['title', 'body', 'wordings'];
const csvField = (text: string) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A long text is read piece by piece, so that it can be left half-way. */
const CSV_PIECE = 16_384;

/** Columns `title` and `body`, and if you like `wordings`: one a line, or separated by a vertical bar. */
function* readCsv(text: string): Generator<FileDocument> {
  let isKnown = true;
  const reader = createCsvReader((columns) => {
    isKnown = columns.includes('title') && columns.includes('body');
  });
  for (let at = 0; at <= text.length; at += CSV_PIECE) {
    const isLast = at + CSV_PIECE > text.length;
    const records = reader.push(text.slice(at, at + CSV_PIECE));
    for (const record of isLast ? [...records, ...reader.end()] : records) {
      if (!isKnown) break;
      if ('problem' in record) yield record;
      else {
        const { title = '', body = '', wordings = '' } = record.fields as Record<string, string | undefined>;
        const others = wordings.split(/[\n|]/).filter((each) => each.trim() !== '');
        const texts = [title, body, ...others].map(withoutQuote);
        yield checked(record.line, texts[0], texts[1], texts.length > 2 ? texts.slice(2) : undefined);
      }
    }
    if (!isKnown) break;
  }
  if (!isKnown) yield { line: 1, problem: 'the first line must name the columns title and body' };
}

// In a body, a line that looks like a title gets a backslash in front.
const escapeTitles = (body: string) => body.replace(/^(\\*# )/gm, '\\$1');
const unescapeTitle = (line: string) => line.replace(/^\\(\\*# )/, '$1');

/** A line that starts with `# ` starts a document. */
function* readMarkdown(lines: readonly string[]): Generator<FileDocument> {
  let section: { line: number; title: string; body: string[] } | undefined;
  const finished = () =>
    section ? [checked(section.line, section.title, section.body.join('\n').trim())] : [];
  let hasPreface = false;
  for (const [index, text] of lines.entries()) {
    if (text.startsWith('# ')) {
      yield* finished();
      section = { line: index + 1, title: text.slice(2), body: [] };
    } else if (section) {
      section.body.push(unescapeTitle(text));
    } else if (text.trim() !== '' && !hasPreface) {
      hasPreface = true;
      yield { line: index + 1, problem: 'text before the first title' };
    }
  }
  yield* finished();
}

/** A file that is one array. Its elements count as lines. Undefined if it is none. */
function readJsonArray(text: string): Iterable<FileDocument> | undefined {
  if (!text.trimStart().startsWith('[')) return undefined;
  try {
    const elements: unknown = JSON.parse(text);
    if (!Array.isArray(elements) || elements.length === 0) return undefined;
    return checkedObjects(elements);
  } catch {
    return undefined;
  }
}

function* checkedObjects(elements: readonly unknown[]): Generator<FileDocument> {
  for (const [index, element] of elements.entries()) yield checkedObject(index + 1, element);
}

function* readJsonLines(lines: readonly string[]): Generator<FileDocument> {
  for (const [index, text] of lines.entries()) {
    if (text.trim() !== '') yield readJsonLine(text, index + 1);
  }
}

function readJsonLine(text: string, line: number): FileDocument {
  // The parser's message would quote the line.
  try {
    return checkedObject(line, JSON.parse(text));
  } catch {
    return { line, problem: 'the line is not valid JSON' };
  }
}

function checkedObject(line: number, value: unknown): FileDocument {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { line, problem: 'the line is not a JSON object' };
  }
  const { title, body, wordings } = value as Record<string, unknown>;
  return checked(line, title, body, wordings);
}

function checked(line: number, title: unknown, body: unknown, wordings?: unknown): FileDocument {
  try {
    const content = { title: checkTitle(title), body: checkBody(body) };
    return { line, content: wordings == null ? content : { ...content, wordings: checkWordings(wordings) } };
  } catch (error) {
    if (error instanceof ApiError) return { line, problem: error.message };
    throw error;
  }
}

function checkWordings(given: unknown): string[] {
  if (!Array.isArray(given)) throw invalid('wordings', 'wordings must be an array of strings');
  if (given.length > WORDINGS_MAX)
    throw invalid('wordings', `wordings must not have more than ${WORDINGS_MAX} elements`);
  return given.map((text) => checkWording(text, 'a wording'));
}
