import { randomUUID } from 'node:crypto';
import type { LoginBody, LoginTokens } from '../contract/auth.ts';
import type { Database } from '../database/database.ts';
import { invalidCredentials, rateLimited } from '../errors.ts';
import { shortAddress } from '../http/address.ts';
import type { Passwords } from './passwords.ts';
import { type Attempt, attemptOf, findAccount, openSession, recordFailure } from './store.ts';
import type { Tokens } from './tokens.ts';

export interface SignInParts {
  database: Database;
  tokens: Tokens;
  passwords: Passwords;
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
  sessionsPerUser: number;
  now: () => Date;
}

/** Programs receive the refresh token in a body, the dashboard in a cookie. */
export interface SignIn {
  /** Opens a session, or throws the reason for refusing it. */
  begin(credentials: LoginBody, address: string): Promise<LoginTokens>;
}

export function createSignIn(parts: SignInParts): SignIn {
  const { database, tokens, passwords, accessTtlSeconds, refreshTtlSeconds, sessionsPerUser, now } = parts;

  /** Above the limit, a correct and a wrong password get the same response. */
  const refusalOf = async (attempt: Attempt) => {
    const { retryAfterSeconds } = await findAccount(database, attempt);
    return retryAfterSeconds > 0 ? rateLimited(retryAfterSeconds) : invalidCredentials();
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
        address: shortAddress(address),
        perUser: sessionsPerUser,
      };
      const opened = await openSession(database, session, attempt);
      if (!opened) throw await refusalOf(attempt);

      const subject = { userId: account.id, merchantId: account.merchant_id, role: account.role };
      const [access_token, refresh_token] = await Promise.all([
        tokens.sign('access', { ...subject, sessionId: session.id }, randomUUID()),
        tokens.sign('refresh', subject, session.id),
      ]);
      return { access_token, refresh_token, token_type: 'bearer', expires_in: accessTtlSeconds };
    },
  };
}
