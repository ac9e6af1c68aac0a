import {
  EndedSessions,
  LoginBody,
  LoginTokens,
  RefreshBody,
  RefreshedTokens,
  RefreshQuery,
  Sessions as SessionList,
  SessionParams,
  User,
} from '../contract/auth.ts';
import { MessageOf } from '../contract/common.ts';
import type { Database } from '../database/database.ts';
import {
  invalidCredentials,
  mfaRequired,
  required,
  sessionNotFound,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
  userNotFound,
  wrongOtp,
} from '../errors.ts';
import { deviceOf } from '../http/device.ts';
import { type App, route } from '../http/openapi.ts';
import { personOf, userOf } from './guard.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { SignIn } from './signIn.ts';
import { createUserLookup } from './users.ts';

export interface AuthParts {
  database: Database;
  signIn: SignIn;
  sessions: Sessions;
}

export async function authRoutes(app: App, { database, signIn, sessions }: AuthParts): Promise<void> {
  const findUser = createUserLookup(database);

  app.post(
    '/login',
    route('auth', 'Sign in', {
      operationId: 'signIn',
      description:
        'Sign in with email address and password. A user with a second factor also sends a code as `otp`.',
      errors: [invalidCredentials(), mfaRequired(), wrongOtp(), required('password')],
      open: true,
      body: LoginBody,
      response: { 200: LoginTokens },
    }),
    (request) =>
      signIn.withPassword(request.body, request.ip, {
        isDashboard: false,
        device: deviceOf(request.headers['user-agent']),
      }),
  );

  app.post(
    '/refresh',
    route('auth', 'Get a new access token', {
      operationId: 'refreshToken',
      description:
        'Exchanges a refresh token for a new access token. The refresh token stays valid, unless `rotate=true` ' +
        'replaces it. If a replaced token is used again, its session ends.',
      errors: [tokenInvalid(), tokenExpired(), userNotFound(), required('refresh_token')],
      open: true,
      querystring: RefreshQuery,
      body: RefreshBody,
      response: { 200: RefreshedTokens },
    }),
    ({ body, query, ip }) =>
      sessions.renew(body.refresh_token, ip, { rotate: query.rotate === 'true', byBrowser: false }),
  );

  app.get(
    '/me',
    {
      // Called for every page and always small: not even worth checking whether to compress it.
      compress: false,
      ...route('auth', 'Get the current user', {
        operationId: 'getUser',
        description: 'The user who owns the access token.',
        errors: [tokenMissing(), tokenInvalid(), tokenExpired(), userNotFound()],
        response: { 200: User },
      }),
    },
    async (request) => {
      const user = await findUser(userOf(request));
      if (!user) throw userNotFound();
      if (user.disabled_at !== null) throw tokenInvalid();
      return user;
    },
  );

  app.post(
    '/logout',
    route('auth', 'Sign out', {
      operationId: 'signOut',
      description:
        'Ends the session of a refresh token. Its access tokens and event streams end within a second.',
      errors: [tokenInvalid(), tokenExpired(), userNotFound(), required('refresh_token')],
      open: true,
      body: RefreshBody,
      response: { 200: MessageOf('Signed out.') },
    }),
    async (request) => {
      await sessions.end(request.body.refresh_token, request.ip);
      return { message: 'Signed out.' };
    },
  );

  app.get(
    '/sessions',
    route('auth', 'List your sessions', {
      operationId: 'listSessions',
      description: 'Where the owner of the access token is signed in.',
      errors: [tokenMissing(), tokenInvalid(), tokenExpired()],
      response: { 200: SessionList },
    }),
    (request) => sessions.list(personOf(request)),
  );

  app.delete(
    '/sessions',
    route('auth', 'End your other sessions', {
      operationId: 'endOtherSessions',
      description:
        'Signs the owner of the access token out everywhere except here. The other access tokens and event ' +
        'streams end within a second.',
      errors: [tokenMissing(), tokenInvalid(), tokenExpired()],
      response: { 200: EndedSessions },
    }),
    async (request) => ({ ended: await sessions.endOthers(personOf(request), request.ip) }),
  );

  app.delete(
    '/sessions/:session_id',
    route('auth', 'End a session', {
      operationId: 'endSession',
      description:
        'Signs the owner of the access token out of one session. Its access tokens and event streams end ' +
        'within a second.',
      errors: [tokenMissing(), tokenInvalid(), tokenExpired(), sessionNotFound()],
      params: SessionParams,
      response: { 200: MessageOf('Signed out.') },
    }),
    async (request) => {
      await sessions.endById(personOf(request), request.params.session_id, request.ip);
      return { message: 'Signed out.' };
    },
  );
}
