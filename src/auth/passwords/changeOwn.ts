import type { Database } from '../../database/database.ts';
import { invalid, tokenInvalid } from '../../errors.ts';
import type { Vault } from '../../secrets.ts';
import { attemptOf } from '../attempts.ts';
import { userAt } from '../events.ts';
import type { Factors } from '../factors/factors.ts';
import type { FactorCaller } from '../factors/prove.ts';
import { changeOwnPassword } from '../users.ts';
import type { CheckPolicy } from './checkPolicy.ts';
import type { Passwords } from './passwords.ts';

interface OwnPasswordParts {
  database: Database;
  factors: Factors;
  passwords: Passwords;
  checkPolicy: CheckPolicy;
  vault: Vault;
  merchantNameOf: (merchantId: number) => Promise<string | undefined>;
  now: () => Date;
}

/** Changes the caller's password, after the current one was given. The other sessions of the user end. */
export type ChangeOwnPassword = (
  caller: FactorCaller,
  given: { password: string; new_password: string },
) => Promise<void>;

export function createChangeOwnPassword(parts: OwnPasswordParts): ChangeOwnPassword {
  const { database, factors, passwords, checkPolicy, vault, merchantNameOf, now } = parts;
  return async (caller, { password, new_password }) => {
    const user = await factors.prove(caller, { password });
    if (new_password === password) {
      throw invalid('new_password', 'This is your current password. Choose another one.');
    }
    const shop = user.merchant_id === null ? undefined : await merchantNameOf(user.merchant_id);
    const known = [user.email, user.name, shop ?? ''];
    const problem = await checkPolicy(new_password, known, { group: String(user.id), isKnown: true });
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
