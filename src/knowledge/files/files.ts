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

export function parseDocuments(text: string, format: FileFormat): FileDocument[] {
  const plain = text.replace(/^\ufeff/, '');
  if (format === 'csv') return parseCsv(plain);
  const lines = plain.split(/\r?\n/);
  if (format === 'md') return parseMarkdown(lines);
  return parseJsonArray(plain) ?? lines.flatMap(parseJsonLine);
}

/** Markdown has no wordings. `isContinued`: other documents were before these, so there is no header. */
export function formatDocuments(
  documents: readonly FileContent[],
  format: FileFormat,
  { isContinued = false } = {},
): string {
  const texts = documents.map(({ title, body, wordings = [] }) => {
    if (format === 'md') return `# ${title}\n\n${escapeTitles(body.trim())}\n`;
    if (format === 'csv') return [title, body, wordings.join('\n')].map(csvField).join(',');
    return JSON.stringify({ title, body, ...(wordings.length > 0 && { wordings }) });
  });
  if (format === 'csv' && !isContinued) texts.unshift(CSV_COLUMNS.join(','));
  return texts.join('\n');
}

const CSV_COLUMNS = ['title', 'body', 'wordings'];
const csvField = (text: string) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Columns `title` and `body`, and if you like `wordings`: one a line, or separated by a vertical bar. */
function parseCsv(text: string): FileDocument[] {
  const documents: FileDocument[] = [];
  let isKnown = true;
  const reader = createCsvReader((columns) => {
    isKnown = columns.includes('title') && columns.includes('body');
  });
  for (const record of [...reader.push(text), ...reader.end()]) {
    if ('problem' in record) documents.push(record);
    else {
      const { title, body, wordings = '' } = record.fields as Record<string, string | undefined>;
      const others = wordings.split(/[\n|]/).filter((each) => each.trim() !== '');
      documents.push(checked(record.line, title ?? '', body ?? '', others.length > 0 ? others : undefined));
    }
  }
  return isKnown ? documents : [{ line: 1, problem: 'the first line must name the columns title and body' }];
}

// In a body, a line that looks like a title gets a backslash in front.
const escapeTitles = (body: string) => body.replace(/^(\\*# )/gm, '\\$1');
const unescapeTitle = (line: string) => line.replace(/^\\(\\*# )/, '$1');

/** A line that starts with `# ` starts a document. */
function parseMarkdown(lines: readonly string[]): FileDocument[] {
  const documents: FileDocument[] = [];
  let section: { line: number; title: string; body: string[] } | undefined;
  const finish = () => {
    if (section) documents.push(checked(section.line, section.title, section.body.join('\n').trim()));
  };
  for (const [index, text] of lines.entries()) {
    if (text.startsWith('# ')) {
      finish();
      section = { line: index + 1, title: text.slice(2), body: [] };
    } else if (section) {
      section.body.push(unescapeTitle(text));
    } else if (text.trim() !== '' && documents.length === 0) {
      documents.push({ line: index + 1, problem: 'text before the first title' });
    }
  }
  finish();
  return documents;
}

/** A file that is one array. Its elements count as lines. Undefined if it is none. */
function parseJsonArray(text: string): FileDocument[] | undefined {
  if (!text.trimStart().startsWith('[')) return undefined;
  try {
    const elements: unknown = JSON.parse(text);
    if (!Array.isArray(elements) || elements.length === 0) return undefined;
    return elements.map((element: unknown, index) => checkedObject(index + 1, element));
  } catch {
    return undefined;
  }
}

function parseJsonLine(text: string, index: number): FileDocument[] {
  const line = index + 1;
  if (text.trim() === '') return [];
  // The parser's message would quote the line.
  try {
    return [checkedObject(line, JSON.parse(text))];
  } catch {
    return [{ line, problem: 'the line is not valid JSON' }];
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
