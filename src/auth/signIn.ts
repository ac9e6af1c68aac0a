import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { LoginBody, LoginTokens } from '../contract/auth.ts';
import type { Database } from '../database/database.ts';
import { invalidCredentials, mfaRequired, passkeyRefused, rateLimited, wrongOtp } from '../errors.ts';
import { addressGroup, shortAddress } from '../http/address.ts';
import { createFairSlots } from '../http/limits/fairSlots.ts';
import type { Vault } from '../secrets.ts';
import { type Account, type Attempt, attemptOf, findAccount, rememberPlace } from './attempts.ts';
import { checkGuess } from './checkGuess.ts';
import { recordFor } from './events.ts';
import type { Factors } from './factors/factors.ts';
import type { RelyingParty } from './factors/passkeys/relyingParty.ts';
import type { Passwords } from './passwords/passwords.ts';
import { endOldestSessions, openSession } from './sessions/store.ts';
import type { Tokens } from './tokens.ts';

export interface SignInParts {
  database: Database;
  tokens: Tokens;
  passwords: Passwords;
  vault: Vault;
  log: { warn(object: object, message: string): void };
  factors: Factors;
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
  sessionsPerUser: number;
  now: () => Date;
}

/** Opens a session, or throws the reason for refusing it. */
export interface SignIn {
  withPassword(
    credentials: LoginBody,
    address: string,
    options: { isDashboard: boolean; device: string | null },
  ): Promise<LoginTokens>;
  /** To the dashboard. */
  withPasskey(
    response: AuthenticationResponseJSON,
    party: RelyingParty,
    address: string,
    device: string | null,
  ): Promise<LoginTokens>;
}

const LOOK_UPS_AT_ONCE = 4;

export function createSignIn(parts: SignInParts): SignIn {
  const { database, tokens, passwords, vault, factors, log, accessTtlSeconds, refreshTtlSeconds } = parts;
  const { sessionsPerUser, now } = parts;

  /**
   * An attacker above the limits still causes a query for each request. Only a few run at a time, so that others get a
   * database connection, and in each turn of the event loop, so that others get a turn.
   */
  const withLookUpSlot = createFairSlots(LOOK_UPS_AT_ONCE, Number.POSITIVE_INFINITY);
  const lookUp = (attempt: Attempt) =>
    withLookUpSlot({ group: attempt.addressGroup, isKnown: false }, async () => {
      await nextTurn();
      return findAccount(database, attempt);
    });

  async function open(
    account: Account,
    attempt: Attempt,
    lastAtPlace: string | null,
    { isPasskey, isDashboard, device }: { isPasskey: boolean; isDashboard: boolean; device: string | null },
  ): Promise<LoginTokens> {
    const session = {
      id: randomUUID(),
      userId: account.id,
      passwordHash: account.password_hash,
      secondFactorAt: account.second_factor_at,
      expiresAt: new Date(attempt.at.getTime() + refreshTtlSeconds * 1000),
      address: shortAddress(attempt.address),
      device,
    };
    const opened = await database.transaction(async (tx) => {
      const isOpen = await openSession(tx, session, attempt, {
        isKnown: lastAtPlace !== null,
        isPasskey,
      });
      if (isOpen) await recordFor(tx, 'sign_in.succeeded', account, attempt.address, now());
      return isOpen;
    });
    if (!opened) {
      const { retryAfterSeconds } = await findAccount(database, attempt);
      throw retryAfterSeconds > 0 ? rateLimited(retryAfterSeconds) : invalidCredentials();
    }
    // After the commit: of several sign-ins at once, the last one sees all of them.
    await endOldestSessions(database, account, sessionsPerUser, attempt.at);

    const subject = { userId: account.id, merchantId: account.merchant_id, role: account.role };
    const [access_token, refresh_token] = await Promise.all([
      tokens.sign('access', { ...subject, sessionId: session.id }, randomUUID()),
      tokens.sign('refresh', { ...subject, isDashboard }, session.id),
      // The session is open: a place that cannot be stored must not lose it.
      rememberPlace(database, account.id, attempt, lastAtPlace).catch((err) =>
        log.warn({ err }, 'cannot remember from where a user signed in'),
      ),
    ]);
    return { access_token, refresh_token, token_type: 'bearer', expires_in: accessTtlSeconds };
  }

  return {
    async withPassword({ email, password, otp }, address, { isDashboard, device }) {
      const attempt = attemptOf(email, address, now(), vault);
      const { account, lastAtPlace } = await checkGuess(
        database,
        attempt,
        async ({ account, lastAtPlace }) => {
          const requester = { group: attempt.addressGroup, isKnown: lastAtPlace !== null };
          const isRight = await passwords.matches(password, account?.password_hash, requester);
          if (!account || !isRight || account.disabled_at !== null) return { wrong: invalidCredentials() };
          if (account.second_factor_at !== null) {
            if (!otp) return { missing: mfaRequired() };
            if (!(await factors.acceptsOtp(account.id, otp))) return { wrong: wrongOtp() };
          }
          return { right: { account, lastAtPlace } };
        },
        lookUp,
      );
      return open(account, attempt, lastAtPlace, { isPasskey: false, isDashboard, device });
    },

    async withPasskey(response, party, address, device) {
      const requester = { group: addressGroup(address), isKnown: false };
      const owner = await withLookUpSlot(requester, () => factors.passkeys.ownerOf(response, party, address));
      const attempt = attemptOf(owner.email, address, now(), vault);
      const { account, lastAtPlace } = await findAccount(database, attempt);
      if (account?.id !== owner.id || account.disabled_at !== null) {
        await recordFor(database, 'sign_in.failed', owner, address, now());
        throw passkeyRefused();
      }
      // As it was when the passkey was found: one that was removed since then opens no session.
      const { second_factor_at } = owner;
      return open({ ...account, second_factor_at }, attempt, lastAtPlace, {
        isPasskey: true,
        isDashboard: true,
        device,
      });
    },
  };
}
