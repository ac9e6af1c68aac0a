import { before } from 'node:test';
import { findAuthor } from '../../src/auth/columns.ts';
import type { MerchantId, UserId } from '../../src/contract/ids.ts';
import type { Engine, Queries } from '../../src/database/database.ts';
import { eventsStep } from '../../src/events/record.ts';
import { importDocuments } from '../../src/knowledge/files/import.ts';
import { type Lesson, learnSteps, planLesson, writeLesson } from '../../src/knowledge/learn.ts';
import { type Merchant, useMerchant } from './merchants.ts';
import type { CallOptions, Deskbell } from './server.ts';

export const KNOWLEDGE = '/api/v1/knowledge';

/** What an answer does to the knowledge base. */
export async function learn(
  tx: Queries,
  merchantId: MerchantId,
  given: Lesson,
): Promise<{ documentId: number; created: boolean }> {
  const { author } = await findAuthor(tx, merchantId, given.author);
  const lesson = { ...given, author };
  const plan = await planLesson(tx, merchantId, lesson);
  if (plan) {
    await writeLesson(tx, merchantId, plan, lesson);
    return { documentId: plan.document.id, created: false };
  }
  let documentId = 0;
  await tx.chain({
    newIds: { documents: 1 },
    build(ids) {
      documentId = ids.documents![0]!;
      const { steps, events } = learnSteps(merchantId, lesson, documentId);
      return { steps: [...steps, eventsStep(merchantId, events)] };
    },
  });
  return { documentId, created: true };
}

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
    deskbell.database.transaction((tx) =>
      learn(tx, id, {
        documentId: undefined,
        question: 'Is it organic?',
        answer: 'Yes, all of it.',
        notificationId: 12,
        author: { userId: owner.id as UserId, keyId: null },
        at: deskbell.clock.now(),
        ...lesson,
      }),
    );
  const make = async (lesson: Partial<Lesson> = {}) => (await teach(lesson)).documentId;
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
