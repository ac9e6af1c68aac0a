import { loadEnvFile } from '../config.ts';
import { printProblem } from '../processOutput.ts';
import { runProgram } from './program.ts';

// `… | head` closes the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

/** These run for long, and their output is a log. */
const isService = ['serve', 'work'].includes(process.argv[2] ?? '');

process.exitCode = await runProgram(process.argv.slice(2), {
  print: (text) => new Promise((resolve) => process.stdout.write(`${text}\n`, () => resolve())),
  printError: isService ? printProblem : (text) => console.error(text),
  loadSettings: loadEnvFile,
});
