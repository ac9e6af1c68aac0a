import { createHash, randomInt } from 'node:crypto';

/**
 * `dbk_`, 32 random letters and digits (190 bits), and a checksum of six. With the checksum a typing mistake or a random
 * text costs no query, and scanners for leaked secrets can be sure.
 */
const PREFIX = 'dbk_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
const HINT_LENGTH = PREFIX.length + 4;

export const isMachineKey = (token: string): boolean => token.startsWith(PREFIX);

export function createKeyText(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `${PREFIX}${random}${checksumOf(random)}`;
}

export function hasValidForm(key: string): boolean {
  if (!SHAPE.test(key)) return false;
  const random = key.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return key.endsWith(checksumOf(random));
}

/** A fast hash is enough: nobody can try all random keys. */
export const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url');

export const hintOf = (key: string): string => key.slice(0, HINT_LENGTH);

function checksumOf(random: string): string {
  let number = createHash('sha256').update(random).digest().readUIntBE(0, 6);
  let text = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    text += ALPHABET[number % ALPHABET.length];
    number = Math.floor(number / ALPHABET.length);
  }
  return text;
}
