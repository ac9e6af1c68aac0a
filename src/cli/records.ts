/** One record of a file by the number of its first line, or why it is none. */
export type FileRecord =
  | { line: number; fields: Readonly<Record<string, unknown>> }
  | { line: number; problem: string };

/** Is given a file piece by piece and keeps no more of it than one record. */
export interface RecordReader {
  push(text: string): FileRecord[];
  end(): FileRecord[];
}

/** Nothing that is meant is longer; a quote that was never closed is. */
export const RECORD_LENGTH_MAX = 65_536;

/** One JSON object a line. */
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
    // The parser's own message would repeat the line.
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
