import assert from 'node:assert/strict';
import type { Deskbell, Reply } from './server.ts';
import { until } from './shops.ts';

/** A person to erase, and the calls that tests of erasures make. */

export const PHONE = '+34699123987';
/**
 * Every word of the person begins like this, and so does the name. A random key may have these letters, too, and so may
 * the short parts of a hash or a sealed secret, which follow a dollar sign or a dot.
 */
export const WORDS = /(?<![\w-]{6}|[$.][\w+/-]{0,43})zqx(?![\w-]{20})/i;
/** In a file nothing is between two columns. */
export const WORDS_IN_FILES = /[zZ]qx[a-z]{4}/;
/** However the number is written. */
const NUMBER = /699[\s().\-/]*12[\s().\-/]*3[\s().\-/]*9[\s().\-/]*87/;
export const CANARIES = [WORDS, NUMBER];
export const FILE_CANARIES = [WORDS_IN_FILES, NUMBER];
export const NAME = 'Zqxella Zqxbrin';

/** The owner, and the functions of the API that a test needs. */
export function callsOf(deskbell: Deskbell, owner?: { email: string; password: string }) {
  const call = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const token = await deskbell.signIn(owner?.email, owner?.password);
    const options = { token, ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) };
    return deskbell.call(method, `/api/v1${path}`, options);
  };
  const ok = async (...given: Parameters<typeof call>): Promise<Reply> => {
    const reply = await call(...given);
    assert.ok(reply.status < 300, `${given[0]} ${given[1]}: ${reply.text}`);
    return reply;
  };
  const raise = async (conversationId: number, context: object, type = 'user_question_request') => {
    const body = { notification_type: type, conversation_id: conversationId, context };
    const reply = await ok('POST', '/notification/request', body);
    return Number(reply.headers.get('location')!.split('/').at(-1));
  };
  const conversation = async (reference: string, phone = PHONE, name = NAME): Promise<number> =>
    (await ok('POST', '/conversation/', { reference, customer_name: name, customer_phone: phone })).json.id;
  /** A question with its answer. Returns its id. */
  const answered = async (conversationId: number, context: object, body: object = {}) => {
    const id = await raise(conversationId, context);
    await ok('POST', `/notification/${id}/answer`, { answer: 'Yes.', ...body });
    return id;
  };
  const erase = async (id: number): Promise<Reply> => {
    const reply = await ok('DELETE', `/conversation/${id}`);
    await erased(deskbell);
    return reply;
  };
  return { call, ok, raise, answered, conversation, erase };
}

/** If the database is too slow once, the eraser tries again when its lease has ended, after a minute. */
const ERASED_MAX_MS = 120_000;

/** Waits until no erasure is left. Its last steps come half a minute later. */
export async function erased({ database, clock, logged }: Deskbell): Promise<void> {
  clock.go();
  // The second look comes half a minute after the beginning.
  clock.jump(31);
  await until(
    'no erasure is left',
    async () => {
      const row = await database.one('select id from erasures limit 1');
      const failed = logged.find((line) => line.includes('cannot erase a person'));
      assert.equal(failed, undefined);
      return row === undefined;
    },
    ERASED_MAX_MS,
  );
}
