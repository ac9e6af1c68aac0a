import { createHash, randomBytes } from 'node:crypto';
import { readId } from '../http/ids.ts';

/** The secret in a link that works once. Only its hash is stored. The id says where to look. */
export interface OneTimeToken {
  id: number;
  hash: string;
}

const hashOf = (secret: string) => createHash('sha256').update(secret).digest('base64url');

export function createOneTimeToken(id: number): OneTimeToken & { text: string } {
  const secret = randomBytes(32).toString('base64url');
  return { id, hash: hashOf(secret), text: `${id}.${secret}` };
}

/** Undefined if it cannot be one. */
export function readOneTimeToken(text: string): OneTimeToken | undefined {
  const [id, secret, ...more] = text.trim().split('.');
  const given = readId(id);
  if (given === undefined || secret?.length !== 43 || more.length > 0) return undefined;
  return { id: given, hash: hashOf(secret) };
}
