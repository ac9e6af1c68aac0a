import { findAuthor } from '../../src/auth/columns.ts';
import type { MerchantId, UserId } from '../../src/contract/ids.ts';
import type { Engine, Queries } from '../../src/database/database.ts';
import { eventsStep } from '../../src/events/record.ts';
import { type Lesson, learnSteps, planLesson, writeLesson } from '../../src/knowledge/learn.ts';
import { type CallOptions, useDeskbell, useOwners } from './server.ts';

export const KNOWLEDGE = '/api/v1/knowledge';
export const AURORA_ID = 1 as MerchantId;
const ALMA = 1 as UserId;

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

/** A server with functions to read and edit the knowledge base, as Aurora by default. */
export function useKnowledge(engine: Engine) {
  const deskbell = useDeskbell(engine);
  const tokens = useOwners(deskbell);

  const call = (method: string, path: string, options: CallOptions = {}) =>
    deskbell.call(method, `${KNOWLEDGE}/${path}`, { token: tokens.aurora, ...options });
  const patch = (id: number, body: unknown, headers: Record<string, string> = {}) =>
    call('PATCH', String(id), { body, headers });
  const teach = (lesson: Partial<Lesson> = {}, merchantId = AURORA_ID) =>
    deskbell.database.transaction((tx) =>
      learn(tx, merchantId, {
        documentId: undefined,
        question: 'Is it organic?',
        answer: 'Yes, all of it.',
        notificationId: 12,
        author: { userId: ALMA, keyId: null },
        at: deskbell.clock.now(),
        ...lesson,
      }),
    );
  const make = async (lesson: Partial<Lesson> = {}) => (await teach(lesson)).documentId;
  return { deskbell, tokens, call, patch, teach, make };
}
