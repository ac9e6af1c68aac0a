import type { FactorList, Proof } from '../../contract/factors.ts';
import { noSecondFactor } from '../../errors.ts';
import { changeBy, changeFactors, countFactors } from './change.ts';
import { createPasskeys } from './passkeys/passkeys.ts';
import { listPasskeys } from './passkeys/store.ts';
import { createProofs, type FactorCaller, type ProofParts } from './prove.ts';
import { countRecoveryCodes } from './recoveryCodes.ts';
import { findTotp } from './totp/store.ts';
import { createTotp } from './totp/totp.ts';

export type Factors = ReturnType<typeof createFactors>;

export function createFactors(parts: ProofParts) {
  const { database, now } = parts;
  const proofs = createProofs(parts);
  const { userOf, acceptsOtp, prove } = proofs;
  return {
    acceptsOtp,
    prove,
    totp: createTotp(parts, proofs),
    passkeys: createPasskeys(parts, proofs),

    async list(caller: FactorCaller): Promise<FactorList> {
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

    async renewRecoveryCodes(caller: FactorCaller, proof: Proof): Promise<string[]> {
      const { id } = await prove(caller, proof);
      const change = changeBy(caller, { what: 'recovery_codes.created' }, now());
      const codes = await changeFactors(database, change, async (tx) => (await countFactors(tx, id)) > 0);
      if (!codes) throw noSecondFactor();
      return codes;
    },
  };
}
