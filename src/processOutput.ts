import { writeSync } from 'node:fs';
import type { Logger } from 'pino';
import { isProduction } from './config.ts';

/** In production every line of a server or worker is JSON, so that a log collector can read all of them. */

const STDOUT = 1;

/** Says why a program cannot start: at a terminal, and outside production, as text for a person. */
export function printProblem(text: string): void {
  if (!isProduction() || process.stderr.isTTY) {
    console.error(text);
    return;
  }
  const line = { level: 'fatal', time: new Date().toISOString(), msg: text };
  writeSync(STDOUT, `${JSON.stringify(line)}\n`);
}

/** Logs what Node would print as text: warnings, and the error that ends the process. */
export function logProcessEvents(log: Logger): void {
  if (!isProduction()) return;
  // Node's own listener prints them.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message, code }: Error & { code?: string }) =>
    log.warn({ name, code }, message),
  );
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'uncaught exception');
    process.exit(1);
  });
}
