import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.ts';

/** One fenced block of a page. */
export interface Sample {
  page: string;
  /** The line of its first line of text. */
  line: number;
  language: string;
  text: string;
}

export const PAGES: readonly string[] = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...globSync('docs/*.md', { cwd: root }).sort(),
];

export const readPage = (page: string) => readFileSync(join(root, page), 'utf8');

export function samplesOf(page: string): Sample[] {
  const samples: Sample[] = [];
  let open: Sample | undefined;
  for (const [index, line] of readPage(page).split('\n').entries()) {
    const fence = /^ *```(\w*)/.exec(line);
    if (!fence) {
      if (open) open.text += `${line}\n`;
    } else if (open) {
      samples.push(open);
      open = undefined;
    } else {
      open = { page, line: index + 2, language: fence[1]!, text: '' };
    }
  }
  if (open) throw new Error(`${page}:${open.line}: this sample is not closed`);
  return samples;
}

/** The text of a page without its samples. */
export const proseOf = (page: string) => readPage(page).replace(/^ *```[\s\S]*?^ *```/gm, '');

export const titleOf = ({ page, line, language, text }: Sample) =>
  `${page}:${line} ${language}: ${text.split('\n', 1)}`;
