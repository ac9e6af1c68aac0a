import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

const JWT = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';
const AccessToken = Type.String({ description: 'JWT, sent as a bearer token.' });
const RefreshToken = Type.String({ description: 'JWT, used only to refresh and to sign out.', minLength: 1 });
const TokenType = Type.Literal('bearer');
const ExpiresIn = Type.Integer({ description: 'Seconds until the access token expires.', examples: [900] });
const Role = Type.String({
  description: '`owner` for a merchant’s owner, `user` for its staff, `admin` for an operator.',
});

export const LoginBody = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: 320, description: 'Case does not matter.' }),
    password: Type.String({ minLength: 1, maxLength: 1024 }),
    otp: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'For users with a second factor: a code of the authenticator app, or a recovery code.',
      }),
    ),
  },
  { examples: [{ email: 'owner@aurora.example', password: 'aurora-demo' }] },
);
export type LoginBody = Static<typeof LoginBody>;

export const LoginTokens = Type.Object(
  {
    access_token: AccessToken,
    refresh_token: RefreshToken,
    token_type: TokenType,
    expires_in: ExpiresIn,
  },
  {
    description: 'A short-lived access token and a refresh token.',
    examples: [{ access_token: JWT, refresh_token: JWT, token_type: 'bearer', expires_in: 900 }],
  },
);
export type LoginTokens = Static<typeof LoginTokens>;

export const RefreshBody = Type.Object(
  { refresh_token: RefreshToken },
  { examples: [{ refresh_token: JWT }] },
);
export type RefreshBody = Static<typeof RefreshBody>;

export const RefreshedToken = Type.Object(
  { access_token: AccessToken, token_type: TokenType, expires_in: ExpiresIn },
  {
    description: 'A new access token. The refresh token stays the same.',
    examples: [{ access_token: JWT, token_type: 'bearer', expires_in: 900 }],
  },
);
export type RefreshedToken = Static<typeof RefreshedToken>;

export const User = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    name: Type.String({ description: 'Display name.' }),
    role: Role,
    created_at: Timestamp,
  },
  {
    description: 'The user.',
    examples: [
      {
        id: 1,
        email: 'owner@aurora.example',
        name: 'Alma Reyes',
        role: 'owner',
        created_at: '2026-01-15T09:30:00.000Z',
      },
    ],
  },
);
export type User = Static<typeof User>;

export const DemoUser = Type.Object({
  email: Type.String(),
  password: Type.String(),
  about: Type.String({ description: 'The owner of the account.' }),
  role: Role,
});
export type DemoUser = Static<typeof DemoUser>;

export const DemoUsers = Type.Object(
  { users: Type.Array(DemoUser) },
  {
    description: 'The users who still have their demo password.',
    examples: [
      {
        users: [
          { email: 'owner@aurora.example', password: 'aurora-demo', about: 'Aurora Coffee', role: 'owner' },
        ],
      },
    ],
  },
);
