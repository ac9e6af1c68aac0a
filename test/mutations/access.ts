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
      find: 'select $1, $2, $3 where ${WITHIN_LIMITS} returning account',
      replace: 'select $1, $2, $3 where ${WITHIN_LIMITS} or true returning account',
      test: 'only guesses within the limit are checked if forty come at once, and the right one after them is refused',
    },
    {
      name: 'the password queue has no share per address',
      file: 'src/auth/fairSlots.ts',
      find: '.push(addressGroup, {',
      replace: `.push('', {`,
      test: 'from one address, the owner at another one gets in, and those that do not fit get 503 with Retry-After',
    },
    {
      name: 'the password queue has no share for known places',
      file: 'src/auth/fairSlots.ts',
      find: '(isKnown ? known : unknown).push',
      replace: '(isKnown ? unknown : unknown).push',
      test: 'from hundreds of addresses, the owner gets in from where the owner has signed in before',
    },
    {
      name: 'the limit of an account locks out a known address',
      file: 'src/auth/store.ts',
      find: 'const isExempt = row.last_at !== null && !appliesToKnown;',
      replace: 'const isExempt = false;',
      test: 'an account gets 429 at new addresses after a hundred, and opens where its owner has signed in',
    },
    {
      name: 'IPv6 addresses are counted one by one',
      file: 'src/auth/store.ts',
      find: 'const group = addressGroup(address);',
      replace: 'const group = address;',
      test: 'all addresses of an IPv6 network of 64 bits count as one',
    },
  ]),
  ...caughtBy('test/rate-limits.test.ts', [
    {
      name: 'a forged token gets a new rate limit',
      file: 'src/http/limits.ts',
      find: 'caller === undefined || caller instanceof Error ? `address:${ip}`',
      replace: 'caller instanceof Error ? `forged:${Math.random()}` : caller === undefined ? `address:${ip}`',
      test: 'forged and expired tokens count for their address',
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
  ...caughtBy('test/session.test.ts', [
    {
      name: 'a proxy’s visitors get the demo’s passwords',
      file: 'src/auth/sessionRoutes.ts',
      find: `isLoopback(socket.remoteAddress ?? '') && !PROXY_HEADERS.some((name) => name in headers);`,
      replace: `isLoopback(socket.remoteAddress ?? '');`,
      test: 'are listed only for callers on the same machine, not for visitors of a proxy on it',
    },
  ]),
  ...caughtBy('test/hosts.test.ts', [
    {
      name: 'every host name is answered',
      file: 'src/app.ts',
      find: 'if (config.allowedHosts) checkHosts(app, config.allowedHosts);',
      replace: '',
      test: 'must be one of this machine while the server listens there',
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
];
