import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import {
  AURORA,
  BOREALIS,
  type Deskbell,
  idsOf,
  NOTIFICATIONS,
  onEachEngine,
  outcome,
  QUESTION,
  type Reply,
  raise,
  useDeskbell,
} from '../support/server.ts';

const LIST = `${NOTIFICATIONS}/`;
const NINE_FIELDS = [
  'id',
  'notification_type',
  'status',
  'created_at',
  'updated_at',
  'conversation_id',
  'context',
  'requested_fields',
  'answered_fields',
];

/** Aurora's demo notifications. This file only reads Aurora's inbox, and writes to Borealis'. */
const QUESTIONS = [9, 6, 4, 1];
const SUPPORTS = [8, 2];
const ALL = [9, 8, 6, 4, 2, 1];
const BOREALIS_QUESTION = { ...QUESTION, conversation_id: 4 };

const FILTERS: [query: string, ids: number[]][] = [
  ['', ALL],
  ['?status=requested', [9, 8, 6, 4]],
  ['?status=answered', [2, 1]],
  ['?notification_types=user_question_request', QUESTIONS],
  ['?notification_types=user_support_request', SUPPORTS],
  ['?notification_types=user_question_request&notification_types=user_support_request', ALL],
  ['?notification_types=user_support_request&notification_types=user_support_request', SUPPORTS],
  ['?notification_types=user_question_request,user_support_request', ALL],
  ['?notification_types=user_question_request%2Cuser_support_request', ALL],
  ['?notification_types[]=user_question_request&notification_types[]=user_support_request', ALL],
  ['?notification_types[]=user_support_request', SUPPORTS],
  ['?notification_types%5B%5D=user_support_request', SUPPORTS],
  ['?notification_types=user_question_request&notification_types[]=user_support_request', ALL],
  ['?status=requested&notification_types=user_support_request', [8]],
  ['?status=answered&notification_types[]=user_question_request', [1]],
];

const NO_TYPE = 'notification_types must be among user_question_request, user_support_request';
const NO_STATUS = 'status must be one of requested, answered';
const NO_LIMIT = 'limit must be an integer from 1 to 1000';
const NO_CURSOR = 'cursor must come from the Link header of a page';
const INVALID: [query: string, field: string, detail: string][] = [
  ['?status=open', 'status', NO_STATUS],
  ['?status=Requested', 'status', NO_STATUS],
  ['?status=', 'status', NO_STATUS],
  ['?status=requested&status=answered', 'status', NO_STATUS],
  ['?notification_types=toString', 'notification_types', NO_TYPE],
  ['?notification_types=', 'notification_types', NO_TYPE],
  ['?notification_types=user_question_request,other', 'notification_types', NO_TYPE],
  ['?notification_types=user_question_request&notification_types[]=other', 'notification_types', NO_TYPE],
  ...['0', '-1', '1.5', 'abc', '', '1001', '99999', '1e2', '1&limit=2'].map(
    (limit): [string, string, string] => [`?limit=${limit}`, 'limit', NO_LIMIT],
  ),
  ...['', '9', 'abc', 'YmVmb3JlIDEuNQ', 'YmVmb3JlIDk5OTk5OTk5OTk5OTk5OTk'].map(
    (cursor): [string, string, string] => [`?cursor=${cursor}`, 'cursor', NO_CURSOR],
  ),
];

const descending = (ids: number[]) => [...ids].sort((a, b) => b - a);
const nextOf = (reply: Reply) => /^<([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1];

/** Inserts several at once with SQL. The list must show them, too. */
function insertMany(deskbell: Deskbell, count: number) {
  return deskbell.database.run(
    `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at,
        context, requested_fields, answered_fields, answer_schema_id)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
      select 2, 4, 'user_question_request', $1, $1, '{"question":"Q?"}', '["question"]', '["answer"]',
        (select min(id) from answer_schemas) from numbers`,
    [deskbell.clock.now().toISOString()],
  );
}

onEachEngine('the list of notifications', (engine) => {
  const deskbell = useDeskbell(engine);
  let aurora: string;
  let borealis: string;
  before(async () => {
    aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });

  const listOf = (token: string, query = '') => deskbell.call('GET', LIST + query, { token });

  it('is a bare array whose notifications have exactly the nine fields of the contract', async () => {
    const list = await listOf(aurora);
    assert.equal(list.status, 200);
    assert.equal(list.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.ok(Array.isArray(list.json));
    for (const notification of list.json) {
      assert.deepEqual(Object.keys(notification), NINE_FIELDS);
      assert.ok(Number.isInteger(notification.id) && Number.isInteger(notification.conversation_id));
      for (const time of [notification.created_at, notification.updated_at]) {
        assert.equal(new Date(time).toISOString(), time);
      }
      assert.ok(['requested', 'answered'].includes(notification.status));
    }
    const fieldsOf = (id: number) => {
      const { notification_type, requested_fields, answered_fields, context } = list.json.find(
        (one: { id: number }) => one.id === id,
      );
      return { notification_type, requested_fields, answered_fields, context };
    };
    assert.deepEqual(fieldsOf(9), {
      notification_type: 'user_question_request',
      requested_fields: ['question'],
      answered_fields: ['answer'],
      context: { question: 'Do you have decaf beans?', lead_phone: '+971505550103' },
    });
    assert.deepEqual(fieldsOf(8), {
      notification_type: 'user_support_request',
      requested_fields: ['support_request_reason'],
      answered_fields: ['agent_response_to_customer', 'resolution_notes'],
      context: { support_request_reason: 'The delivery address must be changed before the parcel leaves.' },
    });
  });

  it('is newest first', async () => {
    const times = (await listOf(aurora)).json.map(({ created_at }: { created_at: string }) => created_at);
    assert.deepEqual(times, [...times].sort().reverse());
    assert.equal(new Set(times).size, times.length);
  });

  it('can be filtered by status and by types, in every notation for the types', async () => {
    for (const [query, ids] of FILTERS) {
      const list = await listOf(aurora, query);
      assert.equal(list.status, 200, query);
      assert.deepEqual(idsOf(list), ids, query);
    }
  });

  it('refuses an invalid filter with 422 and names it', async () => {
    for (const [query, field, detail] of INVALID) {
      const refusal = { status: 422, detail, code: 'VALIDATION_ERROR', field };
      assert.deepEqual(outcome(await listOf(aurora, query)), refusal, query);
    }
  });

  it('ignores parameters it does not know', async () => {
    const list = await listOf(aurora, '?page=2&Status=answered&__proto__=1&constructor[status]=answered&x');
    assert.deepEqual(idsOf(list), ALL);
  });

  it('is the same without the trailing slash', async () => {
    for (const query of ['', '?status=answered', '?limit=2']) {
      const without = await deskbell.call('GET', NOTIFICATIONS + query, { token: aurora });
      const withSlash = await listOf(aurora, query);
      assert.equal(without.status, 200);
      assert.equal(without.text, withSlash.text);
      assert.equal(without.headers.get('etag'), withSlash.headers.get('etag'));
      const followed = nextOf(without);
      assert.equal(followed === undefined, query !== '?limit=2');
      if (followed) assert.equal((await deskbell.call('GET', followed, { token: aurora })).status, 200);
    }
  });

  it('is complete unless the request asks for pages', async () => {
    const before = idsOf(await listOf(borealis)).length;
    await insertMany(deskbell, 1500);
    const list = await listOf(borealis);
    assert.equal(list.json.length, before + 1500);
    assert.equal(list.headers.get('link'), null);
    assert.deepEqual(idsOf(list), descending(idsOf(list)));
    assert.equal((await listOf(borealis, '?limit=1000')).json.length, 1000);
  });

  it('returns every notification once over all pages, while new ones arrive', async () => {
    const whole = idsOf(await listOf(borealis));
    const seen: number[] = [];
    const sizes: number[] = [];
    let next: string | undefined = `${LIST}?limit=400`;
    while (next) {
      const page: Reply = await deskbell.call('GET', next, { token: borealis });
      assert.equal(page.status, 200, next);
      seen.push(...idsOf(page));
      sizes.push(page.json.length);
      await raise(deskbell, borealis, BOREALIS_QUESTION);
      next = nextOf(page);
    }
    assert.deepEqual(seen, whole);
    assert.deepEqual(sizes, [400, 400, 400, whole.length - 1200]);
  });

  it('has no empty page at the end', async () => {
    const first = await listOf(aurora, '?limit=3');
    assert.deepEqual(idsOf(first), ALL.slice(0, 3));
    const last = await deskbell.call('GET', nextOf(first)!, { token: aurora });
    assert.deepEqual(idsOf(last), ALL.slice(3));
    assert.equal(last.headers.get('link'), null);
    assert.equal((await listOf(aurora, '?limit=6')).headers.get('link'), null);
    const cursor = new URL(nextOf(first)!, deskbell.url).searchParams.get('cursor');
    assert.deepEqual(idsOf(await listOf(aurora, `?cursor=${cursor}`)), ALL.slice(3));
  });

  it('keeps the filter from page to page', async () => {
    // A question mark is a normal character in a query.
    const first = await listOf(
      aurora,
      '?x=a?b&status=requested&notification_types=user_question_request&limit=2',
    );
    assert.deepEqual(idsOf(first), [9, 6]);
    const second = await deskbell.call('GET', nextOf(first)!, { token: aurora });
    assert.deepEqual(idsOf(second), [4]);
    assert.equal(nextOf(second), undefined);
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const get = await listOf(aurora, '?limit=1');
    const head = await deskbell.call('HEAD', `${LIST}?limit=1`, { token: aurora });
    assert.deepEqual([head.status, head.text], [200, '']);
    for (const name of ['etag', 'link', 'content-type', 'content-length']) {
      assert.ok(get.headers.get(name), name);
      assert.equal(head.headers.get(name), get.headers.get(name), name);
    }
  });
});
