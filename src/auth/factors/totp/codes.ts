import { type Sealed, type Vault, VaultError } from '../../../secrets.ts';

/** Codes of an authenticator app: six digits, a new one every 30 seconds, as every app expects. */
const PERIOD_SECONDS = 30;
const ISSUER = 'Deskbell';

/** Loaded when it is first used: most users have no second factor. */
const load = () => import('otplib/functional');

const purposeOf = (userId: number) => `totp secret of user ${userId}`;

export const SEALED_TOTP_SECRETS: Sealed = {
  table: 'totp_secrets',
  about: 'authenticator apps',
  key: { user_id: 0 },
  column: 'sealed_secret',
  purposeOf: ({ user_id }) => purposeOf(Number(user_id)),
};

/** A new secret, as text for people and as the address in the QR code. `sealedSecret` is what we store. */
export async function newTotpSecret(
  vault: Vault,
  { id, email }: { id: number; email: string },
): Promise<{ secret: string; uri: string; sealedSecret: string }> {
  const { generateSecret, generateURI } = await load();
  const secret = generateSecret();
  const uri = generateURI({ issuer: ISSUER, label: email, secret });
  return { secret, uri, sealedSecret: vault.seal(secret, purposeOf(id)) };
}

/** A code as people type it, without spaces and hyphens. */
export const plainCode = (typed: string): string => typed.replace(/[\s-]/g, '');

export const isTotpCode = (code: string): boolean => /^\d{6}$/.test(code);

/**
 * The time step that a code belongs to, or undefined. The clocks may differ by one step. After a lost SECRET_KEY no code
 * fits: recovery codes and passkeys still work, and the operator can reset.
 */
export async function timeStepOf(
  vault: Vault,
  { userId, sealedSecret }: { userId: number; sealedSecret: string },
  code: string,
  at: Date,
): Promise<number | undefined> {
  if (!isTotpCode(code)) return undefined;
  const secret = openSecret(vault, userId, sealedSecret);
  if (secret === undefined) return undefined;
  const { verify } = await load();
  const epoch = Math.floor(at.getTime() / 1000);
  const result = await verify({ secret, token: code, epoch, epochTolerance: PERIOD_SECONDS });
  return result.valid ? Math.floor(epoch / PERIOD_SECONDS) + result.delta : undefined;
}

function openSecret(vault: Vault, userId: number, sealedSecret: string): string | undefined {
  try {
    return vault.open(sealedSecret, purposeOf(userId));
  } catch (error) {
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}
