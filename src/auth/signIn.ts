import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LoginBody, LoginTokens, RefreshedToken } from '../contract/auth.ts';
import type { Database } from '../database/database.ts';
import { invalidCredentials, rateLimited, tokenInvalid, userNotFound } from '../errors.ts';
import type { Vault } from '../secrets.ts';
import { createFairSlots } from './fairSlots.ts';
import type { Passwords } from './passwords.ts';
import {
  type Attempt,
  attemptOf,
  endSession,
  findAccount,
  findSessionUser,
  openSession,
  recordFailure,
  rememberPlace,
} from './store.ts';
import type { Tokens } from './tokens.ts';

export interface SignInParts {
  database: Database;
  tokens: Tokens;
  passwords: Passwords;
  vault: Vault;
  log: { warn(object: object, message: string): void };
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
  now: () => Date;
}

/** Sessions. Programs receive the refresh token in a body, the dashboard in a cookie. */
export interface SignIn {
  /** Opens a session, or throws the reason for refusing it. */
  begin(credentials: LoginBody, address: string): Promise<LoginTokens>;
  renew(refreshToken: string): Promise<RefreshedToken>;
  end(refreshToken: string): Promise<void>;
}

const LOOK_UPS_AT_ONCE = 4;

export function createSignIn(parts: SignInParts): SignIn {
  const { database, tokens, passwords, vault, log, accessTtlSeconds, refreshTtlSeconds, now } = parts;

  const accessTokenFor = (user: { id: number; merchant_id: number | null; role: string }) =>
    tokens.sign('access', { userId: user.id, merchantId: user.merchant_id, role: user.role }, randomUUID());

  /**
   * An attacker above the limits still causes a query for each request. Only a few run at a time, so that others get a
   * database connection, and in each turn of the event loop, so that others get a turn.
   */
  const withLookUpSlot = createFairSlots(LOOK_UPS_AT_ONCE, Number.POSITIVE_INFINITY);
  const lookUp = (attempt: Attempt) =>
    withLookUpSlot({ ...attempt, isKnown: false }, async () => {
      await nextTurn();
      return findAccount(database, attempt);
    });

  /** Above the limit, a correct and a wrong password get the same response. */
  const refusalOf = async (attempt: Attempt) => {
    const { retryAfterSeconds } = await findAccount(database, attempt);
    return retryAfterSeconds > 0 ? rateLimited(retryAfterSeconds) : invalidCredentials();
  };

  /** The user and the session of a valid refresh token whose session has not ended. */
  const sessionOf = async (refreshToken: string) => {
    const { userId, tokenId } = await tokens.verify('refresh', refreshToken);
    const user = await findSessionUser(database, userId, tokenId);
    if (!user) throw userNotFound();
    if (user.session_id === null || user.disabled_at !== null) throw tokenInvalid();
    return { user, sessionId: tokenId };
  };

  return {
    async begin({ email, password }, address) {
      const attempt = attemptOf(email, address, now(), vault);
      const { account, retryAfterSeconds, lastAtPlace } = await lookUp(attempt);
      if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds);

      const isKnown = lastAtPlace !== null;
      const isRight = await passwords.matches(password, account?.password_hash, { ...attempt, isKnown });
      if (!account || !isRight || account.disabled_at !== null) {
        const counted = await recordFailure(database, attempt, isKnown);
        throw counted ? invalidCredentials() : await refusalOf(attempt);
      }

      const session = {
        id: randomUUID(),
        userId: account.id,
        passwordHash: account.password_hash,
        expiresAt: new Date(attempt.at.getTime() + refreshTtlSeconds * 1000),
      };
      const opened = await openSession(database, session, attempt, isKnown);
      if (!opened) throw await refusalOf(attempt);

      const subject = { userId: account.id, merchantId: account.merchant_id, role: account.role };
      const [access_token, refresh_token] = await Promise.all([
        accessTokenFor(account),
        tokens.sign('refresh', subject, session.id),
        // The session is open: a place that cannot be stored must not lose it.
        rememberPlace(database, account.id, attempt, lastAtPlace).catch((err) =>
          log.warn({ err }, 'cannot remember from where a user signed in'),
        ),
      ]);
      return { access_token, refresh_token, token_type: 'bearer', expires_in: accessTtlSeconds };
    },

    async renew(refreshToken) {
      const { user } = await sessionOf(refreshToken);
      const access_token = await accessTokenFor(user);
      return { access_token, token_type: 'bearer', expires_in: accessTtlSeconds };
    },

    async end(refreshToken) {
      const { sessionId } = await sessionOf(refreshToken);
      if (!(await endSession(database, sessionId, now()))) throw tokenInvalid();
    },
  };
}
