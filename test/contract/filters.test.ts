import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { copyNotification } from '../support/inbox.ts';
import { type Merchant, newMerchant, useMerchant } from '../support/merchants.ts';
import { assertError, idsOf, nextOf, onEachEngine, SUPPORT } from '../support/server.ts';

/** The filters that the contract does not have: they always have pages. list.test.ts has those of the contract. */
onEachEngine('the list of notifications with filters', (engine) => {
  const shop = useMerchant(engine);
  let key: string;
  before(async () => {
    key = await shop.key('ask', 'notifications:read');
  });
  const list = async (query: string, as: Pick<Merchant, 'get'> = shop) => {
    const reply = await as.get(`/notification/?${query}`);
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };
  const ask = async (body: object = {}) => {
    const given = { question: 'Is it vegan?', customer: { phone: '+34611660000' }, ...body };
    const reply = await shop.post('/ask', given, { token: key });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  /** All pages, each as its ids. */
  async function pagesOf(query: string): Promise<number[][]> {
    const pages: number[][] = [];
    for (let next: string | undefined = `?${query}`; next; ) {
      const reply = await list(next.slice(next.indexOf('?') + 1));
      pages.push(idsOf(reply));
      next = nextOf(reply);
    }
    return pages;
  }

  it('one conversation’s, newest first, in pages, with the other filters', async () => {
    const conversation_id = await shop.converse();
    const raised: number[] = [];
    for (const body of [{}, SUPPORT, {}, SUPPORT, {}])
      raised.unshift(
        await shop.raise({
          ...{ notification_type: 'user_question_request', context: { question: 'Q?' }, conversation_id },
          ...body,
        }),
      );
    await shop.raise();
    const query = `conversation_id=${conversation_id}`;
    assert.deepEqual(await pagesOf(query), [raised]);
    assert.deepEqual(await pagesOf(`${query}&limit=2`), [
      raised.slice(0, 2),
      raised.slice(2, 4),
      raised.slice(4),
    ]);
    const support = `${query}&status=requested&notification_types=user_support_request&limit=1`;
    assert.deepEqual(await pagesOf(support), [[raised[1]], [raised[3]]]);
    assert.deepEqual(idsOf(await list('conversation_id=999999')), []);
  });

  it('those with the given ids; others’ and absent ones are left out', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 4; n += 1) ids.unshift(await shop.raise());
    const shuffled = [ids[2], 999_999, ids[0], 7, ids[3], ids[1], ids[0]].join(',');
    assert.deepEqual(await pagesOf(`ids=${shuffled}`), [ids]);
    assert.deepEqual(await pagesOf(`ids=${shuffled}&limit=3`), [ids.slice(0, 3), ids.slice(3)]);
    await shop.answer(ids[1]!);
    assert.deepEqual(idsOf(await list(`ids=${shuffled}&status=answered`)), [ids[1]]);
    assert.deepEqual(idsOf(await list(`ids=${shuffled}&updated_since=2026-01-01T00:00:00Z`))[0], ids[1]);
    assert.deepEqual(idsOf(await list('ids=')), []);
  });

  it('those that have changed since a time, last changed first', async () => {
    const { clock } = shop.deskbell;
    const conversation = await shop.converse();
    const [a, b, c] = [
      await shop.raise(),
      await shop.raise(SUPPORT),
      await shop.raise({
        ...{ notification_type: 'user_question_request', context: { question: 'Q?' } },
        conversation_id: conversation,
      }),
    ];
    await clock.advance(60);
    const since = clock.now().toISOString();
    assert.deepEqual(idsOf(await list(`updated_since=${since}`)), []);
    clock.stop();
    // At the same millisecond: the newer one is first.
    await shop.answer(c, { resolve_only: true });
    await shop.answer(a);
    clock.go();
    await clock.advance(1);
    await shop.answer(b, { resolve_only: true });
    assert.deepEqual(await pagesOf(`updated_since=${since}`), [[b, c, a]]);
    assert.deepEqual(await pagesOf(`updated_since=${since}&limit=1`), [[b], [c], [a]]);
    const questions = 'notification_types=user_question_request&status=answered&limit=1';
    assert.deepEqual(await pagesOf(`updated_since=${since}&${questions}`), [[c], [a]]);
    assert.deepEqual(await pagesOf(`updated_since=${since}&conversation_id=${conversation}`), [[c]]);
    assert.deepEqual(await pagesOf(`updated_since=${since}&ids=${a},${b}`), [[b, a]]);
    const elsewhere = new Date(Date.parse(since) + 3_600_000).toISOString().replace('Z', '+01:00');
    assert.deepEqual(idsOf(await list(`updated_since=${encodeURIComponent(elsewhere)}`)), [b, c, a]);
  });

  it('with what the assistant asked and whether it waits, and with the answer and the state of its message', async () => {
    const reference = 'run "7" \\ é';
    const asked = await ask({ reference, expires_in_seconds: 60 });
    const waiting = { status: 'waiting', expires_at: asked.expires_at, deliver: 'deskbell', reference };
    assert.deepEqual((await shop.get(`/notification/${asked.id}`)).json.ask, waiting);
    const listed = async (id: number) => (await list(`ids=${id}&include=ask`)).json[0];
    const pending = await listed(asked.id);
    assert.deepEqual([pending.ask, 'answer' in pending], [waiting, false]);
    await shop.deskbell.clock.advance(61);
    // Whoever reads it lets it expire.
    await shop.get(`/ask/${asked.id}`, { token: key });
    const expired = await listed(asked.id);
    assert.deepEqual([expired.status, expired.ask], ['requested', { ...waiting, status: 'expired' }]);
    const id = await shop.raise();
    await shop.answer(id, 'Yes, "decaf".');
    await shop.deskbell.allSent();
    const single = (await shop.get(`/notification/${id}`)).json;
    assert.deepEqual([single.answer, single.ask], [{ answer: 'Yes, "decaf".' }, null]);
    const { outcome, undo_until, lesson, assigned_to, notes, recipient, ...included } = single;
    assert.deepEqual((await list(`ids=${id}&include=answer,ask`)).json, [included]);
  });

  it('a filter that few rows match finds them behind a thousand others', async () => {
    const conversation_id = await shop.converse();
    const found = await shop.raise({ ...SUPPORT, conversation_id });
    const conversation = { conversation_id, notification_type: 'user_question_request' };
    const question = await shop.raise({ ...conversation, context: { question: 'Q?' } });
    await copyNotification(shop.deskbell, question, 1100);
    const query = `conversation_id=${conversation_id}`;
    assert.deepEqual(await pagesOf(`${query}&notification_types=user_support_request`), [[found]]);
    assert.equal((await list(query)).json.length, 100);
    assert.equal((await pagesOf(`${query}&limit=1000`)).flat().at(-1), found);
  });

  it('another merchant’s are not in any of these lists, and a key needs the scope', async () => {
    const other = await newMerchant(shop.deskbell);
    const theirs = await other.raise();
    const { id, conversation_id } = await ask({ customer: { phone: '+34611660001' } });
    for (const filter of [`ids=${id}`, `conversation_id=${conversation_id}`])
      for (const more of ['', '&include=answer,ask', '&updated_since=2020-01-01T00:00:00Z']) {
        assert.deepEqual(idsOf(await list(filter + more, other)), [], filter + more);
        assert.deepEqual(idsOf(await list(filter + more)), [id], filter + more);
      }
    for (const query of ['include=answer,ask&limit=1000', 'updated_since=2020-01-01T00:00:00Z&limit=1000'])
      assert.deepEqual(idsOf(await list(query, other)), [theirs], query);
    const get = (token: string) => shop.get('/notification/?ids=1&include=ask', { token });
    assert.equal((await get(key)).status, 200);
    assertError(await get(await shop.key('ask')), 403, 'INSUFFICIENT_SCOPE');
  });
});
