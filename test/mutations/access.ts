import { caughtBy, type Mutation } from './mutation.ts';

/** Authentication, authorization and secrets. */
export const ACCESS_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/faults/tokens.test.ts', [
    {
      name: 'the algorithm of a token is not pinned',
      file: 'src/auth/tokens.ts',
      find: 'algorithms: [ALGORITHM],',
      replace: '',
      test: 'forged, changed, misused, revoked and wrongly sent tokens (sqlite)',
    },
    {
      name: 'the audience of a token is not checked',
      file: 'src/auth/tokens.ts',
      find: 'audience: KINDS[kind].audience,',
      replace: '',
      test: 'forged, changed, misused, revoked and wrongly sent tokens (sqlite)',
    },
    {
      name: 'the issuer of a token is not checked',
      file: 'src/auth/tokens.ts',
      find: 'issuer: settings.issuer,',
      replace: '',
      test: 'forged, changed, misused, revoked and wrongly sent tokens (sqlite)',
    },
    {
      name: 'the type of a token is not checked',
      file: 'src/auth/tokens.ts',
      find: 'typ: KINDS[kind].typ,',
      replace: '',
      test: 'forged, changed, misused, revoked and wrongly sent tokens (sqlite)',
    },
    {
      name: 'a token is accepted in several encodings',
      file: 'src/auth/tokens.ts',
      find: `if (Buffer.from(part, 'base64url').toString('base64url') !== part) throw tokenInvalid();`,
      replace: '',
      test: 'forged, changed, misused, revoked and wrongly sent tokens (sqlite)',
    },
  ]),
  ...caughtBy('test/deadline.test.ts', [
    {
      name: 'the statements of a request do not share its deadline',
      file: 'src/database/deadline.ts',
      find: 'return deadline ? deadline.endsAtMs - performance.now() : Number.POSITIVE_INFINITY;',
      replace: 'return Number.POSITIVE_INFINITY;',
      test: 'every request ends within its deadline, whatever it waits for',
    },
    {
      name: 'a slow body uses up the time of its request',
      file: 'src/http/deadline.ts',
      find: 'request.deadline.endsAtMs += performance.now() - request.bodyAwaitedAtMs;',
      replace: '',
      test: 'a client that sends its body slowly does not use up the time of its request',
    },
    {
      name: 'a write whose deadline has passed still waits for the lock',
      file: 'src/database/sqlite.ts',
      find: 'if (job.endsAtMs > nowMs) return true;',
      replace: 'return true;',
      test: 'a request waits for it until its deadline, and then writes nothing',
    },
  ]),
  ...caughtBy('src/auth/passwordPolicy.test.ts', [
    {
      name: 'a password may be made from the names of the user and the shop',
      file: 'src/auth/passwordPolicy.ts',
      find: "['deskbell', ...words]",
      replace: '[]',
      test: 'takes names into account',
    },
    {
      name: 'a password that is easy to guess is accepted',
      file: 'src/auth/passwordPolicy.ts',
      find: 'if (score >= SCORE_MIN) return undefined;',
      replace: 'if (score >= 0) return undefined;',
      test: 'refuses "qwertyuiop"',
    },
  ]),
  ...caughtBy('test/hardening.test.ts', [
    {
      name: 'the cookie of a production server travels over plain HTTP',
      file: 'src/auth/cookie.ts',
      find: "secure: production || reply.request.protocol === 'https',",
      replace: "secure: reply.request.protocol === 'https',",
      test: 'sets a cookie that needs TLS and belongs to this host alone',
    },
    {
      name: 'a proxy on the same machine can read the metrics for others',
      file: 'src/http/metrics.ts',
      find: ' && !isFromThisMachine(request)',
      replace: ' && false',
      test: 'gives its metrics only to its own machine, if no token or port is set',
    },
    {
      name: 'files of the data folder keep the modes of an earlier version',
      file: 'src/database/sqliteFolder.ts',
      find: 'if (correct) for',
      replace: 'if (!correct) for',
      test: 'has only files that their owner alone can read, whatever the mode of the folder',
    },
    {
      name: 'messages are sent to the whole Internet over plain HTTP',
      file: 'src/delivery/channels/fields.ts',
      find: "(protocol === 'http:' && LOOPBACK.test(hostname ?? ''))",
      replace: "protocol === 'http:'",
      test: 'are https, unless private ones are allowed',
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
      find: '    await endSessionsOf(tx, userId, at, own?.sessionId);\n',
      replace: '',
      test: 'a new password ends all sessions of its user, and nobody else’s',
    },
  ]),
  ...caughtBy('test/own-password.test.ts', [
    {
      name: 'a user’s own change overwrites a password that the operator has just set',
      file: 'src/auth/store.ts',
      find: `($3 = '' or (password_hash = $3 and disabled_at is null))`,
      replace: `($3 = $3)`,
      test: 'does not overwrite a password that the operator sets meanwhile, or survive the end of its session',
    },
    {
      name: 'a token that is revoked while the body arrives is accepted',
      file: 'src/auth/guard.ts',
      find: 'tokens.isRevoked(caller)',
      replace: 'false',
      test: 'is not changed by a request whose session ended while its body arrived',
    },
  ]),
  ...caughtBy('test/audit.test.ts', [
    {
      name: 'a disabled user is not written to the audit log',
      file: 'src/auth/store.ts',
      find: `    if (user) await recordChange(tx, 'user.disabled', user, by, at);\n`,
      replace: '',
      test: 'a disabled user is written down in the same transaction',
    },
    {
      name: 'the audit log shows the events of all merchants',
      file: 'src/audit/routes.ts',
      find: 'merchantId: merchantOf(request),',
      replace: 'merchantId: undefined,',
      test: 'another merchant’s events are invisible, with every filter',
    },
    {
      name: 'every user of a merchant may do what only an owner may',
      file: 'src/auth/guard.ts',
      find: `    if (callerOf(request).role !== 'owner') throw ownerRequired();\n`,
      replace: '',
      test: 'only an owner may read it',
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
  ...caughtBy('test/revocation.test.ts', [
    {
      name: 'revocations do not reach other processes',
      file: 'src/auth/revocations.ts',
      find: `  const unsubscribe = database.listen(REVOCATIONS, readOrRetry);
  const interval = setInterval(() => {`,
      replace: `  const unsubscribe = () => {};
  const interval = setInterval(() => {
    if (REVOCATIONS) return;`,
      test: 'access ends in every process',
    },
    {
      name: 'without a signal, revocations are not noticed',
      file: 'src/auth/revocations.ts',
      find: '    if (!reading) readOrRetry();',
      replace: '    if (failing) readOrRetry();',
      test: 'a command in another process ends the tokens and streams of a running server',
    },
    {
      name: 'a revocation that commits late is missed',
      file: 'src/auth/revocations.ts',
      find: 'if (at > startedAt - REREAD_MS) continue;',
      replace: 'if (at > startedAt) continue;',
      test: 'a transaction that commits after others with higher ids is noticed',
    },
    {
      name: 'a token in the cache survives its session',
      file: 'src/auth/tokens.ts',
      find: ' && !isRevoked(caller) ? caller : undefined;',
      replace: ' ? caller : undefined;',
      test: 'signing out ends access tokens that were used before, and event streams',
    },
    {
      name: 'an event stream survives its session',
      file: 'src/live/routes.ts',
      find: 'const unwatch = revocations.watch(caller, () => stream.end());',
      replace: 'const unwatch = revocations.watch(caller, () => {});',
      test: 'signing out ends access tokens that were used before, and event streams',
    },
  ]),
  ...caughtBy('test/refresh-tokens.test.ts', [
    {
      name: 'a replaced refresh token is accepted',
      file: 'src/auth/sessions.ts',
      find: 'if (!isCurrent && !(generation === session.generation - 1 && rotatedRecently)) {',
      replace: 'if (generation > session.generation) {',
      test: 'a replaced token that is used again ends the session and its access tokens',
    },
    {
      name: 'a token is rotated twice in a row',
      file: 'src/auth/sessions.ts',
      find: 'const rotates = rotate && isCurrent && !rotatedRecently;',
      replace: 'const rotates = rotate && isCurrent;',
      test: 'nobody is signed out by two tabs at once, or by a retry after a lost response',
    },
    {
      name: 'the oldest session of a user does not end',
      file: 'src/auth/signIn.ts',
      find: 'await endOldestSessions(database, account.id, sessionsPerUser, attempt.at);',
      replace: 'if (sessionsPerUser === 0) await endOldestSessions(database, account.id, 0, attempt.at);',
      test: 'are at most twenty: the one that was not used for longest ends',
    },
    {
      name: 'a session that is not used never ends',
      file: 'src/auth/sessions.ts',
      find: 'if (Date.parse(session.last_used_at) < idleSince().getTime()) throw tokenExpired();',
      replace: '',
      test: 'ends after SESSION_IDLE_DAYS, and every refresh prolongs it',
    },
    {
      name: 'a user can end another user’s session',
      file: 'src/auth/store.ts',
      find: 'where id = $2 and user_id = $1 and revoked_at is null returning id',
      replace: 'where id = $2 and user_id <> -$1 and revoked_at is null returning id',
      test: 'can be ended one by one, and only by their user',
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
      find: '.push(group, waiting);\n      // A caller',
      replace: `.push('', waiting);\n      // A caller`,
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
  ...caughtBy('test/second-factor.test.ts', [
    {
      name: 'a code of the authenticator app is accepted twice',
      file: 'src/auth/factors/store.ts',
      find: 'confirmed_at is not null and last_step < $2 returning user_id',
      replace: 'confirmed_at is not null returning user_id',
      test: 'each code works once',
    },
    {
      name: 'the dashboard signs in without the second factor',
      file: 'src/auth/signIn.ts',
      find: 'if (!otp) throw await refusalOf(attempt, mfaRequired());',
      replace: 'if (!otp) return open(account, attempt);',
      test: 'the dashboard asks for the code too',
    },
    {
      name: 'a recovery code works again',
      file: 'src/auth/factors/store.ts',
      find: `'delete from recovery_codes where user_id = $1 and code_hash = $2 returning user_id'`,
      replace: `'update recovery_codes set code_hash = $2 where user_id = $1 and code_hash = $2 returning user_id'`,
      test: 'a recovery code works once instead of a code, in any spelling',
    },
    {
      name: 'wrong codes do not count as failed sign-ins',
      file: 'src/auth/signIn.ts',
      find: 'throw (await countFailure(attempt, isKnown, account)) ? wrongOtp() : await refusalOf(attempt);',
      replace: 'throw wrongOtp();',
      test: 'wrong codes count as failed sign-ins, missing ones do not',
    },
  ]),
  ...caughtBy('test/passkeys.test.ts', [
    {
      name: 'a passkey’s answer is accepted twice',
      file: 'src/auth/factors/factors.ts',
      find: '(await useChallenge(database, challengeId, now())) &&',
      replace: '(await useChallenge(database, challengeId, now()), true) &&',
      test: 'an answer works once: sent again, or by two at the same time, it is refused',
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
  ...caughtBy('test/session.test.ts', [
    {
      name: 'a proxy’s visitors get the demo’s passwords',
      file: 'src/http/address.ts',
      find: ' && !PROXY_HEADERS.some((name) => name in request.headers)',
      replace: '',
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
