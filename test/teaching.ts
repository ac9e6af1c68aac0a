import type { MerchantId, UserId } from '../src/contract/ids.ts';
import type { Engine } from '../src/database/database.ts';
import { type Lesson, learn } from '../src/knowledge/learn.ts';
import { type CallOptions, useDeskbell, useOwners } from './harness.ts';

export const KNOWLEDGE = '/api/v1/knowledge';
export const AURORA_ID = 1 as MerchantId;
const ALMA = 1 as UserId;

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
