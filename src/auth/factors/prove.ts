import type { Proof } from '../../contract/factors.ts';
import type { Database, Queries } from '../../database/database.ts';
import { proofRefused, required, tokenInvalid, userNotFound } from '../../errors.ts';
import type { Vault } from '../../secrets.ts';
import { attemptOf } from '../attempts.ts';
import { checkGuess } from '../checkGuess.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { useRecoveryCode } from './recoveryCodes.ts';
import { isTotpCode, plainCode, timeStepOf } from './totp/codes.ts';
import { findTotp, useTimeStep } from './totp/store.ts';

/** Who asks: the user of the access token, its session, and the address for the limit on failures. */
export interface FactorCaller {
  userId: number;
  sessionId: string | undefined;
  address: string;
}

export interface FactorUser {
  id: number;
  merchant_id: number | null;
  email: string;
  name: string;
}

export interface ProofParts {
  database: Database;
  vault: Vault;
  passwords: Passwords;
  now: () => Date;
}

export type Proofs = ReturnType<typeof createProofs>;

/** Checks who a caller is, before a change to the password or the factors. */
export function createProofs({ database, vault, passwords, now }: ProofParts) {
  async function userOf({ userId }: FactorCaller): Promise<FactorUser> {
    const user = await findUser(database, userId);
    if (!user) throw userNotFound();
    if (user.disabled_at !== null) throw tokenInvalid();
    return user;
  }

  /** Uses up a code of the authenticator app or a recovery code. */
  async function acceptsOtp(userId: number, otp: string): Promise<boolean> {
    const code = plainCode(otp);
    if (!isTotpCode(code)) return useRecoveryCode(database, userId, code);
    const totp = await findTotp(database, userId);
    if (totp?.confirmed_at == null) return false;
    const step = await timeStepOf(vault, { userId, sealedSecret: totp.sealed_secret }, code, now());
    return step !== undefined && useTimeStep(database, userId, step);
  }

  /** Checks the password or a code again, with the same limits as signing in. */
  async function prove(
    caller: FactorCaller,
    { password, otp }: Proof,
  ): Promise<FactorUser & { password_hash: string }> {
    const user = await userOf(caller);
    if (!password && !otp) throw required('password');
    const attempt = attemptOf(user.email, caller.address, now(), vault);
    const requester = { group: `user ${user.id}`, isKnown: true };
    return checkGuess(database, attempt, async ({ account }) => {
      const isRight = password
        ? await passwords.matches(password, account?.password_hash, requester)
        : await acceptsOtp(user.id, otp!);
      return account && isRight
        ? { right: { ...user, password_hash: account.password_hash } }
        : { wrong: proofRefused(password ? 'password' : 'otp') };
    });
  }

  return { userOf, acceptsOtp, prove };
}

const findUser = (
  queries: Queries,
  userId: number,
): Promise<(FactorUser & { disabled_at: string | null }) | undefined> =>
  queries.one('select id, merchant_id, email, name, disabled_at from users where id = $1', [userId]);
