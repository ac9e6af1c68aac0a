import { caughtBy, type Mutation } from './mutation.ts';

/** Passwords, second factors, sessions, tokens and keys. */
export const SIGN_IN_MUTATIONS: readonly Mutation[] = [
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
  ...caughtBy('src/auth/passwords/policy.test.ts', [
    {
      name: 'a password may be made from the names of the user and the shop',
      file: 'src/auth/passwords/policy.ts',
      find: 'const words = [...COMMON, ...names];',
      replace: 'const words = [...COMMON];',
      test: 'takes names into account',
    },
    {
      name: 'a password that is easy to guess is accepted',
      file: 'src/auth/passwords/policy.ts',
      find: 'scorer.check(text, words).score >= SCORE_MIN',
      replace: 'scorer.check(text, words).score >= 0',
      test: 'refuses "qwertyuiop"',
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
      file: 'src/auth/sessions/store.ts',
      find: 's.user_id = u.id and s.revoked_at is null',
      replace: 's.user_id = u.id',
      test: 'signing out ends that session and no other',
    },
    {
      name: 'a new password leaves the sessions open',
      file: 'src/auth/users.ts',
      find: '  await endSessionsOf(tx, user.id, at, sessionId);\n',
      replace: '',
      test: 'a new password ends all sessions of its user, and nobody else’s',
    },
  ]),
  ...caughtBy('test/own-password.test.ts', [
    {
      name: 'a user’s own change overwrites a password that the operator has just set',
      file: 'src/auth/users.ts',
      find: "password_hash = $3 and disabled_at is null\n        ${sessionId === undefined ? '' : `and ${isOpenSession('$4')}`}",
      replace: '$3 = $3 and $4 = $4',
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
  ...caughtBy('test/keys.test.ts', [
    {
      name: 'a removed key signs tokens if the new one cannot be decrypted',
      file: 'src/auth/keys.ts',
      find: 'signer = nextSigner;',
      replace: 'signer = nextSigner ?? signer;',
      test: 'a key that cannot be decrypted signs nobody in: no token is issued that would be refused',
    },
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
      file: 'src/auth/sessions/revocations.ts',
      find: `  const unsubscribe = database.listen(REVOCATIONS, readOrRetry);
  const interval = setInterval(() => {`,
      replace: `  const unsubscribe = () => {};
  const interval = setInterval(() => {
    if (REVOCATIONS) return;`,
      test: 'access ends in every process',
    },
    {
      name: 'without a signal, revocations are not noticed',
      file: 'src/auth/sessions/revocations.ts',
      find: '    if (!reading) readOrRetry();',
      replace: '    if (failing) readOrRetry();',
      test: 'a command in another process ends the tokens and streams of a running server',
    },
    {
      name: 'a revocation that commits late is missed',
      file: 'src/auth/sessions/revocations.ts',
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
      file: 'src/auth/sessions/sessions.ts',
      find: 'if (!isCurrent && !isUnanswered && !(rotatedNow && generation === session.generation - 1)) {',
      replace: 'if (generation > session.generation) {',
      test: 'a replaced token that is used again ends the session and its access tokens',
    },
    {
      name: 'the oldest session of a user does not end',
      file: 'src/auth/signIn.ts',
      find: 'await endOldestSessions(database, account, sessionsPerUser, attempt.at);',
      replace: 'if (sessionsPerUser === 0) await endOldestSessions(database, account, 0, attempt.at);',
      test: 'are at most twenty: the one that was not used for longest ends',
    },
    {
      name: 'a session that is not used never ends',
      file: 'src/auth/sessions/sessions.ts',
      find: 'if (Date.parse(session.last_used_at) < idleSince().getTime()) throw tokenExpired();',
      replace: '',
      test: 'ends after SESSION_IDLE_DAYS, and every refresh prolongs it',
    },
    {
      name: 'a user can end another user’s session',
      file: 'src/auth/sessions/store.ts',
      find: 'where id = $2 and user_id = $1 and revoked_at is null returning id',
      replace: 'where id = $2 and user_id <> -$1 and revoked_at is null returning id',
      test: 'can be ended one by one, and only by their user',
    },
  ]),
  ...caughtBy('test/sign-in.test.ts', [
    {
      name: 'no hash is compared for an unknown email',
      file: 'src/auth/passwords/passwords.ts',
      find: 'const isMatch = await verify(stored ?? NO_PASSWORD, password);',
      replace: 'const isMatch = stored !== undefined && (await verify(stored, password));',
      test: 'a known and an unknown email need the same work, so timing reveals nothing',
    },
    {
      name: 'a password is written to the log',
      file: 'src/auth/routes.ts',
      find: '(request) => signIn.withPassword(request.body, request.ip, { isDashboard: false }),',
      replace: `(request) => {
        request.log.info({ given: JSON.stringify(request.body) }, 'sign-in');
        return signIn.withPassword(request.body, request.ip, { isDashboard: false });
      },`,
      test: 'no password, email address or token is ever logged',
    },
  ]),
  ...caughtBy('test/sign-in-limits.test.ts', [
    {
      name: 'failed sign-ins are counted separately for an email in capitals',
      file: 'src/auth/attempts.ts',
      find: `createHash('sha256').update(emailKey)`,
      replace: `createHash('sha256').update(email)`,
      test: 'an email address in capitals or with spaces is the same account',
    },
    {
      name: 'X-Forwarded-For is trusted by default',
      file: 'src/config/hosts.ts',
      find: `if (given === undefined || given === 'false') return false;`,
      replace: `if (given === 'false') return false;\n  if (given === undefined) return true;`,
      test: 'without TRUST_PROXY nobody gets a new allowance by sending another address in a header',
    },
    {
      name: 'parallel guesses are checked beyond the limit',
      file: 'src/auth/attempts.ts',
      find: 'where ${withinLimits(attempt, { isKnown }, bind)} returning account',
      replace: 'where ${withinLimits(attempt, { isKnown }, bind)} or true returning account',
      test: 'only guesses within the limit are checked if forty come at once, and the right one after them is refused',
    },
    {
      name: 'the password queue has no share per address',
      file: 'src/http/limits/fairSlots.ts',
      find: '.push(group, waiting);\n      // A caller',
      replace: `.push('', waiting);\n      // A caller`,
      test: 'from one address, the owner at another one gets in, and those that do not fit get 503 with Retry-After',
    },
    {
      name: 'the password queue has no share for known places',
      file: 'src/http/limits/fairSlots.ts',
      find: '(isKnown ? known : unknown).push',
      replace: '(isKnown ? unknown : unknown).push',
      test: 'from hundreds of addresses, the owner gets in from where the owner has signed in before',
    },
    {
      name: 'the limit of an account locks out a known address',
      file: 'src/auth/attempts.ts',
      find: 'const isExempt = row.last_at !== null && !appliesToKnown;',
      replace: 'const isExempt = false;',
      test: 'an account gets 429 at new addresses after a hundred, and opens where its owner has signed in',
    },
    {
      name: 'IPv6 addresses are counted one by one',
      file: 'src/auth/attempts.ts',
      find: 'const group = addressGroup(address);',
      replace: 'const group = address;',
      test: 'all addresses of an IPv6 network of 64 bits count as one',
    },
  ]),
  ...caughtBy('test/second-factor.test.ts', [
    {
      name: 'a code of the authenticator app is accepted twice',
      file: 'src/auth/factors/totp/store.ts',
      find: 'confirmed_at is not null and last_step < $2 returning user_id',
      replace: 'confirmed_at is not null returning user_id',
      test: 'each code works once',
    },
    {
      name: 'the dashboard signs in without the second factor',
      file: 'src/auth/signIn.ts',
      find: 'if (!otp) return { missing: mfaRequired() };',
      replace: 'if (!otp) return { right: { account, lastAtPlace } };',
      test: 'the dashboard asks for the code too',
    },
    {
      name: 'a recovery code works again',
      file: 'src/auth/factors/recoveryCodes.ts',
      find: `'delete from recovery_codes where user_id = $1 and code_hash = $2 returning user_id'`,
      replace: `'update recovery_codes set code_hash = $2 where user_id = $1 and code_hash = $2 returning user_id'`,
      test: 'a recovery code works once instead of a code, in any spelling',
    },
    {
      name: 'wrong codes do not count as failed sign-ins',
      file: 'src/auth/signIn.ts',
      find: 'return { wrong: wrongOtp() };',
      replace: 'return { missing: wrongOtp() };',
      test: 'wrong codes count as failed sign-ins, missing ones do not',
    },
  ]),
  ...caughtBy('test/factor-settings.test.ts', [
    {
      name: 'above the limit a wrong code still gets the response of a wrong code',
      file: 'src/auth/checkGuess.ts',
      find: 'if (isWrong && (await countFailure(database, attempt, isKnown, found.account))) throw checked.wrong;',
      replace: `if (isWrong) {
    await countFailure(database, attempt, isKnown, found.account);
    throw checked.wrong;
  }`,
      test: 'only codes within the limit are checked if sixty wrong ones come at once to confirm an app',
    },
    {
      name: 'a session that has ended changes the second factors',
      file: 'src/auth/factors/change.ts',
      find: 'const before = await lockUser(tx, userId, sessionId);',
      replace: 'const before = await lockUser(tx, userId, sessionId && undefined);',
      test: 'do not change for a session that ends while the password is checked: it is INVALID_TOKEN',
    },
    {
      name: 'a change of the second factors leaves the other sessions open',
      file: 'src/auth/factors/change.ts',
      find: '    await endSessionsOf(tx, userId, at, sessionId);\n',
      replace: '',
      test: 'new recovery codes replace the old ones and end the other sessions',
    },
  ]),
  ...caughtBy('test/passkeys.test.ts', [
    {
      name: 'a passkey that is being removed opens a session',
      file: 'src/auth/signIn.ts',
      find: 'return open({ ...account, second_factor_at }, attempt',
      replace: 'return open(account, attempt',
      test: 'open no session if they are removed in the meantime',
    },
    {
      name: 'a passkey’s answer is accepted twice',
      file: 'src/auth/factors/passkeys/passkeys.ts',
      find: '(await useChallenge(database, challengeId, now())) &&',
      replace: '(await useChallenge(database, challengeId, now()), true) &&',
      test: 'an answer works once: sent again, or by two at the same time, it is refused',
    },
  ]),
  ...caughtBy('test/session.test.ts', [
    {
      name: 'a stolen cookie can be used without being replaced',
      file: 'src/auth/sessions/sessions.ts',
      find: '    if (isDashboard && !byBrowser) throw tokenInvalid();\n',
      replace: '',
      test: 'the API refuses the token of the cookie, which it would not replace',
    },
    {
      name: 'a thief gets the current cookie right after its owner',
      file: 'src/auth/sessions/sessions.ts',
      find: ' && session.address === address',
      replace: '',
      test: 'an old cookie that is used elsewhere, right after the owner, ends the session as well',
    },
    {
      name: 'the cookie is replaced for every tab',
      file: 'src/auth/sessions/sessions.ts',
      find: 'const rotates = rotate && !rotatedNow;',
      replace: 'const rotates = rotate;',
      test: 'nobody is signed out by tabs that refresh at the same time',
    },
    {
      name: 'a browser that lost a response is signed out',
      file: 'src/auth/sessions/sessions.ts',
      find: 'const isUnanswered = byBrowser && generation === session.used_generation;',
      replace: 'const isUnanswered = false;',
      test: 'nobody is signed out because a response was lost, even if the next try is a day later',
    },
    {
      name: 'the cookie can be read by scripts',
      file: 'src/auth/sessions/cookie.ts',
      find: 'httpOnly: true',
      replace: 'httpOnly: false',
      test: 'no script can read the cookie, no other site can send it, no other path receives it',
    },
    {
      name: 'other sites can make a browser send the cookie',
      file: 'src/auth/sessions/cookie.ts',
      find: `sameSite: 'strict'`,
      replace: `sameSite: 'none'`,
      test: 'no script can read the cookie, no other site can send it, no other path receives it',
    },
    {
      name: 'the cookie is not Secure behind https',
      file: 'src/auth/sessions/cookie.ts',
      find: `reply.request.protocol === 'https'`,
      replace: 'false',
      test: 'the cookie is Secure only if the browser uses https',
    },
    {
      name: 'another site’s page can use the session',
      file: 'src/auth/sessions/routes.ts',
      find: `headers[DASHBOARD_HEADER] !== '1' || (site !== undefined && site !== 'same-origin')`,
      replace: `headers[DASHBOARD_HEADER] !== '1' && site !== undefined`,
      test: 'a request from another site is forbidden, and changes nothing',
    },
  ]),
  ...caughtBy('test/session.test.ts', [
    {
      name: 'a proxy’s visitors get the demo’s passwords',
      file: 'src/http/address.ts',
      find: ' && !PROXY_HEADERS.some((name) => name in request.headers)',
      replace: '',
      test: 'are listed only for callers on the same machine, while they exist and have their demo passwords',
    },
  ]),
];
