import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { copyNotification } from '../support/inbox.ts';
import {
  AURORA,
  assertError,
  BOREALIS,
  idsOf,
  NOTIFICATIONS,
  nextOf,
  onEachEngine,
  QUESTION,
  type Reply,
  raise,
  useDeskbell,
} from '../support/server.ts';

const LIST = `${NOTIFICATIONS}/`;
const NINE_FIELDS = [
  ...['id', 'notification_type', 'status', 'created_at', 'updated_at', 'conversation_id', 'context'],
  ...['requested_fields', 'answered_fields'],
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
  ['?notification_types=user_question_request&notification_types=user_support_request', ALL],
  ['?notification_types=user_support_request&notification_types=user_support_request', SUPPORTS],
  ['?notification_types=user_question_request,user_support_request', ALL],
  ['?notification_types=user_question_request%2Cuser_support_request', ALL],
  ['?notification_types%5B%5D=user_support_request', SUPPORTS],
  ['?notification_types=user_question_request&notification_types[]=user_support_request', ALL],
  ['?status=answered&notification_types[]=user_question_request', [1]],
  // Unknown ones are ignored.
  ['?page=2&Status=answered&__proto__=1&constructor[status]=answered&x', ALL],
];

const NO_TYPE = 'notification_types must be among user_question_request, user_support_request';
const NO_STATUS = 'status must be one of requested, answered';
const NO_LIMIT = 'limit must be an integer from 1 to 1000';
const NO_CURSOR = 'cursor must come from the Link header of a page';
const INVALID: [query: string, field: string, detail?: string][] = [
  ['status=open', 'status', NO_STATUS],
  ['status=', 'status', NO_STATUS],
  ['status=requested&status=answered', 'status', NO_STATUS],
  ['notification_types=toString', 'notification_types', NO_TYPE],
  ['notification_types=', 'notification_types', NO_TYPE],
  ['notification_types=user_question_request,other', 'notification_types', NO_TYPE],
  ['notification_types=user_question_request&notification_types[]=other', 'notification_types', NO_TYPE],
  ...['0', '1.5', '', '1001', '1e2', '1&limit=2'].map((limit): [string, string, string] => [
    `limit=${limit}`,
    'limit',
    NO_LIMIT,
  ]),
  ...['', '9', 'YmVmb3JlIDEuNQ'].map((cursor): [string, string, string] => [
    `cursor=${cursor}`,
    'cursor',
    NO_CURSOR,
  ]),
  ['conversation_id=1&conversation_id=2', 'conversation_id'],
  ['ids=1,,2', 'ids'],
  [`ids=${Array.from({ length: 201 }, (_, n) => n + 1)}`, 'ids'],
  ['updated_since=2026-01-15', 'updated_since'],
  // A plus sign that is not encoded is a space.
  ['updated_since=2026-01-15T09:30:00+01:00', 'updated_since'],
  [`updated_since=2026-01-15T09:30:00Z&cursor=${Buffer.from('before 7').toString('base64url')}`, 'cursor'],
  ['include=everything', 'include'],
];

const descending = (ids: number[]) => [...ids].sort((a, b) => b - a);

onEachEngine('the list of notifications', (engine) => {
  const deskbell = useDeskbell(engine);
  let aurora: string;
  let borealis: string;
  before(async () => {
    aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });

  const listOf = (token: string, query = '') => deskbell.call('GET', LIST + query, { token });

  it('is a bare array, newest first, whose notifications have exactly the nine fields of the contract', async () => {
    const list = await listOf(aurora);
    assert.equal(list.status, 200);
    assert.equal(list.headers.get('content-type'), 'application/json; charset=utf-8');
    const times = list.json.map(({ created_at }: { created_at: string }) => created_at);
    assert.deepEqual(times, [...new Set<string>(times)].sort().reverse());
    for (const notification of list.json) {
      assert.deepEqual(Object.keys(notification), NINE_FIELDS);
      assert.ok(Number.isInteger(notification.id) && Number.isInteger(notification.conversation_id));
      for (const time of [notification.created_at, notification.updated_at]) {
        assert.equal(new Date(time).toISOString(), time);
      }
      assert.ok(['requested', 'answered'].includes(notification.status));
    }
    assert.deepEqual(list.json[0].context, {
      question: 'Do you have decaf beans?',
      lead_phone: '+971505550103',
    });
  });

  it('can be filtered by status and by types, in every notation for the types', async () => {
    for (const [query, ids] of FILTERS) {
      const list = await listOf(aurora, query);
      assert.equal(list.status, 200, query);
      assert.deepEqual(idsOf(list), ids, query);
    }
  });

  it('refuses an invalid filter with 422 and names it', async () => {
    for (const [query, field, detail] of engine === 'sqlite' ? INVALID : INVALID.slice(0, 1)) {
      const reply = await listOf(aurora, `?${query}`);
      assertError(reply, 422, 'VALIDATION_ERROR', field);
      if (detail) assert.equal(reply.json.detail, detail, query);
    }
  });

  it('is the same without the trailing slash', async () => {
    const without = await deskbell.call('GET', `${NOTIFICATIONS}?limit=2`, { token: aurora });
    const withSlash = await listOf(aurora, '?limit=2');
    assert.deepEqual([without.status, without.text], [200, withSlash.text]);
    assert.equal(without.headers.get('etag'), withSlash.headers.get('etag'));
    assert.equal((await deskbell.call('GET', nextOf(without)!, { token: aurora })).status, 200);
  });

  it('is complete unless the request asks for pages', async () => {
    const before = idsOf(await listOf(borealis)).length;
    const address = await raise(deskbell, borealis, BOREALIS_QUESTION);
    await copyNotification(deskbell, Number(address.split('/').at(-1)), 1100);
    const list = await listOf(borealis);
    assert.equal(list.json.length, before + 1101);
    assert.equal(list.headers.get('link'), null);
    assert.deepEqual(idsOf(list), descending(idsOf(list)));
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
    assert.deepEqual(sizes, [400, 400, whole.length - 800]);
  });

  it('keeps the filter from page to page, and has no empty page at the end', async () => {
    // A question mark is a normal character in a query.
    const query = '?x=a?b&status=requested&notification_types=user_question_request&limit=2';
    const first = await listOf(aurora, query);
    assert.deepEqual(idsOf(first), [9, 6]);
    const second = await deskbell.call('GET', nextOf(first)!, { token: aurora });
    assert.deepEqual([idsOf(second), nextOf(second)], [[4], undefined]);
    assert.equal((await listOf(aurora, '?limit=6')).headers.get('link'), null);
    const cursor = new URL(nextOf(first)!, deskbell.url).searchParams.get('cursor');
    assert.deepEqual(idsOf(await listOf(aurora, `?cursor=${cursor}`)), ALL.slice(3));
  });
});
