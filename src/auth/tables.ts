import { PASSING, SECRETS, server, type Table } from '../database/tables.ts';
import { FAILURES_KEPT_MS, PLACE_KEPT_MS } from './attempts.ts';
import { listTeam } from './team/members.ts';

/** Of one user, with whom the rows are deleted. */
const OF_USER = {
  of: 'user',
  because: SECRETS,
  user: { rows: 'user_id = :whose', erase: 'delete' },
} as const;

export const AUTH_TABLES: readonly Table[] = [
  {
    ...{ name: 'machine_keys', line: 'key' },
    exported: 'id name hint scopes created_at expires_at last_used_at revoked_at',
    internal: 'hash',
  },
  {
    ...{ name: 'invites', line: 'invite' },
    exported: 'id role email name created_at expires_at',
    internal: 'token_hash created_by',
    because: SECRETS,
    user: { rows: 'created_by = :whose', erase: 'delete' },
    kept: [{ since: 'expires_at' }],
  },
  {
    ...{ name: 'users', of: 'user', line: 'user' },
    exported: 'id merchant_id name email role disabled_at second_factor_at created_at',
    internal: 'email_key password_hash deleted_at',
    where: 'deleted_at is null',
    merchant: { read: listTeam },
    user: { rows: 'id = :whose', erase: 'closeAccount' },
  },
  {
    ...{ name: 'sessions', line: 'session' },
    exported: 'id created_at last_used_at expires_at revoked_at address device',
    internal: 'user_id generation used_generation rotated_at',
    ...OF_USER,
    // At least a day: the last access token of a session may live this much longer than the session.
    kept: [
      { since: 'expires_at', for: 'sessions' },
      { since: 'revoked_at', for: 'sessions' },
    ],
  },
  {
    ...server('revocations', 'id', 'id session_id user_id revoked_at'),
    user: { because: PASSING, erase: 'stays' },
    kept: [{ since: 'revoked_at', for: 'accessTokens' }],
  },
  {
    ...{ name: 'totp_secrets', key: 'user_id', line: 'authenticator' },
    exported: 'created_at confirmed_at',
    internal: 'user_id sealed_secret last_step',
    ...OF_USER,
  },
  {
    ...{ name: 'recovery_codes', key: 'user_id code_hash', internal: 'user_id code_hash' },
    ...OF_USER,
  },
  {
    ...{ name: 'passkeys', line: 'passkey' },
    exported: 'id name created_at last_used_at',
    internal: 'user_id credential_id public_key counter transports',
    ...OF_USER,
  },
  {
    ...{ name: 'password_resets', of: 'user', key: 'user_id token_hash' },
    internal: 'user_id token_hash expires_at created_by',
    because: SECRETS,
    user: { rows: '(user_id = :whose or created_by = :whose)', erase: 'delete' },
    kept: [{ since: 'expires_at' }],
  },
  {
    ...{ name: 'sign_in_places', key: 'user_id place', internal: 'user_id place last_at' },
    ...OF_USER,
    kept: [{ since: 'last_at', for: PLACE_KEPT_MS }],
  },
  {
    ...server('sign_in_failures', 'account address failed_at', 'account address failed_at'),
    user: { because: SECRETS, erase: 'stays' },
    kept: [{ since: 'failed_at', for: FAILURES_KEPT_MS }],
  },
  { name: 'used_challenges', of: 'server', internal: 'id expires_at', kept: [{ since: 'expires_at' }] },
  server('signing_keys', 'kid', 'kid public_jwk sealed_private_key created_at'),
];
