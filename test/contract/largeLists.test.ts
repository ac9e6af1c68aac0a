import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { before, it } from 'node:test';
import type { Snapshot } from '../../src/database/database.ts';
import {
  assertError,
  BOREALIS,
  idsOf,
  login,
  logout,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  type Reply,
  raise,
  useDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

const LIST = `${NOTIFICATIONS}/`;
const BOREALIS_QUESTION = { ...QUESTION, conversation_id: 4 };
/** One in 65 has a context from the time before contexts had a limit: 8 MB, more than an operating system buffers. */
const ROWS = 1300;
const LARGE_BYTES = 340_000;
const INSERTED_AT_ONCE = 1000;

onEachEngine('a list of several megabytes', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  let opened = 0;
  let closed = 0;
  /** Called before each read of a snapshot. */
  let beforeRead = async () => {};

  before(async () => {
    token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    // In pieces: a statement may take three seconds.
    for (let first = 1; first <= ROWS; first += INSERTED_AT_ONCE) {
      const last = Math.min(first + INSERTED_AT_ONCE - 1, ROWS);
      await deskbell.database.run(
        `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at,
            context, requested_fields, answered_fields, answer_schema_id)
          with recursive numbers (n) as (select ${first} union all select n + 1 from numbers where n < ${last})
          select 2, 4, 'user_question_request', $1, $1,
            concat('{"question":"☕ ', n, ' ', case when n % 65 = 0 or n = 1 then $2 else $3 end,
              '","support_request_reason":"☕"}'),
            '["question"]', '["answer"]', (select min(id) from answer_schemas) from numbers`,
        [deskbell.clock.now().toISOString(), 'y'.repeat(LARGE_BYTES), 'x'.repeat(800)],
      );
    }
    const { database } = deskbell;
    const { snapshot } = database;
    database.snapshot = async (): Promise<Snapshot> => {
      const real = await snapshot();
      opened += 1;
      let isOpen = true;
      return {
        ...real,
        async one<Row>(sql: string, params: never) {
          await beforeRead();
          return real.one<Row>(sql, params);
        },
        close() {
          if (isOpen) closed += 1;
          isOpen = false;
          real.close();
        },
      };
    };
  });

  /** Not compressed, unless a test asks for it: that takes most of the time. */
  const listOf = (query = '', headers: Record<string, string> = {}) =>
    deskbell.call('GET', LIST + query, { token, headers: { 'accept-encoding': 'identity', ...headers } });
  /** The list as the database has it now, without the code that lists. */
  async function expectedList(): Promise<object[]> {
    const rows = await deskbell.database.all<Record<string, string>>(
      `select id, notification_type, status, created_at, updated_at, conversation_id, context, requested_fields,
        answered_fields from notifications where merchant_id = 2 order by id desc`,
    );
    const parsed = ['context', 'requested_fields', 'answered_fields'];
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([key, value]) => [key, parsed.includes(key) ? JSON.parse(value) : value]),
      ),
    );
  }
  /** Sends the request and reads only what arrives at once. */
  async function openList(by = token): Promise<IncomingMessage> {
    const request = httpRequest(deskbell.url + LIST, {
      headers: { authorization: `Bearer ${by}` },
      agent: false,
    });
    request.on('error', () => {});
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => {});
    return response;
  }
  async function readRest(response: IncomingMessage): Promise<string> {
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part);
    return Buffer.concat(parts).toString();
  }
  async function allClosed(): Promise<void> {
    await until('every list is closed', () => closed === opened);
  }

  it('arrives whole, newest first and unchanged, compressed or not', async () => {
    const expected = await expectedList();
    for (const encoding of ['identity', 'br']) {
      const list = await listOf('', { 'accept-encoding': encoding });
      assert.equal(list.status, 200);
      assert.equal(list.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.equal(list.headers.get('content-encoding') ?? 'identity', encoding);
      assert.deepEqual(list.json, expected, encoding);
    }
    assert.ok(opened >= 2);
    await allClosed();
  });

  it('ends when its session ends or its client disconnects', async () => {
    (await openList()).destroy();
    const { access_token, refresh_token } = (await login(deskbell, BOREALIS)).json;
    const response = await openList(access_token);
    await logout(deskbell, refresh_token);
    await allClosed();
    await assert.rejects(readRest(response));
  });

  it('is exactly the list of its ETag, while others write', async () => {
    const tag = (await listOf('?limit=1')).headers.get('etag')!;
    const expected = await expectedList();
    const [first, ...ids] = idsOf({ json: expected } as Reply);
    const response = await openList();
    assert.equal(response.headers.etag, tag);
    const answer = { token, body: { answer: 'Yes.' } };
    // At the same time: who reads nothing for ten seconds is disconnected.
    const [, ...written] = await Promise.all([
      raise(deskbell, token, BOREALIS_QUESTION),
      deskbell.call('POST', `${LIST}${first}/answer`, answer),
      deskbell.call('POST', `${LIST}${ids.at(-300)}/answer`, answer),
      deskbell.call('DELETE', `${LIST}${ids.at(-200)}`, { token }),
    ]);
    for (const { status, text } of written) assert.equal(status, 200, text);
    assert.deepEqual(JSON.parse(await readRest(response)), expected);

    const newTag = (await listOf('?limit=1')).headers.get('etag')!;
    assert.notEqual(newTag, tag);
    const unchanged = await listOf('', { 'if-none-match': newTag });
    assert.deepEqual([unchanged.status, unchanged.text], [304, '']);
  });

  it('is never cut off without an error', async () => {
    for (const encoding of ['identity', 'gzip']) {
      let reads = 0;
      beforeRead = async () => {
        reads += 1;
        if (reads > 10) throw new Error('the connection to the database is lost');
      };
      try {
        await assert.rejects(listOf('', { 'accept-encoding': encoding }), /terminated|aborted|fetch failed/);
        beforeRead = async () => {
          throw new Error('the connection to the database is lost');
        };
        assertError(await listOf('', { 'accept-encoding': encoding }), 500, 'INTERNAL_ERROR');
      } finally {
        beforeRead = async () => {};
      }
    }
    await allClosed();
  });
});
