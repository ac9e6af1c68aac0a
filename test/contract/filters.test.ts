import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { createKey } from '../support/machineKeys.ts';
import {
  assertError,
  BOREALIS,
  idsOf,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  type Reply,
  raise,
  SUPPORT,
  useDeskbell,
} from '../support/server.ts';

const LIST = `${NOTIFICATIONS}/`;

onEachEngine('the list of notifications with filters', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  let key: string;
  before(async () => {
    token = await deskbell.signIn();
    key = await createKey(deskbell, ['ask', 'notifications:read']);
    // Nothing of the demo has its times.
    await deskbell.clock.advance(60);
  });
  const get = (path: string, as = token) => deskbell.call('GET', path, { token: as });
  const list = async (query: string, as = token) => {
    const reply = await get(`${LIST}?${query}`, as);
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };
  const idOf = (address: string) => Number(address.split('/').at(-1));
  const ask = async (body: object = {}) => {
    const given = { question: 'Is it vegan?', customer: { phone: '+34611660000' }, ...body };
    const reply = await deskbell.call('POST', '/api/v1/ask', { token: key, body: given });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  const answer = async (id: number, body: object = { answer: 'Yes.' }) =>
    assert.equal((await deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body })).status, 200);
  /** All pages, each as its ids. */
  async function pagesOf(query: string): Promise<number[][]> {
    const pages: number[][] = [];
    let next: string | undefined = `${LIST}?${query}`;
    while (next !== undefined) {
      const reply: Reply = await get(next);
      assert.equal(reply.status, 200, reply.text);
      pages.push(idsOf(reply));
      next = /^<([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1];
    }
    return pages;
  }

  it('one conversation’s, newest first, in pages, with the other filters', async () => {
    const raised: number[] = [];
    for (const body of [QUESTION, SUPPORT, QUESTION, SUPPORT, QUESTION])
      raised.unshift(idOf(await raise(deskbell, token, { ...body, conversation_id: 2 })));
    await raise(deskbell, token, { ...QUESTION, conversation_id: 1 });
    const all = idsOf(await list('conversation_id=2'));
    assert.deepEqual(all.slice(0, 5), raised);
    const pages = await pagesOf('conversation_id=2&limit=2');
    assert.deepEqual(pages.flat(), all);
    assert.ok(pages.slice(0, -1).every((page) => page.length === 2));
    const support = await pagesOf(
      'conversation_id=2&status=requested&notification_types=user_support_request&limit=1',
    );
    assert.deepEqual(support.flat().slice(0, 2), [raised[1], raised[3]]);
    assert.deepEqual(idsOf(await list('conversation_id=999999')), []);
  });

  it('a notification is the same text as in the contract’s list', async () => {
    const raw = '{ "question":"Même \\u00e9 \\"quoted\\"?",  "n": 1.0 }';
    const body = `{"notification_type":"user_question_request","conversation_id":1,"context":${raw}}`;
    const id = idOf(await raise(deskbell, token, body));
    const { text } = await list('limit=1');
    assert.equal((await list(`ids=${id}`)).text, text);
    assert.ok(text.includes(raw));
    const plain = await list('limit=1');
    assert.ok(plain.headers.get('etag'));
    assert.equal((await list(`ids=${id}`)).headers.get('etag'), null);
  });

  it('those with the given ids; others’ and absent ones are left out', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 4; n += 1) ids.unshift(idOf(await raise(deskbell, token)));
    const shuffled = [ids[2], 999_999, ids[0], 7, ids[3], ids[1], ids[0]].join(',');
    assert.deepEqual(idsOf(await list(`ids=${shuffled}`)), ids);
    assert.deepEqual(await pagesOf(`ids=${shuffled}&limit=3`), [ids.slice(0, 3), ids.slice(3)]);
    await answer(ids[1]!);
    assert.deepEqual(idsOf(await list(`ids=${shuffled}&status=answered`)), [ids[1]]);
    assert.deepEqual(idsOf(await list(`ids=${shuffled}&updated_since=2026-01-01T00:00:00Z`))[0], ids[1]);
    assert.deepEqual(idsOf(await list('ids=')), []);
  });

  it('those that have changed since a time, last changed first', async () => {
    const [a, b, c] = [
      idOf(await raise(deskbell, token)),
      idOf(await raise(deskbell, token, SUPPORT)),
      idOf(await raise(deskbell, token, { ...QUESTION, conversation_id: 3 })),
    ];
    await deskbell.clock.advance(60);
    const since = deskbell.clock.now().toISOString();
    assert.deepEqual(idsOf(await list(`updated_since=${since}`)), []);
    deskbell.clock.stop();
    // At the same millisecond: the newer one is first.
    await answer(c!, { resolve_only: true });
    await answer(a!);
    deskbell.clock.go();
    await deskbell.clock.advance(1);
    await answer(b!, { resolve_only: true });
    assert.deepEqual(idsOf(await list(`updated_since=${since}`)), [b, c, a]);
    assert.deepEqual(await pagesOf(`updated_since=${since}&limit=1`), [[b], [c], [a]]);
    const questions = 'notification_types=user_question_request&status=answered&limit=1';
    assert.deepEqual(await pagesOf(`updated_since=${since}&${questions}`), [[c], [a]]);
    assert.deepEqual(await pagesOf(`updated_since=${since}&conversation_id=3`), [[c]]);
    assert.deepEqual(await pagesOf(`updated_since=${since}&ids=${a},${b}`), [[b, a]]);
    const elsewhere = new Date(Date.parse(since) + 3_600_000).toISOString().replace('Z', '+01:00');
    assert.deepEqual(idsOf(await list(`updated_since=${encodeURIComponent(elsewhere)}`)), [b, c, a]);
  });

  it('with the answer and the state of its message, as the single notification has them', async () => {
    const id = idOf(await raise(deskbell, token));
    const [pending] = (await list(`ids=${id}&include=answer`)).json;
    assert.deepEqual([pending.answer, pending.delivery, 'ask' in pending], [null, null, false]);
    await answer(id, { answer: 'Yes, "decaf".' });
    await deskbell.allSent();
    const single = (await get(`${NOTIFICATIONS}/${id}`)).json;
    assert.deepEqual([single.answer, single.ask], [{ answer: 'Yes, "decaf".' }, null]);
    const { outcome, undo_until, lesson, assigned_to, notes, recipient, ...included } = single;
    assert.deepEqual((await list(`ids=${id}&include=answer,ask`)).json, [included]);
    assert.deepEqual((await list('include=answer,ask&limit=1')).json, [included]);
  });

  it('with what the assistant asked: whether it still waits, and who speaks to the customer', async () => {
    const reference = 'run "7" \\ é';
    const asked = await ask({ reference, expires_in_seconds: 60 });
    const waiting = {
      status: 'waiting',
      expires_at: asked.expires_at,
      deliver: 'deskbell',
      reference,
    };
    const single = (await get(`${NOTIFICATIONS}/${asked.id}`)).json;
    assert.deepEqual(single.ask, waiting);
    const [listed] = (await list(`ids=${asked.id}&include=ask`)).json;
    assert.deepEqual([listed.ask, 'answer' in listed], [waiting, false]);
    await deskbell.clock.advance(61);
    // Whoever reads it lets it expire.
    await deskbell.call('GET', `/api/v1/ask/${asked.id}`, { token: key });
    const [expired] = (await list(`ids=${asked.id}&include=ask`)).json;
    assert.deepEqual([expired.status, expired.ask], ['requested', { ...waiting, status: 'expired' }]);
    const relayed = await ask({ customer: { reference: 'chat-1' }, deliver: 'assistant' });
    const [{ ask: other }] = (await list(`ids=${relayed.id}&include=ask`)).json;
    assert.deepEqual(other, {
      status: 'waiting',
      expires_at: null,
      deliver: 'assistant',
      reference: null,
    });
  });

  it('a page of long texts is shorter than its limit, and no page is left out', async () => {
    const context = { question: 'x'.repeat(4000), more: 'y'.repeat(40_000) };
    const ids: number[] = [];
    for (let n = 0; n < 8; n += 1)
      ids.unshift(idOf(await raise(deskbell, token, { ...QUESTION, conversation_id: 3, context })));
    const [first = [], second = []] = await pagesOf('conversation_id=3&limit=1000');
    assert.ok(first.length < 8, `${first.length}`);
    assert.deepEqual([...first, ...second].slice(0, 8), ids);
  });

  it('a filter that few rows match finds them behind a thousand others', async () => {
    const found = idOf(await raise(deskbell, token, { ...SUPPORT, conversation_id: 2 }));
    await deskbell.database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 1100)
        insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
          requested_fields, answered_fields, answer_schema_id)
        select merchant_id, conversation_id, 'user_question_request', created_at, updated_at, '{"question":"Q?"}',
          '["question"]', '["answer"]', answer_schema_id from notifications cross join n where id = $1`,
      [found],
    );
    const support = 'conversation_id=2&notification_types=user_support_request';
    assert.equal(idsOf(await list(support))[0], found);
    assert.equal((await list('conversation_id=2')).json.length, 100);
    assert.ok((await pagesOf('conversation_id=2&limit=1000')).flat().includes(found));
  });

  it('another merchant’s are not in any of these lists', async () => {
    const other = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const { id, conversation_id: conversation } = await ask({ question: 'Whose is it?', reference: 'mine' });
    for (const filter of [`ids=${id}`, `conversation_id=${conversation}`]) {
      for (const more of ['', '&include=answer,ask', '&updated_since=2020-01-01T00:00:00Z']) {
        assert.deepEqual((await list(filter + more, other)).json, [], filter + more);
        assert.ok((await list(filter + more)).json.length > 0, filter + more);
      }
    }
    for (const query of ['include=answer,ask&limit=1000', 'updated_since=2020-01-01T00:00:00Z&limit=1000']) {
      const conversations = (await list(query, other)).json.map(
        (one: { conversation_id: number }) => one.conversation_id,
      );
      assert.ok(conversations.length > 0);
      assert.deepEqual([...new Set(conversations)].sort(), [4, 5], query);
    }
  });

  it('a key needs the scope notifications:read', async () => {
    assert.equal((await get(`${LIST}?ids=1&include=ask`, key)).status, 200);
    const asking = await createKey(deskbell, ['ask']);
    assertError(await get(`${LIST}?ids=1&include=ask`, asking), 403, 'INSUFFICIENT_SCOPE');
  });
});
