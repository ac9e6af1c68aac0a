import type { CopyStep, OnProgress } from '../../database/copy/copy.ts';
import { createProgress } from '../terminal.ts';

/** Without a terminal, a line is written this often. */
const LINE_EVERY_MS = 10_000;

const DOING: Readonly<Record<CopyStep['doing'], string>> = {
  copying: 'Copying',
  finishing: 'Building',
  comparing: 'Checking',
};

/** Shows how far a command has got, on standard error: a bar on a terminal, otherwise a line now and then. */
export async function withProgress<T>(
  json: boolean,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const bar = process.stderr.isTTY === true;
  const progress = createProgress({ bar: bar && !json });
  let shownAt = performance.now();
  let doing: string | undefined;
  try {
    return await work((step) => {
      const text = `${DOING[step.doing]} ${step.what}`;
      progress.show(text, step.of === 0 ? undefined : step.done / step.of);
      const isNew = doing !== step.doing;
      if (bar || json || (!isNew && performance.now() - shownAt < LINE_EVERY_MS)) return;
      doing = step.doing;
      shownAt = performance.now();
      const percent = step.of === 0 ? 0 : Math.min(100, Math.round((100 * step.done) / step.of));
      progress.note(`${text}: ${percent}%`);
    });
  } finally {
    progress.end();
  }
}
