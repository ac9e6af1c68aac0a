import { randomUUID } from 'node:crypto';
import type { LoginBody, LoginTokens, RefreshedToken } from '../contract/auth.ts';
import type { Database } from '../database/database.ts';
import { invalidCredentials, rateLimited, tokenInvalid, userNotFound } from '../errors.ts';
import type { Passwords } from './passwords.ts';
import type { Revocations } from './revocations.ts';
import {
  type Attempt,
  attemptOf,
  endSession,
  findAccount,
  findSessionUser,
  openSession,
  recordFailure,
} from './store.ts';
import type { Tokens } from './tokens.ts';

export interface SignInParts {
  database: Database;
  tokens: Tokens;
  passwords: Passwords;
  revocations: Revocations;
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

export function createSignIn(parts: SignInParts): SignIn {
  const { database, tokens, passwords, revocations, accessTtlSeconds, refreshTtlSeconds, now } = parts;

  const accessTokenFor = (
    user: { id: number; merchant_id: number | null; role: string },
    sessionId: string,
  ) =>
    tokens.sign(
      'access',
      { userId: user.id, merchantId: user.merchant_id, role: user.role, sessionId },
      randomUUID(),
    );

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
      const attempt = attemptOf(email, address, now());
      const { account, retryAfterSeconds } = await findAccount(database, attempt);
      if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds);

      const isRight = await passwords.matches(password, account?.password_hash);
      if (!account || !isRight || account.disabled_at !== null) {
        const counted = await recordFailure(database, attempt);
        throw counted ? invalidCredentials() : await refusalOf(attempt);
      }

      const session = {
        id: randomUUID(),
        userId: account.id,
        passwordHash: account.password_hash,
        expiresAt: new Date(attempt.at.getTime() + refreshTtlSeconds * 1000),
      };
      const opened = await openSession(database, session, attempt);
      if (!opened) throw await refusalOf(attempt);

      const subject = { userId: account.id, merchantId: account.merchant_id, role: account.role };
      const [access_token, refresh_token] = await Promise.all([
        accessTokenFor(account, session.id),
        tokens.sign('refresh', subject, session.id),
      ]);
      return { access_token, refresh_token, token_type: 'bearer', expires_in: accessTtlSeconds };
    },

    async renew(refreshToken) {
      const { user, sessionId } = await sessionOf(refreshToken);
      const access_token = await accessTokenFor(user, sessionId);
      return { access_token, token_type: 'bearer', expires_in: accessTtlSeconds };
    },

    async end(refreshToken) {
      const { sessionId } = await sessionOf(refreshToken);
      if (!(await endSession(database, sessionId, now()))) throw tokenInvalid();
      // The session has ended. If this fails, this process notices it half a second later.
      await revocations.read().catch(() => {});
    },
  };
}
