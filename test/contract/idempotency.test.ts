import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import pg from 'pg';
import type { MerchantId } from '../../src/contract/ids.ts';
import { notificationNotFound } from '../../src/errors.ts';
import { createPerformOnce } from '../../src/notifications/idempotency.ts';
import { setReadOnly } from '../support/databases.ts';
import { useMerchant } from '../support/merchants.ts';
import {
  assertError,
  directUrl,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  type Reply,
  raise,
  useDeskbell,
} from '../support/server.ts';
import { unlessLate } from '../support/unlessLate.ts';

const REQUEST = `${NOTIFICATIONS}/request`;
const REPLAYED = { 'idempotency-replayed': 'true' };
const DAY_SECONDS = 24 * 60 * 60;
const OTHER = 2 as MerchantId;

const assertReused = (reply: Reply) => assertError(reply, 422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key');
const assertInFlight = (reply: Reply) => assertError(reply, 409, 'CONFLICT', 'Idempotency-Key');
const replayed = ({ headers }: Reply) => headers.get('idempotency-replayed');
/** The first response again, with the header that marks it. */
function assertReplay(again: Reply, first: Reply): void {
  const comparable = ({ status, text, headers }: Reply) => [status, text, headers.get('location')];
  assert.deepEqual([comparable(again), replayed(again)], [comparable(first), 'true']);
}

onEachEngine('an Idempotency-Key', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });
  const post = (path: string, body: unknown, key: string) =>
    deskbell.call('POST', path, { token, body, headers: { 'idempotency-key': key } });
  const request = (key: string) => post(REQUEST, QUESTION, key);
  const count = async (table = 'notifications') =>
    (await deskbell.database.one<{ n: number }>(`select count(*) as n from ${table}`))!.n;
  /** A write of another merchant, without HTTP. */
  const writer = (limit?: number) => {
    const { once } = createPerformOnce(deskbell.database, limit);
    const startedAt = deskbell.clock.now().getTime();
    return (
      key: string,
      afterSeconds = 0,
      perform = async () => ({ message: `done: ${key}`, headers: {} }),
    ) => {
      const at = new Date(startedAt + afterSeconds * 1000);
      return once({ merchantId: OTHER, key, request: 'a request', at }, perform);
    };
  };

  it('replays the first response to a request and to an answer, and does nothing again', async () => {
    const path = `${await raise(deskbell, token)}/answer`;
    for (const [to, body] of [
      [REQUEST, QUESTION],
      [path, { answer: 'Yes.' }],
    ] as const) {
      const key = randomUUID();
      const first = await post(to, body, key);
      assert.deepEqual([first.status, replayed(first)], [200, null]);
      const before = await count();
      assertReplay(await post(to, body, key), first);
      assert.equal(await count(), before);
    }
    assert.equal((await post(path, { answer: 'Yes.' }, randomUUID())).json.code, 'ALREADY_ANSWERED');
  });

  it('is stored for the first thousand refusals of a day, and the others change nothing either', {
    skip: engine === 'postgres' && 'the process counts them',
  }, async () => {
    const write = writer();
    /** Returns the headers of the refusal. */
    const refused = (n: number) =>
      write(`refused-${n}`, 0, () => Promise.reject(notificationNotFound())).catch(({ headers }) => headers);
    const keys = () => count('idempotency_keys where merchant_id = 2');
    for (let n = 0; n < 1020; n += 20)
      await Promise.all(Array.from({ length: 20 }, (_, index) => refused(n + index)));
    assert.equal(await keys(), 1000);
    assert.deepEqual(await refused(0), REPLAYED);
    // Above the limit it is checked again.
    assert.deepEqual([await refused(1019), await keys()], [{}, 1000]);
    for (const headers of [{}, REPLAYED]) assert.deepEqual((await write('accepted')).headers, headers);
  });

  it('is refused when the merchant has used too many within a day, but a used one is replayed', async () => {
    const write = writer(4);
    for (const key of ['limited-1', 'limited-2', 'limited-3', 'limited-4', 'limited-1'])
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
    const one = await raise(deskbell, token);
    await post(REQUEST, body('{"question":"Q?","n":1}'), 'reused');
    const before = await count();
    for (const [path, text] of [
      [REQUEST, body('{"n":1,"question":"Q?"}')],
      [REQUEST, body('{"question":"Q?","n":1.0}')],
      [`${one}/answer`, body('{"question":"Q?","n":1}')],
    ] as const)
      assertReused(await post(path, text, 'reused'));
    assert.equal(await count(), before);
    assert.equal((await deskbell.call('GET', one, { token })).json.status, 'requested');
  });

  it('has one effect if many requests use it at once', async () => {
    const atOnce = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 12 }, work));
    const race = async () => {
      const key = randomUUID();
      const before = await count();
      // On open connections they arrive at the same time.
      await atOnce(() => deskbell.call('GET', NOTIFICATIONS, { token }));
      const replies = await atOnce(() => request(key));
      return { replies, raised: (await count()) - before };
    };
    const isLate = ({ replies }: { replies: Reply[] }) =>
      replies.some(({ json }) => json.code === 'SERVICE_UNAVAILABLE');
    const { replies, raised } = await unlessLate(race, isLate);
    assert.equal(raised, 1);
    const done = replies.filter(({ status }) => status === 200);
    assert.equal(new Set(done.map(({ headers }) => headers.get('location'))).size, 1);
    assert.equal(done.filter((reply) => replayed(reply) === null).length, 1);
    for (const reply of replies) if (reply.status !== 200) assertInFlight(reply);
  });

  it('refuses an invalid key, and does nothing', async () => {
    const before = await count();
    for (const key of ['', 'two words', 'x'.repeat(256), 'schlüssel'])
      assertError(await request(key), 500, 'VALIDATION_ERROR', 'Idempotency-Key');
    assert.equal(await count(), before);
    const first = await request('x'.repeat(255));
    assertReplay(await request('x'.repeat(255)), first);
  });

  it('returns 409 while the first request is in flight, and replays its response afterwards', {
    skip: engine === 'sqlite',
  }, async () => {
    const holder = new pg.Client(directUrl(deskbell.config));
    await holder.connect();
    try {
      await holder.query('begin');
      // The lock that the first request holds until its outcome is stored.
      await holder.query(`select pg_advisory_xact_lock(hashtextextended('idempotency 1 held', 0))`);
      const early = await request('held');
      assertInFlight(early);
      assert.equal(early.headers.get('retry-after'), '1');
    } finally {
      await holder.end();
    }
    const first = await request('held');
    assert.deepEqual([first.status, replayed(first)], [200, null]);
  });

  it('expires after 24 hours, and then starts a new request', async () => {
    const first = await request('day');
    await deskbell.clock.advance(DAY_SECONDS - 60);
    token = await deskbell.signIn();
    assertReplay(await request('day'), first);
    await deskbell.clock.advance(61);
    const after = await request('day');
    assert.deepEqual([after.status, replayed(after)], [200, null]);
    assert.notEqual(after.headers.get('location'), first.headers.get('location'));
  });

  it('is not stored if its write is not committed', async () => {
    // On PostgreSQL the commit fails, when everything has been written. On SQLite the transaction ends before.
    const [fail, fix] = {
      sqlite: [
        `create trigger sinking before insert on notifications begin select raise(rollback, 'sunk'); end`,
        'drop trigger sinking',
      ],
      postgres: [
        `create function sink() returns trigger language plpgsql as $$ begin raise exception 'sunk'; end $$;
          create constraint trigger sinking after insert on notifications deferrable initially deferred
            for each row execute function sink()`,
        'drop function sink cascade',
      ],
    }[engine] as [string, string];
    await deskbell.database.script(fail);
    const failed = await request('sinking');
    await deskbell.database.script(fix);
    assertError(failed, 500, 'INTERNAL_ERROR');
    const again = await request('sinking');
    assert.deepEqual([again.status, replayed(again)], [200, null]);
  });

  describe('when the database takes no writes', () => {
    // One connection, so that a change to it affects every request.
    const failing = useDeskbell(engine, { DATABASE_POOL_SIZE: '1' });
    it('stores nothing: the same key can be used again', async () => {
      const { database } = failing;
      const refuseWrites = (refuse: boolean) =>
        engine === 'sqlite'
          ? database.script(`pragma query_only = ${refuse ? 'on' : 'off'}`)
          : setReadOnly(database, refuse);
      const headers = { 'idempotency-key': 'after-a-failure' };
      const options = { token: await failing.signIn(), body: QUESTION, headers };
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

onEachEngine('an Idempotency-Key outside the contract', (engine) => {
  const shop = useMerchant(engine);
  const ids: number[] = [];
  before(async () => {
    for (let n = 0; n < 6; n += 1) ids.push(await shop.raise());
  });
  const conversation = (part: string) => () => `/conversation/${shop.conversationId}/${part}`;
  const notification = (n: number, part: string) => () => `/notification/${ids[n]}/${part}`;
  const many = (part: string) => () => `/notification/${part}-many`;

  for (const [what, path, body] of [
    [
      'a conversation',
      () => '/conversation/',
      (name) => ({ customer_name: name, customer_phone: '+34611550177' }),
    ],
    ['a recorded message', conversation('messages'), (text) => ({ from: 'customer', text })],
    ['a message', conversation('send'), (text) => ({ text })],
    ['a note', notification(0, 'notes'), (text) => ({ text })],
    ['an answer that can be undone', notification(1, 'answer'), (answer) => ({ answer, undo_seconds: 60 })],
    ['an answer for many', many('answer'), (answer) => ({ ids: [ids[2], ids[3]], answer })],
    ['reopening many', many('reopen'), (text) => ({ ids: [ids[text.length]] })],
  ] as [what: string, path: () => string, body: (text: string) => object][])
    it(`${what} is written once, and another request is refused`, async () => {
      const options = { headers: { 'idempotency-key': what.replaceAll(' ', '-') } };
      const first = await shop.post(path(), body('Once'), options);
      assert.equal(first.status, 200, first.text);
      const again = await shop.post(path(), body('Once'), options);
      assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [first.text, 'true']);
      const changed = await shop.post(path(), body('Again'), options);
      assertError(changed, 422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key');
    });
});
