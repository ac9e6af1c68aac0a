import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Database } from '../../database/database.ts';
import { invalid, tokenInvalid } from '../../errors.ts';
import type { Vault } from '../../secrets.ts';
import { attemptOf } from '../attempts.ts';
import { userAt } from '../events.ts';
import type { FactorCaller, Factors } from '../factors/factors.ts';
import { changePassword } from '../users.ts';
import { createFairSlots } from './fairSlots.ts';
import type { Passwords } from './passwords.ts';

interface OwnPasswordParts {
  database: Database;
  factors: Factors;
  passwords: Passwords;
  vault: Vault;
  merchantNameOf: (merchantId: number) => Promise<string | undefined>;
  now: () => Date;
}

/** Changes the caller's password, after the current one was given. The other sessions of the user end. */
export type ChangeOwnPassword = (
  caller: FactorCaller,
  given: { password: string; new_password: string },
) => Promise<void>;

const THREADS_WAITING_MAX = 8;

export function createChangeOwnPassword(parts: OwnPasswordParts): ChangeOwnPassword {
  const { database, factors, passwords, vault, merchantNameOf, now } = parts;
  // Each user has a turn: whoever repeats it waits behind the others.
  const withThread = createFairSlots(1, THREADS_WAITING_MAX);
  return async (caller, { password, new_password }) => {
    const user = await factors.prove(caller, { password });
    const shop = user.merchant_id === null ? undefined : await merchantNameOf(user.merchant_id);
    const problem = await withThread({ group: String(user.id), isKnown: true }, () =>
      checkInThread(new_password, [user.email, user.name, shop ?? '']),
    );
    if (problem !== undefined) throw invalid('new_password', problem);
    const { userId, sessionId, address } = caller;
    const { place } = attemptOf(user.email, address, now(), vault);
    const own = { formerHash: user.password_hash, sessionId, place };
    const passwordHash = await passwords.hash(new_password);
    const changed = await changePassword(database, userId, passwordHash, now(), userAt(userId, address), own);
    if (!changed) throw tokenInvalid();
  };
}

/** Takes a second of computing and 70 MB, so it has a thread of its own, which ends afterwards. */
async function checkInThread(password: string, known: readonly string[]): Promise<string | undefined> {
  const thread = new Worker(new URL('./policyThread.ts', import.meta.url), {
    workerData: { password, known },
  });
  try {
    const [problem] = (await once(thread, 'message')) as [string | undefined];
    return problem;
  } finally {
    await thread.terminate();
  }
}
