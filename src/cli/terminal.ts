import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { Failure } from './command.ts';

export interface Column {
  title: string;
  // biome-ignore lint/suspicious/noExplicitAny: each list knows its own rows
  value: (row: any) => string | number | null;
}

const GAP = '   ';

/** Formats the rows of a page. The first page has the titles and sets the column widths. */
export function createTable(columns: readonly Column[]): (rows: readonly object[]) => string {
  let widths: number[] | undefined;
  return (rows) => {
    const cells = rows.map((row) => columns.map(({ value }) => printable(String(value(row) ?? '–'))));
    const titles = widths === undefined ? [columns.map(({ title }) => title)] : [];
    const lines = [...titles, ...cells];
    widths ??= columns.map((_, index) => Math.max(...lines.map((line) => widthOf(line[index]!))));
    const fixed = widths;
    return lines
      .map((line) =>
        line
          .map((cell, index) => pad(cell, fixed[index]!))
          .join(GAP)
          .trimEnd(),
      )
      .join('\n');
  };
}

/** Removes control characters: other people's texts must not control the terminal. */
function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ');
}

const widthOf = (text: string) => [...text].length;
const pad = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** "1 conversation", "2,000 conversations". */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}

export const megabytes = (bytes: number): string =>
  `${(bytes / 1_000_000).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;

/** "2026-01-15 09:30" in UTC. */
export const minute = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 16)}`;

/** Reads standard input line by line. A terminal shows a prompt and hides what is typed. */
export function openHiddenInput() {
  const atTerminal = process.stdin.isTTY === true;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface(
    atTerminal
      ? { input: process.stdin, output: silent, terminal: true, historySize: 0 }
      : { input: process.stdin, crlfDelay: Infinity },
  );
  lines.once('SIGINT', () => lines.close());
  const reading = lines[Symbol.asyncIterator]();
  return {
    atTerminal,
    // Prompts go to standard error, because standard output is for the result.
    async ask(question: string, missing: string): Promise<string> {
      if (atTerminal) process.stderr.write(question);
      const { value, done } = await reading.next();
      if (atTerminal) process.stderr.write('\n');
      if (done) throw new Failure(atTerminal ? 'Nothing was changed.' : missing);
      return value;
    },
    close() {
      lines.close();
      process.stdin.destroy();
    },
  };
}

/** Asks twice at a terminal; otherwise reads the first line of standard input. */
export async function readPassword(): Promise<string> {
  const { atTerminal, ask, close } = openHiddenInput();
  const missing = 'No password on standard input.';
  try {
    const password = await ask('Password: ', missing);
    if (atTerminal && (await ask('Repeat the password: ', missing)) !== password) {
      throw new Failure('The two passwords differ. Nothing was changed.');
    }
    return password;
  } finally {
    close();
  }
}

/** Says once, on standard error, why a command waits: otherwise it seems to hang. */
export function noticeWait(text: string): () => void {
  let isSaid = false;
  return () => {
    if (!isSaid) process.stderr.write(`${text}\n`);
    isSaid = true;
  };
}

export interface Progress {
  show(text: string, fraction: number | undefined): void;
  /** Prints a line above the bar. */
  note(line: string): void;
  end(): void;
}

const BAR_WIDTH = 24;
const SHOW_EVERY_MS = 100;

/** A progress bar on a terminal; elsewhere only the notes. */
export function createProgress({ bar }: { bar: boolean }): Progress {
  let shownAt = 0;
  let shown = false;
  const clear = () => {
    if (shown) process.stderr.write('\r\u001b[K');
    shown = false;
  };
  return {
    show(text, fraction) {
      if (!bar || performance.now() - shownAt < SHOW_EVERY_MS) return;
      shownAt = performance.now();
      const filled = Math.round(Math.min(1, fraction ?? 0) * BAR_WIDTH);
      const drawing = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} `;
      process.stderr.write(`\r\u001b[K${fraction === undefined ? '' : drawing}${text}`);
      shown = true;
    },
    note(line) {
      clear();
      process.stderr.write(`${line}\n`);
    },
    end: clear,
  };
}
