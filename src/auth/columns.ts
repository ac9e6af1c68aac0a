import type { Author, MerchantId } from '../contract/ids.ts';
import type { Engine, Reads } from '../database/database.ts';
import { JSON_TEXT } from '../database/text.ts';

export const userNameOf = (userId: string) => `(select u.name from users u where u.id = ${userId})`;

/** A person as JSON text, or null if there is no such person. */
export const personWire = (engine: Engine, userId: string) =>
  `(select concat('{"id":', u.id, ',"name":', ${JSON_TEXT[engine]('u.name')}, '}') from users u where u.id = ${userId})`;

/** The condition that somebody can sign in. */
export const isActiveUser = (userId: string) =>
  `exists (select 1 from users u where u.id = ${userId} and u.disabled_at is null)`;

/** In a statement of its own: on a cluster, sessions are on the coordinator, and what merchants have is not. */
export const isSessionOpen = async (queries: Reads, sessionId: string, at: Date): Promise<boolean> =>
  (await queries.one('select id from sessions where id = $1 and revoked_at is null and expires_at > $2', [
    sessionId,
    at.toISOString(),
  ])) !== undefined;

/** A key's name as a sub-select, for another statement. Revoked keys keep theirs. */
export const keyNameOf = (merchantId: string, keyId: string) =>
  `(select k.name from machine_keys k where k.merchant_id = ${merchantId} and k.id = ${keyId})`;

/** The name of whoever did it, a user or a key. */
export const authorNameOf = (merchantId: string, userId: string, keyId: string) =>
  `coalesce(${userNameOf(userId)}, ${keyNameOf(merchantId, keyId)})`;

export interface NamedAuthor {
  author: Author;
  name: string | null;
}
/** A token may outlive its user, to whom no row can refer then. For `insertRows`. */
export const USER_ID = { column: 'user_id', table: 'users' };

/** The same for an author whose name was looked for. */
export const namedAuthor = (author: Author, name: string | null): NamedAuthor => ({
  author: name === null && author.userId !== null ? { userId: null, keyId: null } : author,
  name,
});

export async function findAuthor(
  queries: Reads,
  merchantId: MerchantId,
  author: Author,
): Promise<NamedAuthor> {
  const row = await queries.one<{ name: string | null }>(`select ${authorNameOf('$1', '$2', '$3')} as name`, [
    merchantId,
    author.userId,
    author.keyId,
  ]);
  return namedAuthor(author, row?.name ?? null);
}

const NOBODY: Author = { userId: null, keyId: null };

/** Whom a new row may refer to: see `namedAuthor`. */
export const existingAuthor = async (
  queries: Reads,
  merchantId: MerchantId,
  author: Author | null,
): Promise<Author> =>
  author?.userId == null ? (author ?? NOBODY) : (await findAuthor(queries, merchantId, author)).author;
