import { createHash, randomBytes } from 'node:crypto';
import type { Queries, Transaction } from '../../database/database.ts';

const COUNT = 10;
/** 32 letters and digits, without those that look alike: i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** 24 characters are 120 random bits, so that a plain hash is enough to store them. */
const LENGTH = 24;

/** For example `4h2k-9mzx-0c7e-vw31-8r5t-n6qd`. */
function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () =>
    [...randomBytes(LENGTH)]
      .map((byte) => ALPHABET[byte % ALPHABET.length])
      .join('')
      .replace(/(.{4})(?=.)/g, '$1-'),
  );
}

/** Case, spaces and hyphens do not matter. */
function recoveryCodeHash(userId: number, code: string): string {
  const letters = code.toLowerCase().replace(/[\s-]/g, '');
  return createHash('sha256').update(`${userId} ${letters}`).digest('base64url');
}

/** Returns the new codes. Only their hashes are stored. */
export async function replaceRecoveryCodes(tx: Transaction, userId: number): Promise<string[]> {
  const codes = newRecoveryCodes();
  await tx.run('delete from recovery_codes where user_id = $1', [userId]);
  const rows = codes.map((_, index) => `($1, $${index + 2})`).join(', ');
  await tx.run(`insert into recovery_codes (user_id, code_hash) values ${rows}`, [
    userId,
    ...codes.map((code) => recoveryCodeHash(userId, code)),
  ]);
  return codes;
}

/** Returns false if there is no such code, or it was used before. */
export async function useRecoveryCode(queries: Queries, userId: number, code: string): Promise<boolean> {
  const rows = await queries.run(
    'delete from recovery_codes where user_id = $1 and code_hash = $2 returning user_id',
    [userId, recoveryCodeHash(userId, code)],
  );
  return rows.length > 0;
}

export async function countRecoveryCodes(queries: Queries, userId: number): Promise<number> {
  const row = await queries.one<{ count: number }>(
    'select count(*) as count from recovery_codes where user_id = $1',
    [userId],
  );
  return row!.count;
}
