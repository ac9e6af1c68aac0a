import cookie from '@fastify/cookie';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type DemoUser, DemoUsers, LoginBody, RefreshedToken } from '../contract/auth.ts';
import { Message } from '../contract/common.ts';
import {
  ApiError,
  type ErrorCode,
  invalidCredentials,
  notFound,
  notFromDashboard,
  required,
  tokenInvalid,
} from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';
import { clearRefreshCookie, readRefreshCookie, setRefreshCookie } from './cookie.ts';
import type { Sessions } from './sessions.ts';
import type { SignIn } from './signIn.ts';

export interface SessionParts {
  signIn: SignIn;
  sessions: Sessions;
  refreshTtlSeconds: number;
  demoUsers: () => Promise<readonly DemoUser[]>;
}

const MARK = 'x-deskbell-dashboard';
const headers = Type.Object({
  [MARK]: Type.Literal('1', { description: 'Always `1`. Other websites cannot set it.' }),
});

/** Errors that mean the session has ended. An unreachable database does not. */
const OVER = new Set<ErrorCode>(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'USER_NOT_FOUND']);
const isOver = (error: unknown) => error instanceof ApiError && OVER.has(error.code);

/**
 * Sign-in for the dashboard. The refresh token is in a cookie that no script can read; the access token is only in the
 * page's memory. A page of another site can neither set the header nor hide its origin.
 */
export function sessionRoutes(parts: SessionParts): FastifyPluginAsyncTypebox {
  const { signIn, sessions, refreshTtlSeconds, demoUsers } = parts;

  /** Returns false if there was no session. */
  async function endSessionOf(request: FastifyRequest): Promise<boolean> {
    const token = readRefreshCookie(request);
    if (token === undefined) return false;
    try {
      await sessions.end(token);
      return true;
    } catch (error) {
      if (isOver(error)) return false;
      throw error;
    }
  }

  return async (app) => {
    await app.register(cookie);
    app.addHook('preParsing', async ({ headers }) => {
      const site = headers['sec-fetch-site'];
      if (headers[MARK] !== '1' || (site !== undefined && site !== 'same-origin')) throw notFromDashboard();
    });

    app.post(
      '/login',
      {
        schema: {
          ...describeRoute('session', 'Sign in to the dashboard', {
            description:
              'Like `POST /api/v1/auth/login`, with the same limits. The refresh token is in an HttpOnly cookie.',
            errors: [notFromDashboard(), invalidCredentials(), required('password')],
            open: true,
          }),
          headers,
          body: LoginBody,
          response: { 200: RefreshedToken },
        },
      },
      async (request, reply) => {
        const { refresh_token, ...access } = await signIn.begin(request.body, request.ip);
        // The new cookie replaces the old one, so the old session must end now.
        await endSessionOf(request);
        setRefreshCookie(reply, refresh_token, refreshTtlSeconds);
        return access;
      },
    );

    app.post(
      '/refresh',
      {
        schema: {
          ...describeRoute('session', 'Get a new access token with the cookie', {
            description:
              'Takes no body. The cookie gets a new refresh token. If the session has ended, the cookie is removed.',
            errors: [notFromDashboard(), tokenInvalid()],
            open: true,
          }),
          headers,
          response: { 200: RefreshedToken },
        },
      },
      async (request, reply) => {
        try {
          const token = readRefreshCookie(request) ?? '';
          const { refresh_token, ...access } = await sessions.renew(token, request.ip, { rotate: true });
          setRefreshCookie(reply, refresh_token!, refreshTtlSeconds);
          return access;
        } catch (error) {
          if (!isOver(error)) throw error;
          clearRefreshCookie(reply);
          throw tokenInvalid(error);
        }
      },
    );

    app.post(
      '/logout',
      {
        schema: {
          ...describeRoute('session', 'Sign out of the dashboard', {
            description: 'Ends the session and removes the cookie. Takes no body.',
            errors: [notFromDashboard()],
            open: true,
          }),
          headers,
          response: { 200: Message },
        },
      },
      async (request, reply) => {
        const ended = await endSessionOf(request);
        clearRefreshCookie(reply);
        return { message: ended ? 'Signed out.' : 'Nobody was signed in.' };
      },
    );

    app.get(
      '/demo',
      {
        schema: {
          ...describeRoute('session', 'List the demo’s users', {
            description: 'Only while the demo is on and its users exist; never in production.',
            errors: [notFromDashboard(), notFound()],
            open: true,
          }),
          headers,
          response: { 200: DemoUsers },
        },
      },
      async () => {
        const users = await demoUsers();
        if (users.length === 0) throw notFound();
        return { users: [...users] };
      },
    );
  };
}
