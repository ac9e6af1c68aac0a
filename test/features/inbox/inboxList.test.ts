import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { idsIn, inboxOf } from '../../support/inbox.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine, SUPPORT } from '../../support/server.ts';

onEachEngine('the inbox list', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const { page, idsOf, allPages, counts } = inboxOf(shop);
  const assign = async (id: number, user_id: number) =>
    assert.equal((await shop.put(`/notification/${id}/assignee`, { user_id })).status, 200);

  it('tells what was answered from what was resolved without a reply or cancelled', async () => {
    const ids: number[] = [];
    for (const n of [1, 2, 3, 4]) ids.push(await shop.raise(`Question ${n}?`));
    const [open, answered, resolved, tricky] = ids as [number, number, number, number];
    await shop.answer(answered);
    await shop.answer(resolved, { resolve_only: true });
    await shop.answer(tricky, 'Send {"resolve_only":true} please');
    const body = { conversation_id: shop.conversationId, question: 'Cancelled?' };
    const { id: cancelled } = (await shop.post('/ask', body)).json;
    await shop.delete(`/ask/${cancelled}`);
    await shop.deskbell.allSent();

    const tabs = { open: [open], answered: [tricky, answered], resolved: [cancelled, resolved] };
    for (const [tab, expected] of Object.entries(tabs)) {
      const { items, next_cursor, complete } = await page({ tab });
      assert.deepEqual([idsIn({ items }), next_cursor, complete], [expected, null, true], tab);
      for (const { outcome } of items) assert.equal(outcome ?? 'open', tab);
    }
    assert.deepEqual(await idsOf(), [open]);
    assert.deepEqual(await idsOf({ tab: 'all', sort: 'oldest' }), [...ids, cancelled]);
    const count = (n: number) => ({ count: n, more: false });
    const all = {
      open: count(1),
      attention: count(0),
      answered: count(2),
      resolved: count(2),
      all: count(5),
    };
    assert.deepEqual(await counts(), all);
  });

  it('shows of each what a list needs, and shortens long texts', async () => {
    const question = `Long ${'x'.repeat(60_000)}`;
    const id = await shop.raise({ context: { question, lead_phone: '+34611550101' } });
    await shop.answer(id, 'y'.repeat(4000));
    await shop.deskbell.allSent();
    const [item] = (await page({ ids: String(id) })).items;
    const { question: shown, answer_preview, created_at, updated_at, delivery, ...rest } = item;
    assert.deepEqual([shown.length, answer_preview.length], [500, 300]);
    assert.ok(created_at <= updated_at);
    assert.deepEqual(rest, {
      ...{ id, notification_type: 'user_question_request', status: 'answered', outcome: 'answered' },
      ...{ answered_by: 'Olga Owner', undo_until: null },
      customer: { name: 'Lucía', phone: '+34611550101' },
      conversation: { id: shop.conversationId, window_open_until: null },
      ...{ attention: null, assigned_to: null, ask: null, notes: 0 },
    });
    assert.deepEqual([delivery.recipient, delivery.state], ['+34611550101', 'delivered']);
  });

  it('has pages that neither repeat nor miss one, in both orders and of one type', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push(await shop.raise(`Page ${n}?`));
      await shop.raise(SUPPORT);
    }
    const all = await idsOf({ tab: 'all' });
    const questions = await idsOf({ tab: 'all', type: 'user_question_request' });
    assert.equal(questions.length, all.length - 5);
    assert.deepEqual((await counts({ type: 'user_support_request' })).all, { count: 5, more: false });
    for (const sort of ['newest', 'oldest']) {
      const found = idsIn({ items: await allPages({ tab: 'all', sort, limit: '3' }) });
      assert.deepEqual(found, sort === 'newest' ? all : all.toReversed());
    }
    const some = await idsOf({ tab: 'open', ids: `${ids[1]},${ids[3]},987654` });
    assert.deepEqual(some, [ids[3], ids[1]]);
    const theirs = await inboxOf(other).page({ tab: 'all', ids: String(ids[1]) });
    assert.deepEqual([theirs.items, (await inboxOf(other).counts()).all.count], [[], 0]);
  });

  it('has what was answered or resolved by the time when that happened, in pages of both orders', async () => {
    const { clock, database } = shop.deskbell;
    const ids: number[] = [];
    for (const n of [1, 2, 3, 4, 5]) ids.push(await shop.raise(`Done ${n}?`));
    const [one, two, three, four, five] = ids as [number, number, number, number, number];
    clock.stop();
    for (const [tab, body] of [
      ['answered', { answer: 'Yes.' }],
      ['resolved', { resolve_only: true }],
    ] as const) {
      // Two of them in the same millisecond.
      for (const batch of [[four], [one, five], [three, two]]) {
        clock.jump(1);
        for (const id of batch) assert.equal((await shop.answer(id, body)).status, 200);
      }
      const expected = [three, two, five, one, four];
      // It changes neither who asked the same nor when it was answered.
      await shop.post(`/notification/${four}/ungroup`);
      for (const filter of [{}, { type: 'user_question_request' }])
        for (const sort of ['newest', 'oldest']) {
          const items = await allPages({ tab, sort, limit: '2', ...filter });
          const found = idsIn({ items: items.filter(({ id }) => ids.includes(id)) });
          assert.deepEqual(found, sort === 'newest' ? expected : expected.toReversed(), `${tab} ${sort}`);
        }
      // They must be reopened in the database: what was sent cannot be.
      await shop.deskbell.allSent();
      await database.run(
        `update notifications set status = 'requested', answer = null where merchant_id = $1 and id >= $2`,
        [shop.id, one],
      );
    }
    clock.go();
  });

  it('can be filtered by who takes care of it, also in a search', async () => {
    const [mine, hers] = [await shop.raise('Assigned one?'), await shop.raise('Assigned two?')];
    const nobodys = await shop.raise('Assigned three?');
    const colleague = await shop.colleague('Bea');
    const her = String(colleague.id);
    await assign(mine, shop.owner.id);
    await assign(hers, colleague.id);
    await shop.answer(hers);
    await shop.deskbell.allSent();
    for (const q of [{}, { q: 'assigned' }]) {
      const find = (assigned: string, tab = 'all') => idsOf({ assigned, tab, ...q });
      assert.deepEqual(await find('me'), [mine]);
      assert.deepEqual(await find(her), [hers]);
      assert.deepEqual(await find(her, 'open'), []);
      assert.deepEqual(await find('987654'), []);
      const nobody = await find('none');
      assert.deepEqual([nobody[0], nobody.includes(mine), nobody.includes(hers)], [nobodys, false, false]);
      const { all, open, answered } = await counts({ assigned: her, ...q });
      assert.deepEqual([all.count, open.count, answered.count], [1, 0, 1]);
    }
    const [item] = (await page({ ids: String(hers) })).items;
    assert.deepEqual(item.assigned_to, { id: colleague.id, name: 'Bea' });
  });

  it('says 304 while the page is the same, and not after a change', async () => {
    const id = await shop.raise('Tagged?');
    const get = (tag = '') => shop.get('/inbox', { headers: { 'if-none-match': tag } });
    const tag = (await get()).headers.get('etag')!;
    assert.equal((await get(tag)).status, 304);
    await shop.answer(id, { resolve_only: true });
    const changed = await get(tag);
    assert.equal(changed.status, 200);
    assert.notEqual(changed.headers.get('etag'), tag);
  });
});

describe('a page of the inbox list', () => {
  const shop = useMerchant('sqlite');

  it('refuses what it does not know', async () => {
    await shop.raise();
    await shop.raise();
    const cursor = (await inboxOf(shop).page({ tab: 'all', limit: '1' })).next_cursor;
    for (const query of [
      ...['?tab=closed', '?type=question', '?sort=up', '?assigned=nobody', '?limit=101', '?cursor=x'],
      ...[`?cursor=${cursor}&tab=attention`, `?cursor=${cursor}&tab=answered`, `?q=${'x'.repeat(201)}`],
      ...['?ids=1,x', `?ids=${Array.from({ length: 101 }, (_, n) => n + 1)}`],
    ]) {
      const reply = await shop.get(`/inbox${query}`, { documented: false });
      assertError(reply, 422, 'VALIDATION_ERROR', /\w+/.exec(query)![0]);
    }
    assert.equal((await shop.deskbell.call('GET', '/api/v1/inbox')).status, 401);
  });
});
