import cookie from '@fastify/cookie';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type DemoUser,
  DemoUsers,
  LoginBody,
  type LoginTokens,
  RefreshedToken,
} from '../../contract/auth.ts';
import { MessageOf } from '../../contract/common.ts';
import { PasskeyOptions, PasskeySignIn } from '../../contract/factors.ts';
import {
  ApiError,
  type ErrorCode,
  invalidCredentials,
  mfaRequired,
  notFound,
  notFromDashboard,
  passkeyRefused,
  passkeysUnavailable,
  required,
  tokenInvalid,
  wrongOtp,
} from '../../errors.ts';
import { isFromThisMachine } from '../../http/address.ts';
import { deviceOf } from '../../http/device.ts';
import { type App, route } from '../../http/openapi.ts';
import type { Factors } from '../factors/factors.ts';
import { relyingPartyOf } from '../factors/passkeys/relyingParty.ts';
import type { SignIn } from '../signIn.ts';
import { createRefreshCookie } from './cookie.ts';
import type { Sessions } from './sessions.ts';

export interface SessionParts {
  signIn: SignIn;
  factors: Factors;
  publicUrl: string | undefined;
  sessions: Sessions;
  refreshTtlSeconds: number;
  production: boolean;
  demoUsers: () => Promise<readonly DemoUser[]>;
}

const DASHBOARD_HEADER = 'x-deskbell-dashboard';
const headers = Type.Object({
  [DASHBOARD_HEADER]: Type.Literal('1', { description: 'Always `1`. Other websites cannot set it.' }),
});

/** Errors that mean the session has ended. An unreachable database does not. */
const ENDED_CODES = new Set<ErrorCode>(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'USER_NOT_FOUND']);
const hasEnded = (error: unknown) => error instanceof ApiError && ENDED_CODES.has(error.code);

/**
 * Sign-in for the dashboard. The refresh token is in a cookie that no script can read; the access token is only in the
 * page's memory. A page of another site can neither set the header nor hide its origin.
 */
export async function sessionRoutes(app: App, parts: SessionParts): Promise<void> {
  const { signIn, sessions, factors, publicUrl, refreshTtlSeconds, production, demoUsers } = parts;
  const refreshCookie = createRefreshCookie(production, refreshTtlSeconds);

  /** Returns false if there was no session. */
  async function endSessionOf(request: FastifyRequest): Promise<boolean> {
    const token = refreshCookie.read(request);
    if (token === undefined) return false;
    try {
      await sessions.end(token, request.ip);
      return true;
    } catch (error) {
      if (hasEnded(error)) return false;
      throw error;
    }
  }

  async function answerWithCookie(
    request: FastifyRequest,
    reply: FastifyReply,
    { refresh_token, ...access }: LoginTokens,
  ): Promise<RefreshedToken> {
    // The new cookie replaces the old one, so the old session must end now.
    await endSessionOf(request);
    refreshCookie.set(reply, refresh_token);
    return access;
  }

  await app.register(cookie);
  app.addHook('preParsing', async ({ headers }) => {
    const site = headers['sec-fetch-site'];
    if (headers[DASHBOARD_HEADER] !== '1' || (site !== undefined && site !== 'same-origin'))
      throw notFromDashboard();
  });

  app.post(
    '/login',
    route('session', 'Sign in to the dashboard', {
      operationId: 'signInToDashboard',
      responseHeaders: ['Set-Cookie'],
      description:
        'Like `POST /api/v1/auth/login`, with the same limits. The refresh token is in an HttpOnly cookie.',
      errors: [notFromDashboard(), invalidCredentials(), mfaRequired(), wrongOtp(), required('password')],
      open: true,
      headers,
      body: LoginBody,
      response: { 200: RefreshedToken },
    }),
    async (request, reply) =>
      answerWithCookie(
        request,
        reply,
        await signIn.withPassword(request.body, request.ip, {
          isDashboard: true,
          device: deviceOf(request.headers['user-agent']),
        }),
      ),
  );

  app.post(
    '/passkey/options',
    route('session', 'Start a sign-in with a passkey', {
      operationId: 'startPasskeySignIn',
      description: 'Returns the options for `navigator.credentials.get`. They expire after five minutes.',
      errors: [notFromDashboard(), passkeysUnavailable()],
      open: true,
      headers,
      response: { 200: PasskeyOptions },
    }),
    async (request) => factors.passkeys.signInOptions(relyingPartyOf(publicUrl, request)),
  );

  app.post(
    '/passkey',
    route('session', 'Sign in to the dashboard with a passkey', {
      operationId: 'signInWithPasskey',
      responseHeaders: ['Set-Cookie'],
      description:
        'A passkey replaces password and code, because the device checks a PIN, a finger or a face. Sets the ' +
        'same cookie as `POST /session/login`.',
      errors: [notFromDashboard(), passkeyRefused(), passkeysUnavailable(), required('id')],
      open: true,
      headers,
      body: PasskeySignIn,
      response: { 200: RefreshedToken },
    }),
    async (request, reply) => {
      const response = request.body as AuthenticationResponseJSON;
      const party = relyingPartyOf(publicUrl, request);
      const device = deviceOf(request.headers['user-agent']);
      return answerWithCookie(request, reply, await signIn.withPasskey(response, party, request.ip, device));
    },
  );

  app.post(
    '/refresh',
    route('session', 'Get a new access token with the cookie', {
      operationId: 'refreshSession',
      responseHeaders: ['Set-Cookie'],
      description:
        'Takes no body. The cookie gets a new refresh token. If the session has ended, the cookie is removed.',
      errors: [notFromDashboard(), tokenInvalid()],
      open: true,
      headers,
      response: { 200: RefreshedToken },
    }),
    async (request, reply) => {
      try {
        const token = refreshCookie.read(request) ?? '';
        const { refresh_token, ...access } = await sessions.renew(token, request.ip, {
          rotate: true,
          byBrowser: true,
        });
        refreshCookie.set(reply, refresh_token!);
        return access;
      } catch (error) {
        if (!hasEnded(error)) throw error;
        refreshCookie.clear(reply);
        throw tokenInvalid(error);
      }
    },
  );

  app.post(
    '/logout',
    route('session', 'Sign out of the dashboard', {
      operationId: 'signOutOfDashboard',
      responseHeaders: ['Set-Cookie'],
      description: 'Ends the session and removes the cookie. Takes no body.',
      errors: [notFromDashboard()],
      open: true,
      headers,
      response: { 200: MessageOf('Signed out.', 'Nobody was signed in.') },
    }),
    async (request, reply) => {
      const ended = await endSessionOf(request);
      refreshCookie.clear(reply);
      return { message: ended ? 'Signed out.' : 'Nobody was signed in.' };
    },
  );

  app.get(
    '/demo',
    route('session', 'List the demo’s users', {
      operationId: 'listDemoUsers',
      description:
        'Only for browsers on the same machine, while the demo is on and its users exist; never in production.',
      errors: [notFromDashboard(), notFound()],
      open: true,
      headers,
      response: { 200: DemoUsers },
    }),
    async (request) => {
      const users = isFromThisMachine(request) ? await demoUsers() : [];
      if (users.length === 0) throw notFound();
      return { users: [...users] };
    },
  );
}
