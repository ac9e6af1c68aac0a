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
import type { SignIn } from './signIn.ts';

export interface SessionParts {
  signIn: SignIn;
  refreshTtlSeconds: number;
  demoUsers: () => Promise<readonly DemoUser[]>;
}

const MARK = 'x-deskbell-dashboard';
const headers = Type.Object({ [MARK]: Type.Literal('1', { description: 'Says who asks. Always `1`.' }) });

/** A session that is over, for whatever reason; a database that is away is none. */
const OVER = new Set<ErrorCode>(['INVALID_TOKEN', 'TOKEN_EXPIRED', 'USER_NOT_FOUND']);
const isOver = (error: unknown) => error instanceof ApiError && OVER.has(error.code);

/**
 * Sign-in for the dashboard. Its refresh token stays in a cookie, out of every script's reach; the access token
 * lives in the page's memory. Another site's page can neither set the header nor hide where it comes from.
 */
export function sessionRoutes(parts: SessionParts): FastifyPluginAsyncTypebox {
  const { signIn, refreshTtlSeconds, demoUsers } = parts;

  /** Says whether there was one to end. */
  async function endSessionOf(request: FastifyRequest): Promise<boolean> {
    const token = readRefreshCookie(request);
    if (token === undefined) return false;
    try {
      await signIn.end(token);
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
              'As `POST /api/v1/auth/login`, with the same limits; the refresh token is in an HttpOnly cookie.',
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
        // The cookie takes the place of another: that one's session would be left with nobody to end it.
        await endSessionOf(request);
        setRefreshCookie(reply, refresh_token, refreshTtlSeconds);
        return access;
      },
    );

    app.post(
      '/refresh',
      {
        schema: {
          ...describeRoute('session', 'Get a new access token by the cookie', {
            description: 'Takes no body. When the session is over, the cookie is taken back.',
            errors: [notFromDashboard(), tokenInvalid()],
            open: true,
          }),
          headers,
          response: { 200: RefreshedToken },
        },
      },
      async (request, reply) => {
        try {
          return await signIn.renew(readRefreshCookie(request) ?? '');
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
            description: 'Ends the session and takes the cookie back. Takes no body.',
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
          ...describeRoute('session', 'Who can sign in to the demo', {
            description: 'Only where the demo is on and its users are there; never in production.',
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
