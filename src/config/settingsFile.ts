import { readFileSync } from 'node:fs';

/** The file that the settings come from, besides the environment. */
export interface SettingsFile {
  file: string;
  /** Another file with settings that is not read, because this one exists. */
  ignored: string | undefined;
  /** The numbers of lines that are neither a setting nor a comment. Node ignores them. */
  badLines: readonly number[];
}

const SETTING = /^\s*(?:export\s+)?[\w.-]+\s*=\s*(.*)$/;
const BLANK = /^\s*(#.*)?$/;

/** Never shows what is in a line: it may be a part of a secret. */
export function findBadLines(file: string): number[] {
  const bad: number[] = [];
  /** A value in quotes may have several lines. */
  let quote: string | undefined;
  for (const [index, line] of readFileSync(file, 'utf8').split(/\r?\n/).entries()) {
    if (quote !== undefined) {
      if (line.includes(quote)) quote = undefined;
      continue;
    }
    const value = SETTING.exec(line)?.[1];
    if (value === undefined && !BLANK.test(line)) bad.push(index + 1);
    const first = value?.[0];
    if (first && `"'\``.includes(first) && !value.slice(1).includes(first)) quote = first;
  }
  return bad;
}

/** What is probably a mistake. The server logs it at its start, and the doctor shows it. */
export function settingsFileRisks(found: SettingsFile | undefined): { message: string; fix: string }[] {
  if (!found) return [];
  const { file, ignored, badLines } = found;
  const risks = badLines.map((line) => ({
    message: `Line ${line} of ${file} has no effect: it is neither a setting nor a comment.`,
    fix: 'Write NAME=value.',
  }));
  if (ignored !== undefined) {
    risks.push({
      message: `${ignored} is not read, because ${file} exists.`,
      fix: `Delete ${file}, or run this in another folder.`,
    });
  }
  return risks;
}
