import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Encrypts secrets before they are stored. The key is never in the database. */
export interface Vault {
  /** `purpose` is part of the encryption: a text that was sealed for one purpose cannot be opened for another. */
  seal(plain: string, purpose: string): string;
  open(sealed: string, purpose: string): string;
  /** The same for the same text, and nobody without the key can find the text by trying all of them. */
  fingerprint(text: string, purpose: string): string;
  /** Those that may have been stored: the one above first, and while the key changes that of the other key. */
  fingerprints(text: string, purpose: string): readonly string[];
  /** The key that has sealed a text. Undefined: none that we know. */
  keyOf(sealed: string, purpose: string): WhichKey | undefined;
  /** Present while a previous key is known. */
  readonly change: KeyChange | undefined;
  /** Names the key without telling anything about it. */
  readonly keyName: string;
}

/** What the previous key sealed is sealed again with the current one. */
export interface KeyChange {
  /** The key that seals. Other processes may not know the current one yet, so at first it is the previous one. */
  readonly sealsWith: WhichKey;
  /** From now on the current key seals. */
  sealWithCurrent(): void;
  /** A vault with only the current key. */
  readonly current: Pick<Vault, 'seal' | 'fingerprint'>;
}

export type WhichKey = 'current' | 'previous';

/** A column of sealed texts. A new one is also an entry in src/reseal.ts. */
export interface Sealed {
  table: string;
  /** What its rows are, for people. */
  about: string;
  /** The columns of its key, in order, each with a value below all others. */
  key: Readonly<Record<string, number | ''>>;
  column: string;
  purposeOf(row: Readonly<Record<string, string | number>>): string;
  /** A column with a fingerprint of something in the text. */
  fingerprint?: { column: string; of(plain: string, vault: Pick<Vault, 'fingerprint'>): string };
}

export class VaultError extends Error {}

const FORMAT = 'v1';

type Key = Pick<Vault, 'seal' | 'open' | 'fingerprint'>;

function createKey(secretKey: string): Key {
  const key = Buffer.from(hkdfSync('sha256', secretKey, 'deskbell', 'vault', 32));
  return {
    seal(plain, purpose) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return [FORMAT, ...[nonce, body, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join(
        '.',
      );
    },
    open(sealed, purpose) {
      const [format, nonce, body, tag] = sealed.split('.');
      if (format !== FORMAT || !nonce || body === undefined || !tag)
        throw new VaultError('not a sealed text');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'))
          .setAAD(Buffer.from(purpose))
          .setAuthTag(Buffer.from(tag, 'base64url'));
        return decipher.update(body, 'base64url', 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new VaultError('sealed with another SECRET_KEY', { cause });
      }
    },
    fingerprint: (text, purpose) =>
      createHmac('sha256', key).update(`${purpose}\n${text}`).digest('base64url'),
  };
}

export function createVault(secretKey: string, previousKey?: string): Vault {
  const current = createKey(secretKey);
  const keyName = current.fingerprint('', 'name of the key');
  if (previousKey === undefined || previousKey === secretKey) {
    return {
      ...current,
      fingerprints: (...given) => [current.fingerprint(...given)],
      keyOf: (...given) => (opens(current, ...given) ? 'current' : undefined),
      keyName,
      change: undefined,
    };
  }
  const keys: Record<WhichKey, Key> = { current, previous: createKey(previousKey) };
  let sealsWith: WhichKey = 'previous';
  const other = () => (sealsWith === 'current' ? 'previous' : 'current');
  return {
    seal: (...given) => keys[sealsWith].seal(...given),
    open(...given) {
      try {
        return keys[sealsWith].open(...given);
      } catch {
        return keys[other()].open(...given);
      }
    },
    fingerprint: (...given) => keys[sealsWith].fingerprint(...given),
    fingerprints: (...given) => [keys[sealsWith].fingerprint(...given), keys[other()].fingerprint(...given)],
    keyOf: (...given) => (['current', 'previous'] as const).find((which) => opens(keys[which], ...given)),
    keyName,
    change: {
      get sealsWith() {
        return sealsWith;
      },
      sealWithCurrent() {
        sealsWith = 'current';
      },
      current,
    },
  };
}

function opens(key: Key, sealed: string, purpose: string): boolean {
  try {
    key.open(sealed, purpose);
    return true;
  } catch (error) {
    if (error instanceof VaultError) return false;
    throw error;
  }
}
/** Tells keys apart. Nobody can find the key from it. */
export const keyFingerprint = (vault: Vault): string => vault.fingerprint('', 'key fingerprint').slice(0, 12);

export function newSecretKey(): string {
  return randomBytes(32).toString('base64url');
}

const WELL_KNOWN =
  /change.?me|your.?secret|secret.?key|example|password|placeholder|insecure|deskbell|0123456789|abcdefgh/i;

const HEX = /^[\da-f]+$/i;
const BASE64 = /^[\w+/-]+={0,2}$/;

/** Other text may be a sentence, which is not random. Only a database that was created with it still accepts it. */
export const isEncodedKey = (key: string): boolean => HEX.test(key) || BASE64.test(key);

/** Why this key is not safe, or undefined. 32 random bytes are 43 characters of base64 or 64 of hex. */
export function secretKeyProblem(key: string): string | undefined {
  const bytes = HEX.test(key)
    ? key.length / 2
    : BASE64.test(key)
      ? Buffer.from(key, 'base64').length
      : Buffer.byteLength(key);
  if (bytes < 32) return 'is too short: it must contain at least 32 random bytes, in base64 or hex.';
  if (WELL_KNOWN.test(key)) return 'looks like an example from a manual.';
  if (new Set(key).size < 12) return 'is not random: it repeats a few characters.';
  return undefined;
}

/** The key of the embedded database: created once, and only its owner can read it. */
export function readOrMakeSecretKey(file: string): string {
  let key: string;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    makeSecretKey(file);
    key = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new VaultError(`The key in ${file} cannot be used: ${(cause as Error).message}.`, { cause });
  }
  const problem = secretKeyProblem(key);
  if (problem) throw new VaultError(`The key in ${file} ${problem} Restore it from a backup.`);
  return key;
}

/** If several processes start at the same time, the first one creates it. */
function makeSecretKey(file: string): void {
  try {
    writeFileSync(file, `${newSecretKey()}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
