import { ApiError } from '../errors.ts';
import { type Content, checkBody, checkTitle } from './texts.ts';

export const FILE_FORMATS = ['md', 'jsonl'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** A document of a file with the number of its first line, or why it cannot be used. */
export type FileDocument = { line: number; content: Content } | { line: number; problem: string };

export function parseDocuments(text: string, format: FileFormat): FileDocument[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  return format === 'md' ? parseMarkdown(lines) : lines.flatMap(parseJsonLine);
}

export function formatDocuments(documents: readonly Content[], format: FileFormat): string {
  const texts = documents.map(({ title, body }) =>
    format === 'md' ? `# ${title}\n\n${escapeTitles(body.trim())}\n` : JSON.stringify({ title, body }),
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
    const { title, body } = value as Record<string, unknown>;
    return [checked(line, title, body)];
  } catch {
    return [{ line, problem: 'the line is not valid JSON' }];
  }
}

function checked(line: number, title: unknown, body: unknown): FileDocument {
  try {
    return { line, content: { title: checkTitle(title), body: checkBody(body) } };
  } catch (error) {
    if (error instanceof ApiError) return { line, problem: error.message };
    throw error;
  }
}
