import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Proof } from '../../../contract/factors.ts';
import {
  ApiError,
  factorNotFound,
  passkeyRefused,
  registrationRefused,
  tooManyPasskeys,
} from '../../../errors.ts';
import { recordFor } from '../../events.ts';
import { changeBy, changeFactors } from '../change.ts';
import type { FactorCaller, ProofParts, Proofs } from '../prove.ts';
import { useChallenge } from './challenges.ts';
import type { RelyingParty } from './relyingParty.ts';
import { findPasskey, insertPasskey, listPasskeys, removePasskey, usePasskey } from './store.ts';
import { registrationOptions, signInOptions, verifyRegistration, verifySignIn } from './webauthn.ts';

export const PASSKEYS_MAX = 20;

/** The passkeys of a user, and signing in with one. */
export function createPasskeys({ database, vault, now }: ProofParts, { userOf, prove }: Proofs) {
  return {
    async options(caller: FactorCaller, proof: Proof, party: RelyingParty) {
      const user = await prove(caller, proof);
      const existing = await listPasskeys(database, user.id);
      if (existing.length >= PASSKEYS_MAX) throw tooManyPasskeys(PASSKEYS_MAX);
      return registrationOptions(vault, party, user, existing, now());
    },

    /** The challenge proves that the user has shown the password or a code. */
    async add(
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
      const change = changeBy(caller, { what: 'factor.added', factor: 'passkey' }, now());
      const codes = await changeFactors(
        database,
        change,
        async (tx) =>
          (await useChallenge(tx, verified.challengeId, now())) && insertPasskey(tx, passkey, PASSKEYS_MAX),
      );
      if (!codes) throw registrationRefused();
      return codes;
    },

    async remove(caller: FactorCaller, proof: Proof, passkeyId: number | undefined): Promise<void> {
      const { id } = await prove(caller, proof);
      if (passkeyId === undefined) throw factorNotFound();
      const change = changeBy(caller, { what: 'factor.removed', factor: 'passkey' }, now());
      const codes = await changeFactors(database, change, (tx) => removePasskey(tx, id, passkeyId));
      if (!codes) throw factorNotFound();
    },

    signInOptions: (party: RelyingParty) => signInOptions(vault, party, now()),

    /** The user whose passkey answered one of our challenges. Counts as both factors. */
    async ownerOf(
      response: AuthenticationResponseJSON,
      party: RelyingParty,
      address: string,
    ): Promise<{ id: number; merchant_id: number | null; email: string; second_factor_at: string | null }> {
      const passkey = await findPasskey(database, response.id);
      if (!passkey) throw passkeyRefused();
      const { email, merchant_id, user_id: id, second_factor_at } = passkey;
      try {
        const { challengeId, counter } = await verifySignIn(vault, party, passkey, response, now());
        const isFirstUse =
          (await useChallenge(database, challengeId, now())) &&
          (await usePasskey(database, passkey, counter, now()));
        if (!isFirstUse) throw passkeyRefused();
      } catch (error) {
        if (error instanceof ApiError)
          await recordFor(database, 'sign_in.failed', { id, merchant_id }, address, now());
        throw error;
      }
      return { id, merchant_id, email, second_factor_at };
    },
  };
}
