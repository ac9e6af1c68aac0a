import { ApiError, invalid } from '../../errors.ts';
import { type Content, checkBody, checkTitle, checkWording } from '../documents/texts.ts';
import { WORDINGS_MAX } from '../documents/wordingRows.ts';

export const FILE_FORMATS = ['md', 'jsonl'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Without `wordings`, an import leaves those of the document as they are. */
export interface FileContent extends Content {
  wordings?: readonly string[];
}

/** A document of a file with the number of its first line, or why it cannot be used. */
export type FileDocument = { line: number; content: FileContent } | { line: number; problem: string };

export function parseDocuments(text: string, format: FileFormat): FileDocument[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  return format === 'md' ? parseMarkdown(lines) : lines.flatMap(parseJsonLine);
}

/** Markdown has no wordings. */
export function formatDocuments(documents: readonly FileContent[], format: FileFormat): string {
  const texts = documents.map(({ title, body, wordings = [] }) =>
    format === 'md'
      ? `# ${title}\n\n${escapeTitles(body.trim())}\n`
      : JSON.stringify({ title, body, ...(wordings.length > 0 && { wordings }) }),
  );
  return texts.join('\n');
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

function parseJsonLine(text: string, index: number): FileDocument[] {
  const line = index + 1;
  if (text.trim() === '') return [];
  // The parser's message would quote the line.
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return [{ line, problem: 'the line is not a JSON object' }];
    }
    const { title, body, wordings } = value as Record<string, unknown>;
    return [checked(line, title, body, wordings)];
  } catch {
    return [{ line, problem: 'the line is not valid JSON' }];
  }
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
