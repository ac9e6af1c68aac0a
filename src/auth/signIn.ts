import { randomUUID } from 'node:crypto';
import { recordEvent, type Who } from '../audit/record.ts';
import type { EventName } from '../contract/audit.ts';
import type { LoginBody, LoginTokens, RefreshedToken } from '../contract/auth.ts';
import type { Database, Queries } from '../database/database.ts';
import {
  invalidCredentials,
  mfaRequired,
  rateLimited,
  tokenInvalid,
  userNotFound,
  wrongOtp,
} from '../errors.ts';
import type { Vault } from '../secrets.ts';
import type { Factors } from './factors/factors.ts';
import type { Passwords } from './passwords.ts';
import {
  type Account,
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
  factors: Factors;
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
  now: () => Date;
}

/** Sessions. Programs receive the refresh token in a body, the dashboard in a cookie. */
export interface SignIn {
  /** Opens a session, or throws the reason for refusing it. */
  begin(credentials: LoginBody, address: string): Promise<LoginTokens>;
  /** Opens a session for an account that has proved who it is, at a place that is known or not. */
  open(account: Account, attempt: Attempt, lastAtPlace: string | null): Promise<LoginTokens>;
  renew(refreshToken: string, address: string): Promise<RefreshedToken>;
  end(refreshToken: string, address: string): Promise<void>;
}

export function createSignIn(parts: SignInParts): SignIn {
  const { database, tokens, passwords, vault, factors, log, accessTtlSeconds, refreshTtlSeconds, now } =
    parts;

  const accessTokenFor = (
    user: { id: number; merchant_id: number | null; role: string },
    sessionId: string,
  ) =>
    tokens.sign(
      'access',
      { userId: user.id, merchantId: user.merchant_id, role: user.role, sessionId },
      randomUUID(),
    );

  /** Of a known user, or of an account that does not exist. */
  const record = (
    queries: Queries,
    what: EventName,
    user: { id: number; merchant_id: number | null } | undefined,
    address: string,
  ) => {
    const who: Who = user ? { kind: 'user', userId: user.id, address } : { kind: 'unknown', address };
    return recordEvent(queries, { what, merchantId: user?.merchant_id ?? null, who, at: now() });
  };

  /** Above the limit, a correct and a wrong password get the same response. */
  const refusalOf = async (attempt: Attempt, otherwise = invalidCredentials()) => {
    const { retryAfterSeconds } = await findAccount(database, attempt);
    return retryAfterSeconds > 0 ? rateLimited(retryAfterSeconds) : otherwise;
  };

  /** The user and the session of a valid refresh token whose session has not ended. */
  const sessionOf = async (refreshToken: string, address: string) => {
    const { userId, tokenId } = await tokens.verify('refresh', refreshToken);
    const user = await findSessionUser(database, userId, tokenId);
    if (!user) throw userNotFound();
    if (user.session_id === null || user.disabled_at !== null) {
      await record(database, 'session.refused', user, address);
      throw tokenInvalid();
    }
    return { user, sessionId: tokenId };
  };

  const countFailure = (attempt: Attempt, isKnown: boolean, account: Account | undefined) =>
    database.transaction(async (tx) => {
      const isCounted = await recordFailure(tx, attempt, isKnown);
      if (isCounted) await record(tx, 'sign_in.failed', account, attempt.address);
      return isCounted;
    });

  async function open(account: Account, attempt: Attempt, lastAtPlace: string | null): Promise<LoginTokens> {
    const session = {
      id: randomUUID(),
      userId: account.id,
      passwordHash: account.password_hash,
      secondFactorAt: account.second_factor_at,
      expiresAt: new Date(attempt.at.getTime() + refreshTtlSeconds * 1000),
    };
    const opened = await database.transaction(async (tx) => {
      const isOpen = await openSession(tx, session, attempt, lastAtPlace !== null);
      if (isOpen) await record(tx, 'sign_in.succeeded', account, attempt.address);
      return isOpen;
    });
    if (!opened) throw await refusalOf(attempt);

    const subject = { userId: account.id, merchantId: account.merchant_id, role: account.role };
    const [access_token, refresh_token] = await Promise.all([
      accessTokenFor(account, session.id),
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
      const { account, retryAfterSeconds, lastAtPlace } = await findAccount(database, attempt);
      if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds);

      const isKnown = lastAtPlace !== null;
      const isRight = await passwords.matches(password, account?.password_hash, { ...attempt, isKnown });
      if (!account || !isRight || account.disabled_at !== null) {
        const counted = await countFailure(attempt, isKnown, account);
        throw counted ? invalidCredentials() : await refusalOf(attempt);
      }

      if (account.second_factor_at !== null) {
        // A missing code is not a failed attempt.
        if (!otp) throw await refusalOf(attempt, mfaRequired());
        if (!(await factors.acceptsOtp(account.id, otp))) {
          throw (await countFailure(attempt, isKnown, account)) ? wrongOtp() : await refusalOf(attempt);
        }
      }
      return open(account, attempt, lastAtPlace);
    },

    open,

    async renew(refreshToken, address) {
      const { user, sessionId } = await sessionOf(refreshToken, address);
      const access_token = await accessTokenFor(user, sessionId);
      return { access_token, token_type: 'bearer', expires_in: accessTtlSeconds };
    },

    async end(refreshToken, address) {
      const { user, sessionId } = await sessionOf(refreshToken, address);
      const ended = await database.transaction(async (tx) => {
        const hasEnded = await endSession(tx, sessionId, now());
        if (hasEnded) await record(tx, 'session.ended', user, address);
        return hasEnded;
      });
      if (!ended) throw tokenInvalid();
    },
  };
}
