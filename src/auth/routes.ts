import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { LoginBody, LoginTokens, RefreshBody, RefreshedToken, User } from '../contract/auth.ts';
import { Message } from '../contract/common.ts';
import type { Database } from '../database/database.ts';
import {
  invalidCredentials,
  required,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
  userNotFound,
} from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';
import { userOf } from './guard.ts';
import type { SignIn } from './signIn.ts';
import { createUserLookup } from './store.ts';

export interface AuthParts {
  database: Database;
  signIn: SignIn;
}

export function authRoutes({ database, signIn }: AuthParts): FastifyPluginAsyncTypebox {
  const findUser = createUserLookup(database);

  return async (app) => {
    app.post(
      '/login',
      {
        schema: {
          ...describeRoute('auth', 'Sign in', {
            description: 'Sign in with email address and password.',
            errors: [invalidCredentials(), required('password')],
            open: true,
          }),
          body: LoginBody,
          response: { 200: LoginTokens },
        },
      },
      (request) => signIn.begin(request.body, request.ip),
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
      (request) => signIn.renew(request.body.refresh_token),
    );

    app.get(
      '/me',
      {
        // Called for every page and always small: not even worth checking whether to compress it.
        compress: false,
        schema: {
          ...describeRoute('auth', 'Get the current user', {
            description: 'The user who owns the access token.',
            errors: [tokenMissing(), tokenInvalid(), tokenExpired(), userNotFound()],
          }),
          response: { 200: User },
        },
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
      {
        schema: {
          ...describeRoute('auth', 'Sign out', {
            description:
              'Ends the session of a refresh token. Its access tokens and event streams end within a second.',
            errors: [tokenInvalid(), tokenExpired(), userNotFound(), required('refresh_token')],
            open: true,
          }),
          body: RefreshBody,
          response: { 200: Message },
        },
      },
      async (request) => {
        await signIn.end(request.body.refresh_token);
        return { message: 'Signed out.' };
      },
    );
  };
}
