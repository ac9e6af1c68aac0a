import { createHash, randomBytes } from 'node:crypto';

const COUNT = 10;
/** 32 letters and digits, without those that look alike: i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** 24 characters are 120 random bits, so that a plain hash is enough to store them. */
const LENGTH = 24;

/** For example `4h2k-9mzx-0c7e-vw31-8r5t-n6qd`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () =>
    [...randomBytes(LENGTH)]
      .map((byte) => ALPHABET[byte % ALPHABET.length])
      .join('')
      .replace(/(.{4})(?=.)/g, '$1-'),
  );
}

/** Case, spaces and hyphens do not matter. */
export function recoveryCodeHash(userId: number, code: string): string {
  const letters = code.toLowerCase().replace(/[\s-]/g, '');
  return createHash('sha256').update(`${userId} ${letters}`).digest('base64url');
}
