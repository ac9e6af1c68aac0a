import { caughtBy, type Mutation } from './mutation.ts';

/** Passwords, their limits, and second factors. */
export const SIGN_IN_MUTATIONS: readonly Mutation[] = [
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
  ...caughtBy('test/features/people/ownPassword.test.ts', [
    {
      name: 'a user’s own change overwrites a password that the operator has just set',
      file: 'src/auth/users.ts',
      find: `    if (sessionId !== undefined && !(await isOpenSession(tx, sessionId))) return false;
    const [user] = await tx.run<ChangedUser>(
      \`update users set password_hash = $2 where id = $1 and password_hash = $3`,
      replace: `    const [user] = await tx.run<ChangedUser>(
      \`update users set password_hash = $2 where id = $1 and $3 = $3`,
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
  ...caughtBy('test/contract/sign-in.test.ts', [
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
      find: `(request) =>
        signIn.withPassword(request.body, request.ip, {
          isDashboard: false,
          device: deviceOf(request.headers['user-agent']),
        }),`,
      replace: `(request) => {
        request.log.info({ given: JSON.stringify(request.body) }, 'sign-in');
        return signIn.withPassword(request.body, request.ip, { isDashboard: false, device: null });
      },`,
      test: 'no password, email address or token is ever logged',
    },
  ]),
  ...caughtBy('test/features/people/signInLimits.test.ts', [
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
  ...caughtBy('test/features/people/signInQueue.test.ts', [
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
  ]),
  ...caughtBy('test/features/people/secondFactor.test.ts', [
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
  ...caughtBy('test/features/people/factorSettings.test.ts', [
    {
      name: 'above the limit a wrong code still gets the response of a wrong code',
      file: 'src/auth/checkGuess.ts',
      find: 'if (isCounted) throw checked.wrong;',
      replace: 'if (isCounted || isWrong) throw checked.wrong;',
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
  ...caughtBy('test/features/people/passkeys.test.ts', [
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
];
