import { before } from 'node:test';
import { findAuthor } from '../../src/auth/columns.ts';
import type { UserId } from '../../src/contract/ids.ts';
import type { Engine } from '../../src/database/database.ts';
import { importDocuments } from '../../src/knowledge/files/import.ts';
import { type Lesson, learn } from '../../src/knowledge/learn.ts';
import { type Merchant, useMerchant } from './merchants.ts';
import type { CallOptions, Deskbell } from './server.ts';

export const KNOWLEDGE = '/api/v1/knowledge';

/** A merchant with functions to read and edit its knowledge base, as its owner by default, and another merchant. */
export function useKnowledge(engine: Engine) {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const deskbell = {} as Deskbell;
  before(() => {
    Object.assign(deskbell, shop.deskbell);
  });

  const call = async (method: string, path: string, options: CallOptions = {}) =>
    deskbell.call(method, `${KNOWLEDGE}/${path}`, { token: await shop.token(), ...options });
  const read = async (id: number) => (await call('GET', String(id))).json;
  const patch = (id: number, body: unknown, headers: Record<string, string> = {}) =>
    call('PATCH', String(id), { body, headers });
  const teach = (lesson: Partial<Lesson> = {}, { id, owner }: Merchant = shop) =>
    deskbell.database.transaction(async (tx) => {
      const { author = { userId: owner.id as UserId, keyId: null } } = lesson;
      return learn(tx, id, {
        documentId: undefined,
        question: 'Is it organic?',
        answer: 'Yes, all of it.',
        notificationId: 12,
        at: deskbell.clock.now(),
        ...lesson,
        ...(await findAuthor(tx, id, author)),
      });
    });
  /** A new document, also from an answer that says nothing by itself. */
  const make = async (lesson: Partial<Lesson> = {}) =>
    (await teach({ teach: { do: 'new' }, ...lesson }))!.documentId;
  /** What an import from a file does. */
  const importAll = (
    contents: readonly { title: string; body: string; wordings?: string[] }[],
    options: Partial<Parameters<typeof importDocuments>[3]> = {},
    { id }: Merchant = shop,
  ) =>
    importDocuments(deskbell.database, id, contents, {
      now: deskbell.clock.now,
      onProgress: () => {},
      ...options,
    });
  return { shop, other, deskbell, call, read, patch, teach, make, importAll };
}
