import { caughtBy, type Mutation } from './mutation.ts';

/** Authentication, authorization and secrets. */
export const ACCESS_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/faults/tokens.test.ts', [
    {
      name: 'the algorithm of a token is not pinned',
      file: 'src/auth/tokens.ts',
      find: 'algorithms: [ALGORITHM],',
      replace: '',
      test: 'forged, changed, misused and wrongly sent tokens (sqlite)',
    },
    {
      name: 'the audience of a token is not checked',
      file: 'src/auth/tokens.ts',
      find: 'audience: KINDS[kind].audience,',
      replace: '',
      test: 'forged, changed, misused and wrongly sent tokens (sqlite)',
    },
    {
      name: 'the issuer of a token is not checked',
      file: 'src/auth/tokens.ts',
      find: 'issuer: settings.issuer,',
      replace: '',
      test: 'forged, changed, misused and wrongly sent tokens (sqlite)',
    },
    {
      name: 'the type of a token is not checked',
      file: 'src/auth/tokens.ts',
      find: 'typ: KINDS[kind].typ,',
      replace: '',
      test: 'forged, changed, misused and wrongly sent tokens (sqlite)',
    },
    {
      name: 'a token is accepted in several encodings',
      file: 'src/auth/tokens.ts',
      find: `if (Buffer.from(part, 'base64url').toString('base64url') !== part) throw tokenInvalid();`,
      replace: '',
      test: 'forged, changed, misused and wrongly sent tokens (sqlite)',
    },
  ]),
  ...caughtBy('test/tokens.test.ts', [
    {
      name: 'the expiry of a token is not checked',
      file: 'src/auth/tokens.ts',
      find: 'currentDate: now(),',
      replace: 'currentDate: new Date(0),',
      test: 'an access token works for its fifteen minutes and is TOKEN_EXPIRED after that',
    },
    {
      name: 'a refresh token is accepted as an access token',
      file: 'src/auth/tokens.ts',
      find: `refresh: { typ: 'rt+jwt', audience: 'deskbell:refresh' },`,
      replace: `refresh: { typ: 'at+jwt', audience: 'deskbell:api' },`,
      test: 'neither kind of token is accepted as the other',
    },
    {
      name: 'a session that was signed out still refreshes',
      file: 'src/auth/store.ts',
      find: 's.user_id = u.id and s.revoked_at is null',
      replace: 's.user_id = u.id',
      test: 'signing out ends that session and no other',
    },
    {
      name: 'a new password leaves the sessions open',
      file: 'src/auth/store.ts',
      find: '    if (!user) return;\n    await endSessionsOf(tx, userId, at);',
      replace: '    if (!user) return;',
      test: 'a new password ends all sessions of its user, and nobody else’s',
    },
  ]),
  ...caughtBy('test/keys.test.ts', [
    {
      name: 'tokens of a removed key stay in the cache',
      file: 'src/auth/tokens.ts',
      find: 'if (generation !== verifiedGeneration) {',
      replace: 'if (verified.size > CACHED_MAX) {',
      test: 'tokens of a removed key are INVALID_TOKEN, even those that were used before',
    },
  ]),
  ...caughtBy('test/sign-in.test.ts', [
    {
      name: 'no hash is compared for an unknown email',
      file: 'src/auth/passwords.ts',
      find: 'const isMatch = await verify(stored ?? NO_PASSWORD, password);',
      replace: 'const isMatch = stored !== undefined && (await verify(stored, password));',
      test: 'a known and an unknown email need the same work, so timing reveals nothing',
    },
    {
      name: 'a password is written to the log',
      file: 'src/auth/routes.ts',
      find: '(request) => signIn.begin(request.body, request.ip),',
      replace: `(request) => {
        request.log.info({ given: JSON.stringify(request.body) }, 'sign-in');
        return signIn.begin(request.body, request.ip);
      },`,
      test: 'no password, email address or token is ever logged',
    },
  ]),
  ...caughtBy('test/sign-in-limits.test.ts', [
    {
      name: 'failed sign-ins are counted separately for an email in capitals',
      file: 'src/auth/store.ts',
      find: `createHash('sha256').update(emailKey)`,
      replace: `createHash('sha256').update(email)`,
      test: 'an email address in capitals or with spaces is the same account',
    },
    {
      name: 'X-Forwarded-For is trusted by default',
      file: 'src/config.ts',
      find: `if (given === undefined || given === 'false') return false;`,
      replace: `if (given === 'false') return false;\n  if (given === undefined) return true;`,
      test: 'without TRUST_PROXY nobody gets a new allowance by sending another address in a header',
    },
    {
      name: 'parallel guesses are checked beyond the limit',
      file: 'src/auth/store.ts',
      find: 'select $1, $2, $3 where (select count(*) from (${RECENT_FAILURES}) recent) < ${FAILURES_MAX}',
      replace: 'select $1, $2, $3 where (select count(*) from (${RECENT_FAILURES}) recent) < 1000',
      test: 'only guesses within the limit are checked if forty come at once, and the right one after them is refused',
    },
  ]),
  ...caughtBy('test/rate-limits.test.ts', [
    {
      name: 'a forged token gets a new rate limit',
      file: 'src/http/limits.ts',
      find: 'caller === undefined || caller instanceof Error ? `address:${addressGroup(ip)}`',
      replace:
        'caller instanceof Error ? `forged:${Math.random()}` : caller === undefined ? `address:${addressGroup(ip)}`',
      test: 'forged and expired tokens count for their address',
    },
    {
      name: 'each token has its own rate limit',
      file: 'src/http/limits.ts',
      find: '`user:${caller.userId}`',
      replace: '`token:${caller.tokenId}`',
      test: 'a new token gives no new allowance',
    },
    {
      name: 'refused requests of one user use up the allowance of the merchant',
      file: 'src/http/limits.ts',
      find: 'if (leftIn(window) < 0) break;',
      replace: '',
      test: 'counts all its users together, and no other merchant',
    },
    {
      name: 'Redis counts requests per user only',
      file: 'src/http/limits.ts',
      find: 'const limited = allowances.filter(({ perMinute }) => perMinute > 0);',
      replace: 'const limited = allowances.filter(({ perMinute }) => perMinute > 0).slice(0, 1);',
      test: 'two servers that share a Redis share the limits of a user and a merchant',
    },
  ]),
  ...caughtBy('test/session.test.ts', [
    {
      name: 'the cookie can be read by scripts',
      file: 'src/auth/cookie.ts',
      find: 'httpOnly: true',
      replace: 'httpOnly: false',
      test: 'no script can read the cookie, no other site can send it, no other path receives it',
    },
    {
      name: 'other sites can make a browser send the cookie',
      file: 'src/auth/cookie.ts',
      find: `sameSite: 'strict'`,
      replace: `sameSite: 'none'`,
      test: 'no script can read the cookie, no other site can send it, no other path receives it',
    },
    {
      name: 'the cookie is not Secure behind https',
      file: 'src/auth/cookie.ts',
      find: `reply.request.protocol === 'https'`,
      replace: 'false',
      test: 'the cookie is Secure only if the browser uses https',
    },
    {
      name: 'another site’s page can use the session',
      file: 'src/auth/sessionRoutes.ts',
      find: `if (headers[MARK] !== '1' || (site !== undefined && site !== 'same-origin')) throw notFromDashboard();`,
      replace: `if (headers[MARK] !== '1' && site !== undefined) throw notFromDashboard();`,
      test: 'a request from another site is forbidden, and changes nothing',
    },
  ]),
  ...caughtBy('test/faults/canaries.test.ts', [
    {
      name: 'an error contains a phone number',
      file: 'src/notifications/rules.ts',
      find: 'if (isMissing(member(context, field))) return refuse(required(field));',
      replace: `if (isMissing(member(context, field)))
      return refuse(invalid(field, \`\${field} is required of \${member(context, 'lead_phone')}\`));`,
      test: 'secrets, phone numbers and texts on every path, with and without errors (sqlite)',
    },
  ]),
  ...caughtBy('test/errors.test.ts', [
    {
      name: 'an error contains a library’s text',
      file: 'src/http/errors.ts',
      find: '      return internalError(error);',
      replace: `      return new ApiError('INTERNAL_ERROR', String(error));`,
      test: 'an unexpected error is one fixed sentence: no stack, no SQL, no library text',
    },
  ]),
  ...caughtBy('test/channel-settings.test.ts', [
    {
      name: 'a channel’s secret is stored unencrypted',
      file: 'src/delivery/channels/settings.ts',
      find: 'const sealed = vault.seal(JSON.stringify(settings), channelPurpose(merchantId));',
      replace: 'const sealed = JSON.stringify(settings);',
      test: 'is encrypted: its secret and URL are nowhere in the database',
    },
  ]),
  ...caughtBy('test/webhook-private.test.ts', [
    {
      name: 'a webhook may point to a private network by default',
      file: 'src/config.ts',
      find: 'flag(field.variable) ?? false',
      replace: 'flag(field.variable) ?? true',
      test: 'is not called unless that is allowed',
    },
  ]),
  ...caughtBy('test/webhook-channel.test.ts', [
    {
      name: 'a webhook’s host name may resolve to a private address',
      file: 'src/delivery/channels/webhook/publicAddress.ts',
      find: 'const allowed = found.filter(({ address }) => isPublicAddress(address));',
      replace: 'const allowed = found;',
      test: 'if a host name resolves to one',
    },
  ]),
  ...caughtBy('test/event-limits.test.ts', [
    {
      name: 'event streams are not counted per merchant',
      file: 'src/live/limits.ts',
      find: 'if (isFull(keys[1], perMerchant)) throw merchantIsFull();',
      replace: '',
      test: 'all users of a merchant together may open so many, and other merchants have their own',
    },
    {
      name: 'a killed process keeps its event streams in Redis',
      file: 'src/live/limits.ts',
      find: `redis.call('zremrangebyscore', key, '-inf', now)`,
      replace: '',
      test: 'a process that was killed counts for at most a minute',
    },
  ]),
  ...caughtBy('test/unread-bodies.test.ts', [
    {
      name: 'the rest of a body is not read before the connection closes',
      file: 'src/http/closing.ts',
      find: 'else closeAfterReading(socket);',
      replace: 'else Socket.prototype.destroySoon.call(socket);',
      test: 'arrives: too large (content-length)',
    },
  ]),
  ...caughtBy('test/connections.test.ts', [
    {
      name: 'closed connections still count for their address',
      file: 'src/http/connections.ts',
      find: 'const left = open.get(group)! - 1;',
      replace: 'const left = open.get(group)!;',
      test: 'above the limit of an address get 503 with Retry-After, and are closed',
    },
  ]),
];
