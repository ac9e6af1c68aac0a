import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Proof } from '../../contract/factors.ts';
import type { Database } from '../../database/database.ts';
import {
  factorNotFound,
  noSecondFactor,
  passkeyRefused,
  proofRefused,
  rateLimited,
  registrationRefused,
  required,
  tokenInvalid,
  tooManyPasskeys,
  totpIsOn,
  userNotFound,
} from '../../errors.ts';
import { type Vault, VaultError } from '../../secrets.ts';
import { type Account, type Attempt, attemptOf, countFailure, findAccount } from '../attempts.ts';
import { recordFor, userAt } from '../events.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { registrationOptions, signInOptions, verifyRegistration, verifySignIn } from './passkeys.ts';
import type { RelyingParty } from './relyingParty.ts';
import {
  changeFactors,
  confirmTotp,
  countRecoveryCodes,
  type FactorChange,
  type FactorUser,
  findFactorUser,
  findPasskey,
  findTotp,
  insertPasskey,
  listPasskeys,
  removePasskey,
  removeTotp,
  renewRecoveryCodes,
  storeTotp,
  useChallenge,
  usePasskey,
  useRecoveryCode,
  useTimeStep,
} from './store.ts';
import { newTotpSecret, timeStepOf } from './totp.ts';

export const PASSKEYS_MAX = 20;
/** A secret that was shown must be confirmed within this time. */
const TOTP_SETUP_MS = 15 * 60_000;

const totpPurpose = (userId: number) => `totp secret of user ${userId}`;

/** Who asks: the user of the access token, its session, and the address for the limit on failures. */
export interface FactorCaller {
  userId: number;
  sessionId: string | undefined;
  address: string;
}

interface FactorParts {
  database: Database;
  vault: Vault;
  passwords: Passwords;
  now: () => Date;
}

export type Factors = ReturnType<typeof createFactors>;

export function createFactors({ database, vault, passwords, now }: FactorParts) {
  async function userOf({ userId }: FactorCaller): Promise<FactorUser> {
    const user = await findFactorUser(database, userId);
    if (!user) throw userNotFound();
    if (user.disabled_at !== null) throw tokenInvalid();
    return user;
  }

  /** Checks the password or a code again, with the same limit as signing in. */
  async function prove(
    caller: FactorCaller,
    { password, otp }: Proof,
  ): Promise<FactorUser & { password_hash: string }> {
    const user = await userOf(caller);
    if (!password && !otp) throw required('password');
    const attempt = attemptOf(user.email, caller.address, now(), vault);
    const { account, retryAfterSeconds, lastAtPlace } = await findAccount(database, attempt);
    if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds);
    const isRight = password
      ? await passwords.matches(password, account?.password_hash, {
          group: `user ${user.id}`,
          isKnown: true,
        })
      : await acceptsOtp(user.id, otp!);
    if (!isRight && (await countFailure(database, attempt, lastAtPlace !== null, user)))
      throw proofRefused(password ? 'password' : 'otp');
    // Other attempts may have reached the limit meanwhile. Above it, a right and a wrong one get the same response.
    const { retryAfterSeconds: wait } = await findAccount(database, attempt);
    if (!isRight || wait > 0) throw rateLimited(Math.max(1, wait));
    return { ...user, password_hash: account!.password_hash };
  }

  /** Uses up a code of the authenticator app or a recovery code. */
  async function acceptsOtp(userId: number, given: string): Promise<boolean> {
    const code = given.replace(/[\s-]/g, '');
    if (!/^\d{6}$/.test(code)) return useRecoveryCode(database, userId, code);
    const totp = await findTotp(database, userId);
    if (totp?.confirmed_at == null) return false;
    const step = await stepOf(userId, totp.sealed_secret, code);
    return step !== undefined && useTimeStep(database, userId, step);
  }

  /** After a lost SECRET_KEY no code fits. Recovery codes and passkeys still work, and the operator can reset. */
  async function stepOf(userId: number, sealedSecret: string, code: string): Promise<number | undefined> {
    try {
      return await timeStepOf(vault.open(sealedSecret, totpPurpose(userId)), code, now());
    } catch (error) {
      if (error instanceof VaultError) return undefined;
      throw error;
    }
  }

  const changeOf = (
    caller: FactorCaller,
    what: FactorChange['what'],
    factor: FactorChange['factor'],
  ): FactorChange => ({
    ...caller,
    what,
    factor,
    by: userAt(caller.userId, caller.address),
    at: now(),
  });

  return {
    acceptsOtp,
    prove,

    async list(caller: FactorCaller) {
      const { id } = await userOf(caller);
      const [totp, passkeys, recoveryCodesLeft] = await Promise.all([
        findTotp(database, id),
        listPasskeys(database, id),
        countRecoveryCodes(database, id),
      ]);
      return {
        totp: totp?.confirmed_at != null,
        passkeys: passkeys.map(({ id, name, created_at, last_used_at }) => ({
          id,
          name,
          created_at,
          last_used_at,
        })),
        recovery_codes_left: recoveryCodesLeft,
      };
    },

    async startTotp(caller: FactorCaller, proof: Proof) {
      const user = await prove(caller, proof);
      const totp = await newTotpSecret(user.email);
      const sealedSecret = vault.seal(totp.secret, totpPurpose(user.id));
      if (!(await storeTotp(database, { userId: user.id, sealedSecret, at: now() }))) throw totpIsOn();
      return totp;
    },

    async confirmTotp(caller: FactorCaller, otp: string): Promise<string[]> {
      const user = await userOf(caller);
      const { id } = user;
      const attempt = attemptOf(user.email, caller.address, now(), vault);
      const { retryAfterSeconds, lastAtPlace } = await findAccount(database, attempt);
      if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds);
      const totp = await findTotp(database, id);
      if (!totp) throw factorNotFound();
      if (totp.confirmed_at !== null) throw totpIsOn();
      if (now().getTime() - Date.parse(totp.created_at) > TOTP_SETUP_MS) throw factorNotFound();
      const sealedSecret = totp.sealed_secret;
      const step = await stepOf(id, sealedSecret, otp.replace(/\s/g, ''));
      if (step === undefined) {
        await countFailure(database, attempt, lastAtPlace !== null, user);
        throw proofRefused('otp');
      }
      const { changed, recoveryCodes } = await changeFactors(
        database,
        changeOf(caller, 'factor.added', 'totp'),
        (tx) => confirmTotp(tx, id, { sealedSecret, step, at: now() }),
      );
      if (!changed) throw factorNotFound();
      return recoveryCodes;
    },

    async removeTotp(caller: FactorCaller, proof: Proof): Promise<void> {
      const { id } = await prove(caller, proof);
      const { changed } = await changeFactors(database, changeOf(caller, 'factor.removed', 'totp'), (tx) =>
        removeTotp(tx, id),
      );
      if (!changed) throw factorNotFound();
    },

    async renewRecoveryCodes(caller: FactorCaller, proof: Proof): Promise<string[]> {
      const { id } = await prove(caller, proof);
      const codes = await renewRecoveryCodes(database, id, userAt(id, caller.address), now());
      if (!codes) throw noSecondFactor();
      return codes;
    },

    async passkeyOptions(caller: FactorCaller, proof: Proof, party: RelyingParty) {
      const user = await prove(caller, proof);
      const existing = await listPasskeys(database, user.id);
      if (existing.length >= PASSKEYS_MAX) throw tooManyPasskeys(PASSKEYS_MAX);
      return registrationOptions(vault, party, user, existing, now());
    },

    /** The challenge proves that the user has shown the password or a code. */
    async addPasskey(
      caller: FactorCaller,
      { name, response }: { name: string; response: RegistrationResponseJSON },
      party: RelyingParty,
    ): Promise<string[]> {
      const { id } = await userOf(caller);
      const verified = await verifyRegistration(vault, party, id, response, now());
      const passkey = {
        user_id: id,
        credential_id: verified.credentialId,
        public_key: verified.publicKey,
        counter: verified.counter,
        transports: JSON.stringify(verified.transports),
        name,
        created_at: now().toISOString(),
      };
      const { changed, recoveryCodes } = await changeFactors(
        database,
        changeOf(caller, 'factor.added', 'passkey'),
        async (tx) =>
          (await useChallenge(tx, verified.challengeId, now())) && insertPasskey(tx, passkey, PASSKEYS_MAX),
      );
      if (!changed) throw registrationRefused();
      return recoveryCodes;
    },

    async removePasskey(caller: FactorCaller, proof: Proof, passkeyId: number | undefined): Promise<void> {
      const { id } = await prove(caller, proof);
      if (passkeyId === undefined) throw factorNotFound();
      const { changed } = await changeFactors(database, changeOf(caller, 'factor.removed', 'passkey'), (tx) =>
        removePasskey(tx, id, passkeyId),
      );
      if (!changed) throw factorNotFound();
    },

    signInOptions: (party: RelyingParty) => signInOptions(vault, party, now()),

    /** The account of a passkey that answered one of our challenges. Counts as both factors. */
    async accountOfPasskey(
      response: AuthenticationResponseJSON,
      party: RelyingParty,
      address: string,
    ): Promise<{ account: Account; attempt: Attempt; lastAtPlace: string | null }> {
      const passkey = await findPasskey(database, response.id);
      if (!passkey) throw passkeyRefused();
      const user = { id: passkey.user_id, merchant_id: passkey.merchant_id };
      const recordRefusal = () => recordFor(database, 'sign_in.failed', user, address, now());
      const { challengeId, counter } = await verifySignIn(vault, party, passkey, response, now()).catch(
        async (error) => {
          await recordRefusal();
          throw error;
        },
      );
      const isFirstUse =
        (await useChallenge(database, challengeId, now())) &&
        (await usePasskey(database, passkey, counter, now()));
      const attempt = attemptOf(passkey.email, address, now(), vault);
      const { account, lastAtPlace } = await findAccount(database, attempt);
      if (!isFirstUse || account?.id !== passkey.user_id || account.disabled_at !== null) {
        await recordRefusal();
        throw passkeyRefused();
      }
      return { account, attempt, lastAtPlace };
    },
  };
}
