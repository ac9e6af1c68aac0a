import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { LoginBody, LoginTokens, RefreshBody, RefreshedToken, User } from '../contract/auth.ts';
import { Message } from '../contract/common.ts';
import type { Database } from '../database/database.ts';
import {
  invalidCredentials,
  rateLimited,
  required,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
  userNotFound,
} from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';
import { userOf } from './guard.ts';
import type { Passwords } from './passwords.ts';
import {
  type Attempt,
  attemptOf,
  endSession,
  findAccount,
  findSessionUser,
  findUser,
  openSession,
  recordFailure,
} from './store.ts';
import type { Tokens } from './tokens.ts';

export interface AuthParts {
  database: Database;
  tokens: Tokens;
  passwords: Passwords;
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
  now: () => Date;
}

export function authRoutes(parts: AuthParts): FastifyPluginAsyncTypebox {
  const { database, tokens, passwords, accessTtlSeconds, refreshTtlSeconds, now } = parts;

  const accessTokenFor = (user: { id: number; merchant_id: number | null; role: string }) =>
    tokens.sign('access', { userId: user.id, merchantId: user.merchant_id, role: user.role }, randomUUID());

  /** Past the limit a right password and a wrong one are told the same. */
  const refusalOf = async (attempt: Attempt) => {
    const { retryAfterSeconds } = await findAccount(database, attempt);
    return retryAfterSeconds > 0 ? rateLimited(retryAfterSeconds) : invalidCredentials();
  };

  /** The user and the session of a good refresh token whose session still stands. */
  const sessionOf = async (refreshToken: string) => {
    const { userId, tokenId } = await tokens.verify('refresh', refreshToken);
    const user = await findSessionUser(database, userId, tokenId);
    if (!user) throw userNotFound();
    if (user.session_id === null || user.disabled_at !== null) throw tokenInvalid();
    return { user, sessionId: tokenId };
  };

  return async (app) => {
    app.post(
      '/login',
      {
        schema: {
          ...describeRoute('auth', 'Sign in', {
            description: 'Signs a user in with e-mail address and password.',
            errors: [invalidCredentials(), required('password')],
            open: true,
          }),
          body: LoginBody,
          response: { 200: LoginTokens },
        },
      },
      async (request) => {
        const { email, password } = request.body;
        const attempt = attemptOf(email, request.ip, now());
        const { account, retryAfterSeconds } = await findAccount(database, attempt);
        if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds);

        const fits = await passwords.matches(password, account?.password_hash);
        if (!account || !fits || account.disabled_at !== null) {
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
          accessTokenFor(account),
          tokens.sign('refresh', subject, session.id),
        ]);
        return { access_token, refresh_token, token_type: 'bearer' as const, expires_in: accessTtlSeconds };
      },
    );

    app.post(
      '/refresh',
      {
        schema: {
          ...describeRoute('auth', 'Get a new access token', {
            description: 'Exchanges a refresh token for a new access token. The refresh token stays valid.',
            errors: [tokenInvalid(), tokenExpired(), userNotFound(), required('refresh_token')],
            open: true,
          }),
          body: RefreshBody,
          response: { 200: RefreshedToken },
        },
      },
      async (request) => {
        const { user } = await sessionOf(request.body.refresh_token);
        const access_token = await accessTokenFor(user);
        return { access_token, token_type: 'bearer' as const, expires_in: accessTtlSeconds };
      },
    );

    app.get(
      '/me',
      {
        schema: {
          ...describeRoute('auth', 'Read the current user', {
            description: 'The user who owns the access token.',
            errors: [tokenMissing(), tokenInvalid(), tokenExpired(), userNotFound()],
          }),
          response: { 200: User },
        },
      },
      async (request) => {
        const user = await findUser(database, userOf(request));
        if (!user) throw userNotFound();
        if (user.disabled_at !== null) throw tokenInvalid();
        return user;
      },
    );

    app.post(
      '/logout',
      {
        schema: {
          ...describeRoute('auth', 'Sign out', {
            description:
              'Ends the session of a refresh token. Access tokens already given run out by themselves.',
            errors: [tokenInvalid(), tokenExpired(), userNotFound(), required('refresh_token')],
            open: true,
          }),
          body: RefreshBody,
          response: { 200: Message },
        },
      },
      async (request) => {
        const { sessionId } = await sessionOf(request.body.refresh_token);
        if (!(await endSession(database, sessionId, now()))) throw tokenInvalid();
        return { message: 'Signed out.' };
      },
    );
  };
}
