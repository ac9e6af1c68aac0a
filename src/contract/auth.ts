import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from './plain.ts';

const JWT = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';
const AccessToken = Type.String({ description: 'JWT, sent as a bearer token.' });
const RefreshToken = Type.String({ description: 'JWT, used only to refresh and to sign out.', minLength: 1 });
const TokenType = Type.Literal('bearer');
const ExpiresIn = Type.Integer({
  minimum: 1,
  description: 'Seconds until the access token expires.',
  examples: [900],
});
const Role = Type.String({
  description: '`owner` for a merchant’s owner, `user` for its staff, `admin` for an operator.',
});

export const LoginBody = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: 320, description: 'Case does not matter.' }),
    password: Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX }),
    otp: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'For users with a second factor: a code of the authenticator app, or a recovery code.',
      }),
    ),
  },
  { title: 'Login', examples: [{ email: 'owner@aurora.example', password: 'aurora-demo' }] },
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
    title: 'Tokens',
    description: 'A short-lived access token and a refresh token.',
    examples: [{ access_token: JWT, refresh_token: JWT, token_type: 'bearer', expires_in: 900 }],
  },
);
export type LoginTokens = Static<typeof LoginTokens>;

export const RefreshBody = Type.Object(
  { refresh_token: RefreshToken },
  { title: 'RefreshToken', examples: [{ refresh_token: JWT }] },
);
export type RefreshBody = Static<typeof RefreshBody>;

export const RefreshQuery = Type.Object({
  rotate: Type.Optional(
    Type.Union([Type.Literal('true'), Type.Literal('false')], {
      description: '`true` also returns a new refresh token, which replaces the old one.',
    }),
  ),
});

export const RefreshedToken = Type.Object(
  { access_token: AccessToken, token_type: TokenType, expires_in: ExpiresIn },
  {
    title: 'AccessToken',
    description: 'A new access token. The refresh token stays the same.',
    examples: [{ access_token: JWT, token_type: 'bearer', expires_in: 900 }],
  },
);
export type RefreshedToken = Static<typeof RefreshedToken>;

export const RefreshedTokens = Type.Object(
  { ...RefreshedToken.properties, refresh_token: Type.Optional(RefreshToken) },
  {
    title: 'RefreshedTokens',
    description:
      'A new access token. With `rotate=true` also a new refresh token, otherwise it stays the same.',
    examples: [{ access_token: JWT, token_type: 'bearer', expires_in: 900 }],
  },
);
export type RefreshedTokens = Static<typeof RefreshedTokens>;

export const SessionParams = Type.Object({ session_id: Type.String() });

export const Sessions = Type.Array(
  Type.Object(
    {
      id: Type.String(),
      created_at: Timestamp,
      last_used_at: Timestamp,
      address: Type.Union([Type.String(), Type.Null()], {
        description: 'The network of its last use. Null if unknown.',
      }),
      device: Type.Union([Type.String(), Type.Null()], {
        description: 'The browser and system that signed in, or the name of the program. Null if unknown.',
      }),
      current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
    },
    { title: 'Session' },
  ),
  {
    description: 'The sessions, last used first.',
    examples: [
      [
        {
          id: '6f1c1c1e-3a5b-4c0e-9a57-0f5f4e1f7a11',
          created_at: '2026-01-15T09:30:00.000Z',
          last_used_at: '2026-01-18T16:02:11.000Z',
          address: '192.0.2.0/24',
          device: 'Firefox, Android',
          current: true,
        },
      ],
    ],
  },
);
export type Sessions = Static<typeof Sessions>;

export const EndedSessions = Type.Object(
  { ended: Type.Integer({ minimum: 0, description: 'How many sessions ended.' }) },
  { title: 'EndedSessions', description: 'What ended.', examples: [{ ended: 2 }] },
);

export const User = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    name: Type.String({ description: 'Display name.' }),
    role: Role,
    created_at: Timestamp,
  },
  {
    title: 'User',
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

export const DemoUser = Type.Object(
  {
    email: Type.String(),
    password: Type.String(),
    about: Type.String({ description: 'The owner of the account.' }),
    role: Role,
  },
  { title: 'DemoUser' },
);
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

export const PasswordBody = Type.Object(
  {
    password: Type.String({
      minLength: 1,
      maxLength: PASSWORD_LENGTH_MAX,
      description: 'The current password.',
    }),
    new_password: Type.String({
      minLength: 1,
      maxLength: PASSWORD_LENGTH_MAX,
      description: `At least ${PASSWORD_LENGTH_MIN} characters, and hard to guess.`,
    }),
  },
  { title: 'PasswordChange', examples: [{ password: 'aurora-demo', new_password: 'quiet lemon harbour' }] },
);
