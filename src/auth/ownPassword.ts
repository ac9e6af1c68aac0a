import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Database } from '../database/database.ts';
import { invalid, serviceUnavailable } from '../errors.ts';
import type { FactorCaller, Factors } from './factors/factors.ts';
import type { Passwords } from './passwords.ts';
import { changePassword } from './store.ts';

interface OwnPasswordParts {
  database: Database;
  factors: Factors;
  passwords: Passwords;
  merchantNameOf: (merchantId: number) => Promise<string | undefined>;
  now: () => Date;
}

/** Changes the caller's password, after the current one was given. The other sessions of the user end. */
export type ChangeOwnPassword = (
  caller: FactorCaller,
  given: { password: string; new_password: string },
) => Promise<void>;

export function createChangeOwnPassword(parts: OwnPasswordParts): ChangeOwnPassword {
  const { database, factors, passwords, merchantNameOf, now } = parts;
  const problemOf = createJudge();
  return async (caller, { password, new_password }) => {
    const user = await factors.prove(caller, { password });
    const shop = user.merchant_id === null ? undefined : await merchantNameOf(user.merchant_id);
    const problem = await problemOf(new_password, [user.email, user.name, shop ?? '']);
    if (problem !== undefined) throw invalid('new_password', problem);
    const { userId, sessionId, address } = caller;
    const by = { kind: 'user', userId, address } as const;
    await changePassword(database, userId, await passwords.hash(new_password), now(), by, sessionId);
  };
}

const WAITING_MAX = 8;

/**
 * Judging a password takes a second of computing and 70 MB, so it has a thread of its own, which ends afterwards. One
 * runs at a time.
 */
function createJudge(): (password: string, known: readonly string[]) => Promise<string | undefined> {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (password, known) => {
    if (waiting >= WAITING_MAX) throw serviceUnavailable();
    waiting += 1;
    const judged = last.then(() => judge(password, known));
    last = judged
      .catch(() => {})
      .finally(() => {
        waiting -= 1;
      });
    return judged;
  };
}

async function judge(password: string, known: readonly string[]): Promise<string | undefined> {
  const thread = new Worker(new URL('./passwordPolicyThread.ts', import.meta.url), {
    workerData: { password, known },
  });
  try {
    const [problem] = (await once(thread, 'message')) as [string | undefined];
    return problem;
  } finally {
    await thread.terminate();
  }
}
