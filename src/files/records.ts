/** A record of a file with the number of its first line, or why it cannot be read. */
export type FileRecord =
  | { line: number; fields: Readonly<Record<string, unknown>> }
  | { line: number; problem: string };

/** Reads a file in chunks and keeps at most one record in memory. */
export interface RecordReader {
  push(text: string): FileRecord[];
  end(): FileRecord[];
}

/** Real records are shorter. A quote that is never closed makes a longer one. */
export const RECORD_LENGTH_MAX = 65_536;

/** One JSON object per line. */
export function createJsonLinesReader(): RecordReader {
  let rest = '';
  let line = 0;
  let tooLong = false;

  function readLine(text: string): FileRecord[] {
    line += 1;
    if (tooLong || text.length > RECORD_LENGTH_MAX) {
      tooLong = false;
      return [{ line, problem: 'the line is too long' }];
    }
    if (text.trim() === '') return [];
    // The parser's message would quote the line.
    try {
      const fields: unknown = JSON.parse(text);
      if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) {
        return [{ line, fields: fields as Record<string, unknown> }];
      }
      return [{ line, problem: 'the line is not a JSON object' }];
    } catch {
      return [{ line, problem: 'the line is not valid JSON' }];
    }
  }

  return {
    push(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      const records = lines.flatMap(readLine);
      if (rest.length > RECORD_LENGTH_MAX) {
        rest = '';
        tooLong = true;
      }
      return records;
    },
    end: () => readLine(rest),
  };
}
