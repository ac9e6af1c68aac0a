import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import pg from 'pg';
import type { MerchantId } from '../../src/contract/ids.ts';
import { defineInsert } from '../../src/database/chain.ts';
import { notificationNotFound } from '../../src/errors.ts';
import { createPerformOnce } from '../../src/notifications/idempotency.ts';
import { setReadOnly } from '../support/databases.ts';
import {
  assertError,
  type Deskbell,
  directUrl,
  NOTIFICATIONS,
  onEachEngine,
  outcome,
  QUESTION,
  type Reply,
  raise,
  useDeskbell,
} from '../support/server.ts';
import { unlessLate } from '../support/unlessLate.ts';

const REQUEST = `${NOTIFICATIONS}/request`;
const REUSED = {
  status: 422,
  detail: 'This Idempotency-Key was used with another request.',
  code: 'IDEMPOTENCY_KEY_REUSED',
  field: 'Idempotency-Key',
};
const IN_FLIGHT = {
  status: 409,
  detail: 'A request with this Idempotency-Key is still in progress.',
  code: 'CONFLICT',
  field: 'Idempotency-Key',
};
const REPLAYED = { 'idempotency-replayed': 'true' };
const DAY_SECONDS = 24 * 60 * 60;

const replayed = (reply: Reply) => reply.headers.get('idempotency-replayed');
/** Everything that a client can compare in two responses, except the header that marks a replay. */
const comparable = ({ status, text, headers }: Reply) => [status, text, headers.get('location')];

async function count(deskbell: Deskbell): Promise<number> {
  const row = await deskbell.database.one<{ n: number }>('select count(*) as n from notifications');
  return row!.n;
}

onEachEngine('an Idempotency-Key', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });

  const newKey = () => randomUUID();
  const post = (path: string, body: unknown, key: string) =>
    deskbell.call('POST', path, { token, body, headers: { 'idempotency-key': key } });

  it('replays the first response to a request and to an answer, and does nothing again', async () => {
    const path = `${await raise(deskbell, token)}/answer`;
    for (const [to, body] of [
      [REQUEST, QUESTION],
      [path, { answer: 'Yes.' }],
    ] as const) {
      const key = newKey();
      const first = await post(to, body, key);
      assert.deepEqual([first.status, replayed(first)], [200, null]);
      const before = await count(deskbell);
      const again = await post(to, body, key);
      assert.deepEqual([comparable(again), replayed(again)], [comparable(first), 'true']);
      assert.equal(await count(deskbell), before);
    }
    assert.equal((await post(path, { answer: 'Yes.' }, newKey())).json.code, 'ALREADY_ANSWERED');
  });

  it('also replays a refusal, even if the request would now succeed', async () => {
    const key = newKey();
    const late = { ...QUESTION, conversation_id: 999 };
    const first = await post(REQUEST, late, key);
    assert.deepEqual([first.json.code, replayed(first)], ['CONVERSATION_NOT_FOUND', null]);
    await deskbell.database.run(
      `insert into conversations (id, merchant_id, customer_name, customer_phone, created_at, updated_at)
        values (999, 1, 'Late', '+1', '', '')`,
    );
    const again = await post(REQUEST, late, key);
    assert.deepEqual([comparable(again), replayed(again)], [comparable(first), 'true']);
    assert.equal((await post(REQUEST, late, newKey())).status, 200);
  });

  it('is stored for the first thousand refusals of a day, and the others change nothing either', {
    skip: engine === 'postgres' && 'the process counts them',
  }, async () => {
    const { database, clock } = deskbell;
    const performOnce = createPerformOnce(database);
    const at = clock.now();
    const write = (
      key: string,
      perform: () => Promise<{ message: string; headers: Record<string, string> }>,
    ) => performOnce({ merchantId: 2 as MerchantId, key, request: 'a request', at, perform });
    /** Returns the headers of the refusal. */
    const refused = async (n: number) => {
      const error = await write(`refused-${n}`, () => Promise.reject(notificationNotFound())).catch((e) => e);
      assert.equal(error.code, 'NOTIFICATION_NOT_FOUND');
      return error.headers;
    };
    const keys = async () =>
      (await database.one<{ n: number }>('select count(*) as n from idempotency_keys where merchant_id = 2'))!
        .n;
    for (let n = 0; n < 1020; n += 20)
      await Promise.all(Array.from({ length: 20 }, (_, index) => refused(n + index)));
    assert.equal(await keys(), 1000);
    assert.deepEqual(await refused(0), REPLAYED);
    // Above the limit it is checked again.
    assert.deepEqual([await refused(1019), await keys()], [{}, 1000]);
    const accepted = async () => ({ message: 'done', headers: {} });
    for (const headers of [{}, REPLAYED])
      assert.deepEqual((await write('accepted', accepted)).headers, headers);
  });

  it('is refused when the merchant has used too many within a day, but a used one is replayed', async () => {
    const { database, clock } = deskbell;
    const performOnce = createPerformOnce(database, 4);
    const at = clock.now().getTime();
    const write = (key: string, afterSeconds = 0) =>
      performOnce({
        merchantId: 2 as MerchantId,
        key,
        request: 'a request',
        at: new Date(at + afterSeconds * 1000),
        perform: async () => ({ message: `done: ${key}`, headers: {} }),
      });
    // Counted once, also if its write runs again because another one at the same moment fails.
    const first = write('limited-1');
    const shape = defineInsert({ table: 'inboxes', columns: { merchant_id: 'bigint' } });
    await assert.rejects(database.chain({ steps: [{ shape, values: [{ merchant_id: 2 as MerchantId }] }] }));
    assert.equal((await first).message, 'done: limited-1');
    for (const key of ['limited-2', 'limited-3', 'limited-4', 'limited-1'])
      assert.equal((await write(key)).message, `done: ${key}`);
    await assert.rejects(write('limited-5', 60), {
      code: 'RATE_LIMITED',
      field: 'Idempotency-Key',
      headers: { 'retry-after': String(DAY_SECONDS - 60) },
    });
    assert.equal((await write('limited-5', DAY_SECONDS)).message, 'done: limited-5');
  });

  it('refuses another body or another path with the same key with 422', async () => {
    const body = (context: string) =>
      `{"notification_type":"user_question_request","conversation_id":1,"context":${context}}`;
    const key = newKey();
    const [one, two] = [await raise(deskbell, token), await raise(deskbell, token)];
    await post(REQUEST, body('{"question":"Q?","n":1}'), key);
    const before = await count(deskbell);
    const others: [path: string, body: string][] = [
      [REQUEST, body('{"question":"Q!","n":1}')],
      [REQUEST, body('{"n":1,"question":"Q?"}')],
      [REQUEST, body('{"question":"Q?","n":1.0}')],
      [REQUEST, '{}'],
      [`${one}/answer`, body('{"question":"Q?","n":1}')],
    ];
    for (const [path, text] of others) assert.deepEqual(outcome(await post(path, text, key)), REUSED, text);
    assert.equal(await count(deskbell), before);

    const answerKey = newKey();
    assert.equal((await post(`${one}/answer`, { answer: 'Yes.' }, answerKey)).status, 200);
    assert.deepEqual(outcome(await post(`${two}/answer`, { answer: 'Yes.' }, answerKey)), REUSED);
    assert.equal((await deskbell.call('GET', two, { token })).json.status, 'requested');
  });

  it('has one effect if many requests use it at once', async () => {
    const atOnce = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 12 }, work));
    const race = async () => {
      const key = newKey();
      const before = await count(deskbell);
      // On open connections they arrive at the same time.
      await atOnce(() => deskbell.call('GET', NOTIFICATIONS, { token }));
      const replies = await atOnce(() => post(REQUEST, QUESTION, key));
      return { replies, raised: (await count(deskbell)) - before };
    };
    const isLate = ({ replies }: { replies: Reply[] }) =>
      replies.some(({ json }) => json.code === 'SERVICE_UNAVAILABLE');
    const { replies, raised } = await unlessLate(race, isLate);
    assert.equal(raised, 1);
    const done = replies.filter(({ status }) => status === 200);
    assert.equal(new Set(done.map((reply) => reply.headers.get('location'))).size, 1);
    assert.equal(done.filter((reply) => replayed(reply) === null).length, 1);
    for (const reply of replies) if (reply.status !== 200) assert.deepEqual(outcome(reply), IN_FLIGHT);
  });

  it('refuses an invalid key, and does nothing', async () => {
    const before = await count(deskbell);
    for (const key of ['', 'two words', 'x'.repeat(256), 'schlüssel'])
      assertError(await post(REQUEST, QUESTION, key), 500, 'VALIDATION_ERROR', 'Idempotency-Key');
    assert.equal(await count(deskbell), before);
    for (const key of ['x'.repeat(255), `"';--~!@#$%^&*()`]) {
      assert.equal((await post(REQUEST, QUESTION, key)).status, 200, key);
      assert.equal(replayed(await post(REQUEST, QUESTION, key)), 'true', key);
    }
  });

  if (engine === 'postgres') {
    it('returns 409 while the first request is in flight, and replays its response afterwards', async () => {
      const key = newKey();
      const holder = new pg.Client(directUrl(deskbell.config));
      await holder.connect();
      try {
        await holder.query('begin');
        // The lock that the first request holds until its outcome is stored.
        await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`idempotency 1 ${key}`]);
        const early = await post(REQUEST, QUESTION, key);
        assert.deepEqual(outcome(early), IN_FLIGHT);
        assert.equal(early.headers.get('retry-after'), '1');
        await holder.query('rollback');
      } finally {
        await holder.end();
      }
      const first = await post(REQUEST, QUESTION, key);
      assert.deepEqual([first.status, replayed(first)], [200, null]);
    });
  }

  it('expires after 24 hours, and then starts a new request', async () => {
    const key = newKey();
    const first = await post(REQUEST, QUESTION, key);
    await deskbell.clock.advance(DAY_SECONDS - 60);
    token = await deskbell.signIn();
    const late = await post(REQUEST, QUESTION, key);
    assert.deepEqual([comparable(late), replayed(late)], [comparable(first), 'true']);
    await deskbell.clock.advance(61);
    const after = await post(REQUEST, QUESTION, key);
    assert.deepEqual([after.status, replayed(after)], [200, null]);
    assert.notEqual(after.headers.get('location'), first.headers.get('location'));
    // From now on the key belongs to the new request.
    assert.equal((await post(REQUEST, QUESTION, key)).headers.get('location'), after.headers.get('location'));
  });

  describe('when the database takes no writes', () => {
    // One connection, so that a change to it affects every request.
    const failing = useDeskbell(engine, { DATABASE_POOL_SIZE: '1' });
    it('stores nothing: the same key can be used again', async () => {
      const refuseWrites = (refuse: boolean) =>
        engine === 'sqlite'
          ? failing.database.script(`pragma query_only = ${refuse ? 'on' : 'off'}`)
          : setReadOnly(failing.database, refuse);
      const options = {
        token: await failing.signIn(),
        body: QUESTION,
        headers: { 'idempotency-key': 'after-a-failure' },
      };
      await refuseWrites(true);
      const failed = await failing.call('POST', REQUEST, options);
      await refuseWrites(false);
      assertError(failed, 500, 'SERVICE_UNAVAILABLE');
      assert.equal(failed.headers.get('retry-after'), '2');
      const second = await failing.call('POST', REQUEST, options);
      assert.deepEqual([second.status, replayed(second)], [200, null]);
    });
  });
});
