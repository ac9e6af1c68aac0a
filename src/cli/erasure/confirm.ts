import { createInterface } from 'node:readline/promises';
import { Failure } from '../command.ts';

export const YES = { type: 'boolean', about: 'Do not ask' } as const;

/** Whoever deletes something must type its name, at a terminal or on standard input. */
export async function confirm(question: string, expected: string, yes: boolean): Promise<void> {
  if (yes) return;
  const atTerminal = process.stdin.isTTY === true;
  // On standard error, because standard output is for the result.
  process.stderr.write(`${question}\nIt cannot be undone. Type ${JSON.stringify(expected)} to go on: `);
  const lines = createInterface({ input: process.stdin });
  try {
    for await (const line of lines) {
      if (line.trim() === expected) return;
      break;
    }
  } finally {
    lines.close();
    process.stdin.destroy();
  }
  throw new Failure(
    `That is not what was asked for. Nothing was changed.${atTerminal ? '' : ' Without a terminal, use --yes.'}`,
  );
}
