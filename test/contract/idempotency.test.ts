import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import pg from 'pg';
import type { MerchantId } from '../../src/contract/ids.ts';
import { defineInsert } from '../../src/database/chain.ts';
import { createPerformOnce } from '../../src/notifications/idempotency.ts';
import { setReadOnly } from '../support/databases.ts';
import {
  assertError,
  BOREALIS,
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

  it('replays the first response of a request and raises nothing again', async () => {
    const key = newKey();
    const first = await post(REQUEST, QUESTION, key);
    assert.deepEqual([first.status, replayed(first)], [200, null]);
    const before = await count(deskbell);
    for (let again = 0; again < 3; again += 1) {
      const reply = await post(REQUEST, QUESTION, key);
      assert.deepEqual([comparable(reply), replayed(reply)], [comparable(first), 'true']);
    }
    assert.equal(await count(deskbell), before);
  });

  it('replays the first response to an answer, where a second answer without the key is refused', async () => {
    const path = `${await raise(deskbell, token)}/answer`;
    const key = newKey();
    const first = await post(path, { answer: 'Yes.' }, key);
    const second = await post(path, { answer: 'Yes.' }, key);
    assert.deepEqual(outcome(first), { status: 200, message: 'Notification answered.' });
    assert.deepEqual([comparable(second), replayed(second)], [comparable(first), 'true']);
    const without = await deskbell.call('POST', path, { token, body: { answer: 'Yes.' } });
    assert.equal(without.json.code, 'ALREADY_ANSWERED');
  });

  it('also replays a refusal, even if the request would now succeed', async () => {
    const address = await raise(deskbell, token);
    const refusals: [path: string, body: unknown, code: string][] = [
      [REQUEST, { ...QUESTION, context: {} }, 'VALIDATION_ERROR'],
      [REQUEST, { ...QUESTION, conversation_id: 999 }, 'CONVERSATION_NOT_FOUND'],
      [`${address}/answer`, {}, 'VALIDATION_ERROR'],
      [`${NOTIFICATIONS}/123456789/answer`, { answer: 'Yes.' }, 'NOTIFICATION_NOT_FOUND'],
    ];
    const firstReplies: [Reply, string][] = [];
    for (const [path, body, code] of refusals) {
      const key = newKey();
      const first = await post(path, body, key);
      assert.deepEqual([first.json.code, replayed(first)], [code, null]);
      firstReplies.push([first, key]);
    }
    await deskbell.database.run(
      `insert into conversations (id, merchant_id, customer_name, customer_phone, created_at, updated_at)
        values (999, 1, 'Late', '+1', '', '')`,
    );
    for (const [index, [first, key]] of firstReplies.entries()) {
      const [path, body] = refusals[index]!;
      const again = await post(path, body, key);
      assert.deepEqual([comparable(again), replayed(again)], [comparable(first), 'true']);
    }
    assert.equal((await post(REQUEST, { ...QUESTION, conversation_id: 999 }, newKey())).status, 200);
  });

  it('is stored for the first thousand refusals of a day, and the others change nothing either', async () => {
    const keys = async () =>
      (await deskbell.database.one<{ n: number }>(
        'select count(*) as n from idempotency_keys where merchant_id = 2',
      ))!.n;
    const theirs = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const path = `${NOTIFICATIONS}/123456789/answer`;
    const refused = async (n: number) => {
      const headers = { 'idempotency-key': `refused-${n}` };
      const reply = await deskbell.call('POST', path, { token: theirs, body: { answer: 'Yes.' }, headers });
      assertError(reply, 404, 'NOTIFICATION_NOT_FOUND');
      return replayed(reply);
    };
    for (let n = 0; n < 1020; n += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, index) => refused(n + index)));
    }
    assert.equal(await keys(), 1000);
    assert.equal(await refused(0), 'true');
    // Above the limit it is checked again.
    assert.deepEqual([await refused(1019), await refused(1019), await keys()], [null, null, 1000]);
    const headers = { 'idempotency-key': 'accepted' };
    const body = { ...QUESTION, conversation_id: 4 };
    for (const expected of [null, 'true']) {
      const reply = await deskbell.call('POST', REQUEST, { token: theirs, body, headers });
      assert.deepEqual([reply.status, replayed(reply)], [200, expected]);
    }
  });

  it('is refused when the merchant has used too many within a day, but a used one is replayed', async () => {
    const performOnce = createPerformOnce(deskbell.database, 2);
    const at = deskbell.clock.now();
    const write = (key: string, after = 0) =>
      performOnce({
        merchantId: 2 as MerchantId,
        key,
        request: 'a request',
        at: new Date(at.getTime() + after * 1000),
        perform: async () => ({ message: `done: ${key}`, headers: {} }),
      });
    for (const key of ['limited-1', 'limited-2', 'limited-1']) {
      assert.equal((await write(key)).message, `done: ${key}`);
    }
    await assert.rejects(write('limited-3', 60), {
      code: 'RATE_LIMITED',
      field: 'Idempotency-Key',
      headers: { 'retry-after': String(DAY_SECONDS - 60) },
    });
    assert.equal((await write('limited-3', DAY_SECONDS)).message, 'done: limited-3');
  });

  it('is counted once, also if its write runs again because another one at the same moment fails', async () => {
    const { database, clock } = deskbell;
    const performOnce = createPerformOnce(database, 2);
    const write = (key: string) =>
      performOnce({
        merchantId: 2 as MerchantId,
        key,
        request: 'a request',
        at: clock.now(),
        perform: async () => ({ message: `done: ${key}`, headers: {} }),
      });
    const first = write('shared-1');
    const failing = database.chain({
      steps: [
        {
          shape: defineInsert({ table: 'inboxes', columns: { merchant_id: 'bigint' } }),
          values: [{ merchant_id: 2 as MerchantId }],
        },
      ],
    });
    await assert.rejects(failing);
    assert.equal((await first).message, 'done: shared-1');
    assert.equal((await write('shared-2')).message, 'done: shared-2');
    await assert.rejects(write('shared-3'), { code: 'RATE_LIMITED' });
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
      [REQUEST, body('{"question":"Q?","n":1.00000000000000000001}')],
      [REQUEST, '{}'],
      [`${one}/answer`, body('{"question":"Q?","n":1}')],
    ];
    for (const [path, text] of others) assert.deepEqual(outcome(await post(path, text, key)), REUSED, text);
    assert.equal(await count(deskbell), before);

    const answerKey = newKey();
    assert.equal((await post(`${one}/answer`, { answer: 'Yes.' }, answerKey)).status, 200);
    assert.deepEqual(outcome(await post(`${two}/answer`, { answer: 'Yes.' }, answerKey)), REUSED);
    assert.equal((await deskbell.call('GET', two, { token })).json.status, 'requested');
    // After the refusal the key still works.
    assert.equal(replayed(await post(`${one}/answer`, { answer: 'Yes.' }, answerKey)), 'true');
  });

  it('has one effect if thirty requests use it at once', async () => {
    const key = newKey();
    const before = await count(deskbell);
    const thirty = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 30 }, work));
    // On open connections they arrive at the same time.
    await thirty(() => deskbell.call('GET', NOTIFICATIONS, { token }));
    const replies = await thirty(() => post(REQUEST, QUESTION, key));
    assert.equal(await count(deskbell), before + 1);
    const done = replies.filter(({ status }) => status === 200);
    assert.equal(new Set(done.map((reply) => reply.headers.get('location'))).size, 1);
    assert.equal(done.filter((reply) => replayed(reply) === null).length, 1);
    for (const reply of replies) if (reply.status !== 200) assert.deepEqual(outcome(reply), IN_FLIGHT);
  });

  it('refuses an invalid key, and does nothing', async () => {
    const before = await count(deskbell);
    for (const key of ['', 'two words', 'x'.repeat(256), 'schlüssel', 'a\tb']) {
      assert.deepEqual(
        outcome(await post(REQUEST, QUESTION, key)),
        {
          status: 500,
          detail: 'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
          code: 'VALIDATION_ERROR',
          field: 'Idempotency-Key',
        },
        key,
      );
    }
    assert.equal(await count(deskbell), before);
    for (const key of ['x'.repeat(255), '"quoted"', `';--`, '~!@#$%^&*()']) {
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

  describe('when the server fails', () => {
    // One connection, so that a change to it affects every request.
    const failing = useDeskbell(engine, { DATABASE_POOL_SIZE: '1' });
    const request = async (signedIn: string) =>
      failing.call('POST', REQUEST, {
        token: signedIn,
        body: QUESTION,
        headers: { 'idempotency-key': 'after-a-failure' },
      });

    const refuseWrites = (refuse: boolean) =>
      engine === 'sqlite'
        ? failing.database.script(`pragma query_only = ${refuse ? 'on' : 'off'}`)
        : setReadOnly(failing.database, refuse);
    const FAILURES: [
      title: string,
      code: string,
      detail: string,
      retryAfter: string | null,
      fail: () => Promise<unknown>,
      fix: () => Promise<unknown>,
    ][] = [
      [
        'a database that takes no writes',
        'SERVICE_UNAVAILABLE',
        'The service is busy or cannot reach its database. Try again shortly.',
        '2',
        () => refuseWrites(true),
        () => refuseWrites(false),
      ],
      [
        'a fault nobody foresaw',
        'INTERNAL_ERROR',
        'Something went wrong on our side. The x-request-id header names this request.',
        null,
        () => failing.database.script('alter table conversations rename to lost'),
        () => failing.database.script('alter table lost rename to conversations'),
      ],
    ];
    for (const [title, code, detail, retryAfter, fail, fix] of FAILURES) {
      it(`stores nothing of ${title}: the same key can be used again`, async () => {
        const signedIn = await failing.signIn();
        await failing.database.run('delete from idempotency_keys');
        await fail();
        failing.logged.length = 0;
        const failed = await request(signedIn);
        await fix();
        assert.deepEqual(outcome(failed), { status: 500, detail, code });
        assert.equal(failed.headers.get('retry-after'), retryAfter);

        const second = await request(signedIn);
        assert.deepEqual([second.status, replayed(second)], [200, null]);
        // Unlike the 500s of the contract, this one is logged as an error.
        const id = failed.headers.get('x-request-id');
        // The background may log errors, too, while the table is gone.
        const lines = failing.logged.map((text) => JSON.parse(text));
        const line = lines.find(({ level, request_id }) => level === 'error' && request_id === id);
        assert.equal(line?.code, code);
        const { text } = await failing.call('GET', '/metrics');
        assert.match(text, /requests_total\{[^}]*request"[^}]*status="500",outcome="failed"\} \d/);
      });
    }
  });
});
