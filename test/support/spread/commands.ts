import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from '../../../src/cli/program.ts';
import { settingsOf } from '../command.ts';
import { createKey } from '../machineKeys.ts';
import { AURORA, type Deskbell, QUESTION, raise } from '../server.ts';

const AT_ONCE = 8;
const PASSWORD = 'quiet lemon harbour';

/** What runs as one statement if it comes at the same moment, and the test phone. */
export async function useTogether(deskbell: Deskbell): Promise<void> {
  const token = await deskbell.signIn();
  const addresses = await Promise.all(Array.from({ length: AT_ONCE }, () => raise(deskbell, token)));
  const body = { answer: 'Yes.' };
  await Promise.all(addresses.map((path) => deskbell.call('POST', `${path}/answer`, { token, body })));
  await deskbell.call('POST', '/api/v1/simulator/1', { token, body: { text: 'Hello?' } });
  await deskbell.call('GET', '/api/v1/simulator/1', { token });
  await deskbell.allSent();
}

/** The commands of the operator that change or read rows, in this process, so that their statements are recorded. */
export async function useCommands(deskbell: Deskbell): Promise<void> {
  const run = (line: string, input?: string) => runCommand(deskbell, line.split(' '), input);
  const file = (name: string) => join(deskbell.config.dataDir, `${name}.jsonl`);
  const key = await createKey(deskbell);
  const address = await raise(deskbell, key, {
    ...QUESTION,
    context: { question: 'Q?', lead_phone: '+34611223344' },
  });
  await deskbell.call('POST', `${address}/answer`, {
    token: await deskbell.signIn(),
    body: { answer: 'Yes.' },
  });
  await deskbell.call('GET', '/api/v1/notification/', { token: key });

  for (const line of [
    'db status',
    'keys list',
    'keys status',
    'merchant list',
    'user list',
    'audit list --merchant 1',
  ])
    await run(line);
  await run('merchant set 1 --country ES --deliver deskbell --confident learned');
  await run(`user add --email one@aurora.example --name One --merchant 1 --role user`, `${PASSWORD}\n`);
  await run('user role one@aurora.example owner');
  await run('user password one@aurora.example', `${PASSWORD} too\n`);
  await changeOwnPassword(deskbell, 'one@aurora.example', `${PASSWORD} too`);
  await run('user disable one@aurora.example');
  await run('user enable one@aurora.example');
  await run('user reset-factors one@aurora.example');
  await run(`user export ${AURORA.email} ${file('user')}`);
  await run('user delete one@aurora.example --yes');
  const { id: added } = await run('key add Program --merchant 1 --days 3');
  await run('key list --merchant 1');
  await run(`key revoke ${added} --merchant 1`);
  await run('conversation add --merchant 1 --name Ida --phone +34611223344 --reference ida');
  await run('conversation list --merchant 1');
  await run(`conversation export 1 ${file('customer')} --merchant 1`);
  await run('knowledge export --merchant 1');
  await run('channel show --merchant 1');
  await run('channel set simulator --merchant 1');
  await run('channel unset --merchant 1');
  await run('channel limit 30 --merchant 1');
  await run('channel resume');
  const deliveries = await run('delivery list --merchant 1');
  await run(`delivery show ${deliveries[0].id} --merchant 1`);
  await run('delivery cancel --all --state failed --merchant 1');
  await run('delivery retry --all --state cancelled --merchant 1');
  await run(`merchant export 2 ${file('merchant')}`);
  await withClock(deskbell, run('merchant delete 2 --yes'));
  await run('keys rotate --revoke');
}

async function changeOwnPassword(deskbell: Deskbell, email: string, password: string): Promise<void> {
  const token = await deskbell.signIn(email, password);
  const body = { password, new_password: 'seven brave umbrellas' };
  const { status, text } = await deskbell.call('POST', '/api/v1/auth/password', { token, body });
  assert.equal(status, 200, text);
}

/** The last step of an erasure comes half a minute later. */
async function withClock({ clock }: Deskbell, ended: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    clock.jump(31);
    await sleep(100);
  }
  await over;
}

// biome-ignore lint/suspicious/noExplicitAny: results have any shape
async function runCommand(deskbell: Deskbell, words: readonly string[], input = ''): Promise<any> {
  let printed = '';
  let problem = '';
  const { env, stdin } = process;
  process.env = { ...env, ...settingsOf(deskbell) };
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  try {
    const code = await runProgram([...words, '--json'], {
      async print(text) {
        printed += text;
      },
      printError(text) {
        problem += text;
      },
      loadSettings() {},
    });
    assert.equal(code, 0, `${words.join(' ')}: ${problem}`);
  } finally {
    process.env = env;
    Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  }
  return printed.startsWith('{') || printed.startsWith('[') ? JSON.parse(printed) : printed;
}
