import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The program that tests start as a process. `npm test` bundles it once (`TEST_PROGRAM`): a server then starts with 1.0
 * second of CPU instead of 1.7, a command with 0.2 instead of 0.4. The mutations and the full faults start the source.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const { TEST_PROGRAM: bundled } = process.env;

export const MAIN = bundled ? join(bundled, 'lib/cli.js') : join(root, 'src/cli/main.ts');
/** See `run` in test/support/command.ts. */
export const COMMAND_PROCESS = bundled
  ? join(bundled, 'lib/commandProcess.js')
  : join(root, 'test/support/commandProcess.ts');
/** The cache halves the start of the source. For the bundle it changes nothing. */
export const QUICK_START: Record<string, string> = bundled
  ? {}
  : { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node') };
if (process.env.TEST_STATEMENTS) QUICK_START.TEST_STATEMENTS = process.env.TEST_STATEMENTS;
