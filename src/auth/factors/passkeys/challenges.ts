import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Queries } from '../../../database/database.ts';
import type { Vault } from '../../../secrets.ts';

export const CHALLENGE_TTL_MS = 5 * 60_000;

/**
 * A challenge carries its expiry and our signature, so any process can check it, and a flood of requests for new ones
 * leaves nothing behind. `purpose` says what it is for, and for whom.
 */
export function newChallenge(vault: Vault, purpose: string, now: Date): string {
  const content = `${now.getTime() + CHALLENGE_TTL_MS}.${randomBytes(16).toString('base64url')}`;
  return Buffer.from(`${content}.${vault.fingerprint(content, purpose)}`).toString('base64url');
}

/** The id of a challenge that we made for this purpose and that has not expired. It may have been used before. */
export function readChallenge(
  vault: Vault,
  purpose: string,
  challenge: string,
  now: Date,
): string | undefined {
  const text = Buffer.from(challenge, 'base64url').toString();
  const [, content, expiresAt, signature] = /^((\d{1,16})\.[\w-]{22})\.([\w-]{43})$/.exec(text) ?? [];
  if (content === undefined || signature === undefined) return undefined;
  const isSigned = vault
    .fingerprints(content, purpose)
    .some((ours) => timingSafeEqual(Buffer.from(signature), Buffer.from(ours)));
  return isSigned && Number(expiresAt) > now.getTime() ? content : undefined;
}

/** Returns false if the challenge was used before. */
export async function useChallenge(queries: Queries, id: string, at: Date): Promise<boolean> {
  const rows = await queries.run(
    'insert into used_challenges (id, expires_at) values ($1, $2) on conflict (id) do nothing returning id',
    [id, new Date(at.getTime() + CHALLENGE_TTL_MS).toISOString()],
  );
  return rows.length > 0;
}
