import type { Database } from '../../database/database.ts';
import { invalid, tokenInvalid } from '../../errors.ts';
import { createFairSlots } from '../../http/limits/fairSlots.ts';
import { runInThread } from '../../http/thread.ts';
import type { Vault } from '../../secrets.ts';
import { attemptOf } from '../attempts.ts';
import { userAt } from '../events.ts';
import type { Factors } from '../factors/factors.ts';
import type { FactorCaller } from '../factors/prove.ts';
import { changeOwnPassword } from '../users.ts';
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

/** Checking a password takes a second of computing and 70 MB, so it has a thread, which ends afterwards. */
const THREAD = new URL('./policyThread.ts', import.meta.url);
const THREADS_WAITING_MAX = 8;

export function createChangeOwnPassword(parts: OwnPasswordParts): ChangeOwnPassword {
  const { database, factors, passwords, vault, merchantNameOf, now } = parts;
  // Each user has a turn: whoever repeats it waits behind the others.
  const withThread = createFairSlots(1, THREADS_WAITING_MAX);
  return async (caller, { password, new_password }) => {
    const user = await factors.prove(caller, { password });
    if (new_password === password) {
      throw invalid('new_password', 'This is your current password. Choose another one.');
    }
    const shop = user.merchant_id === null ? undefined : await merchantNameOf(user.merchant_id);
    const known = [user.email, user.name, shop ?? ''];
    const problem = await withThread({ group: String(user.id), isKnown: true }, () =>
      runInThread<string | undefined>(THREAD, { password: new_password, known }),
    );
    if (problem !== undefined) throw invalid('new_password', problem);
    const { userId, sessionId, address } = caller;
    const changed = await changeOwnPassword(database, {
      userId,
      sessionId,
      place: attemptOf(user.email, address, now(), vault).place,
      formerHash: user.password_hash,
      passwordHash: await passwords.hash(new_password),
      at: now(),
      by: userAt(userId, address),
    });
    if (!changed) throw tokenInvalid();
  };
}
