import type { Proof } from '../../../contract/factors.ts';
import { factorNotFound, proofRefused, totpIsOn } from '../../../errors.ts';
import { attemptOf } from '../../attempts.ts';
import { checkGuess } from '../../checkGuess.ts';
import { changeBy, changeFactors } from '../change.ts';
import type { FactorCaller, ProofParts, Proofs } from '../prove.ts';
import { newTotpSecret, plainCode, timeStepOf } from './codes.ts';
import { confirmTotp, findTotp, removeTotp, storeTotp } from './store.ts';

/** A secret that was shown must be confirmed within this time. */
const SETUP_MS = 15 * 60_000;

/** The authenticator app of a user. */
export function createTotp({ database, vault, now }: ProofParts, { userOf, prove }: Proofs) {
  return {
    async start(caller: FactorCaller, proof: Proof): Promise<{ secret: string; uri: string }> {
      const user = await prove(caller, proof);
      const { sealedSecret, ...shown } = await newTotpSecret(vault, user);
      if (!(await storeTotp(database, { userId: user.id, sealedSecret, at: now() }))) throw totpIsOn();
      return shown;
    },

    /** Turns it on. Returns the recovery codes. */
    async confirm(caller: FactorCaller, otp: string): Promise<string[]> {
      const { id, email } = await userOf(caller);
      const attempt = attemptOf(email, caller.address, now(), vault);
      const confirmed = await checkGuess(database, attempt, async () => {
        const totp = await findTotp(database, id);
        if (!totp) throw factorNotFound();
        if (totp.confirmed_at !== null) throw totpIsOn();
        if (now().getTime() - Date.parse(totp.created_at) > SETUP_MS) throw factorNotFound();
        const sealedSecret = totp.sealed_secret;
        const step = await timeStepOf(vault, { userId: id, sealedSecret }, plainCode(otp), now());
        return step === undefined ? { wrong: proofRefused('otp') } : { right: { sealedSecret, step } };
      });
      const change = changeBy(caller, { what: 'factor.added', factor: 'totp' }, now());
      const codes = await changeFactors(database, change, (tx) =>
        confirmTotp(tx, id, { ...confirmed, at: now() }),
      );
      if (!codes) throw factorNotFound();
      return codes;
    },

    async remove(caller: FactorCaller, proof: Proof): Promise<void> {
      const { id } = await prove(caller, proof);
      const change = changeBy(caller, { what: 'factor.removed', factor: 'totp' }, now());
      if (!(await changeFactors(database, change, (tx) => removeTotp(tx, id)))) throw factorNotFound();
    },
  };
}
