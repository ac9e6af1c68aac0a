import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LoginBody, LoginTokens } from '../contract/auth.ts';
import type { Database } from '../database/database.ts';
import { invalidCredentials, mfaRequired, rateLimited, wrongOtp } from '../errors.ts';
import { shortAddress } from '../http/address.ts';
import type { Vault } from '../secrets.ts';
import {
  type Account,
  type Attempt,
  attemptOf,
  countFailure,
  findAccount,
  rememberPlace,
} from './attempts.ts';
import { recordFor } from './events.ts';
import type { Factors } from './factors/factors.ts';
import { createFairSlots } from './passwords/fairSlots.ts';
import type { Passwords } from './passwords/passwords.ts';
import { endOldestSessions, openSession } from './sessions/store.ts';
import type { Tokens } from './tokens.ts';

export interface SignInParts {
  database: Database;
  tokens: Tokens;
  passwords: Passwords;
  vault: Vault;
  log: { warn(object: object, message: string): void };
  factors: Factors;
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
  sessionsPerUser: number;
  now: () => Date;
}

/** Programs receive the refresh token in a body, the dashboard in a cookie. */
export interface SignIn {
  /** Opens a session, or throws the reason for refusing it. */
  begin(credentials: LoginBody, address: string): Promise<LoginTokens>;
  /** Opens a session for an account that has proved who it is, at a place that is known or not. */
  open(
    account: Account,
    attempt: Attempt,
    lastAtPlace: string | null,
    options?: { isPasskey: boolean },
  ): Promise<LoginTokens>;
}

const LOOK_UPS_AT_ONCE = 4;

export function createSignIn(parts: SignInParts): SignIn {
  const { database, tokens, passwords, vault, factors, log, accessTtlSeconds, refreshTtlSeconds } = parts;
  const { sessionsPerUser, now } = parts;

  /**
   * An attacker above the limits still causes a query for each request. Only a few run at a time, so that others get a
   * database connection, and in each turn of the event loop, so that others get a turn.
   */
  const withLookUpSlot = createFairSlots(LOOK_UPS_AT_ONCE, Number.POSITIVE_INFINITY);
  const lookUp = (attempt: Attempt) =>
    withLookUpSlot({ group: attempt.addressGroup, isKnown: false }, async () => {
      await nextTurn();
      return findAccount(database, attempt);
    });

  /** Above the limit, a correct and a wrong password get the same response. */
  const refusalOf = async (attempt: Attempt, otherwise = invalidCredentials()) => {
    const { retryAfterSeconds } = await findAccount(database, attempt);
    return retryAfterSeconds > 0 ? rateLimited(retryAfterSeconds) : otherwise;
  };

  async function open(
    account: Account,
    attempt: Attempt,
    lastAtPlace: string | null,
    { isPasskey } = { isPasskey: false },
  ): Promise<LoginTokens> {
    const session = {
      id: randomUUID(),
      userId: account.id,
      passwordHash: account.password_hash,
      secondFactorAt: account.second_factor_at,
      expiresAt: new Date(attempt.at.getTime() + refreshTtlSeconds * 1000),
      address: shortAddress(attempt.address),
    };
    const opened = await database.transaction(async (tx) => {
      const isOpen = await openSession(tx, session, attempt, {
        isKnown: lastAtPlace !== null,
        isPasskey,
      });
      if (isOpen) await recordFor(tx, 'sign_in.succeeded', account, attempt.address, now());
      return isOpen;
    });
    if (!opened) throw await refusalOf(attempt);
    // After the commit: of several sign-ins at once, the last one sees all of them.
    await endOldestSessions(database, account, sessionsPerUser, attempt.at);

    const subject = { userId: account.id, merchantId: account.merchant_id, role: account.role };
    const [access_token, refresh_token] = await Promise.all([
      tokens.sign('access', { ...subject, sessionId: session.id }, randomUUID()),
      tokens.sign('refresh', subject, session.id),
      // The session is open: a place that cannot be stored must not lose it.
      rememberPlace(database, account.id, attempt, lastAtPlace).catch((err) =>
        log.warn({ err }, 'cannot remember from where a user signed in'),
      ),
    ]);
    return { access_token, refresh_token, token_type: 'bearer', expires_in: accessTtlSeconds };
  }

  return {
    async begin({ email, password, otp }, address) {
      const attempt = attemptOf(email, address, now(), vault);
      const { account, retryAfterSeconds, lastAtPlace } = await lookUp(attempt);
      if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds);

      const isKnown = lastAtPlace !== null;
      const isRight = await passwords.matches(password, account?.password_hash, {
        group: attempt.addressGroup,
        isKnown,
      });
      if (!account || !isRight || account.disabled_at !== null) {
        const counted = await countFailure(database, attempt, isKnown, account);
        throw counted ? invalidCredentials() : await refusalOf(attempt);
      }

      if (account.second_factor_at !== null) {
        // A missing code is not a failed attempt.
        if (!otp) throw await refusalOf(attempt, mfaRequired());
        if (!(await factors.acceptsOtp(account.id, otp))) {
          const counted = await countFailure(database, attempt, isKnown, account);
          throw counted ? wrongOtp() : await refusalOf(attempt);
        }
      }
      return open(account, attempt, lastAtPlace);
    },

    open,
  };
}
