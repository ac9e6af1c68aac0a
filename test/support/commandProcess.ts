/** Runs commands for test/support/command.ts, one after another, each with its own settings and input. */
import { Readable } from 'node:stream';
import { runProgram } from '../../src/cli/program.ts';
import { loadEnvFile } from '../../src/config.ts';

export interface CommandCall {
  args: readonly string[];
  env: Record<string, string>;
  input: string;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

process.on('message', async ({ args, env, input }: CommandCall) => {
  const result: CommandResult = { code: null, stdout: '', stderr: '' };
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  // Progress is written here.
  process.stderr.write = (text) => {
    result.stderr += text;
    return true;
  };
  result.code = await runProgram(args, {
    async print(text) {
      result.stdout += `${text}\n`;
    },
    printError(text) {
      result.stderr += `${text}\n`;
    },
    loadSettings: loadEnvFile,
  });
  process.send!(result);
});
process.on('disconnect', () => process.exit());
