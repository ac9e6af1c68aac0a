/** Codes of an authenticator app: six digits, a new one every 30 seconds, as every app expects. */
const PERIOD_SECONDS = 30;
const ISSUER = 'Deskbell';

/** Loaded when it is first used: most users have no second factor. */
const load = () => import('otplib/functional');

/** A new secret, as text for people and as the address in the QR code. */
export async function newTotpSecret(email: string): Promise<{ secret: string; uri: string }> {
  const { generateSecret, generateURI } = await load();
  const secret = generateSecret();
  return { secret, uri: generateURI({ issuer: ISSUER, label: email, secret }) };
}

/** The time step that a code belongs to, or undefined. The clocks may differ by one step. */
export async function timeStepOf(secret: string, code: string, at: Date): Promise<number | undefined> {
  if (!/^\d{6}$/.test(code)) return undefined;
  const { verify } = await load();
  const epoch = Math.floor(at.getTime() / 1000);
  const result = await verify({ secret, token: code, epoch, epochTolerance: PERIOD_SECONDS });
  return result.valid ? Math.floor(epoch / PERIOD_SECONDS) + result.delta : undefined;
}
