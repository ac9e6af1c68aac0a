import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { addColleague } from '../../support/colleagues.ts';
import { answer, ask, countsOf, INBOX, idsIn, page } from '../../support/inbox.ts';
import {
  assertError,
  NOTIFICATIONS,
  onEachEngine,
  raise,
  SUPPORT,
  useDeskbell,
  useOwners,
} from '../../support/server.ts';

onEachEngine('the inbox list', (engine) => {
  const deskbell = useDeskbell(engine);
  const owners = useOwners(deskbell);
  let token = '';
  before(async () => {
    token = owners.aurora;
    await deskbell.database.run('delete from notifications where merchant_id = 1');
  });

  it('tells what was answered from what was resolved without a reply or cancelled', async () => {
    const ids: number[] = [];
    for (const n of [1, 2, 3, 4]) ids.push(await ask(deskbell, token, `Question ${n}?`));
    const [open, answered, resolved, tricky] = ids as [number, number, number, number];
    await answer(deskbell, token, answered, { answer: 'Yes.' });
    await answer(deskbell, token, resolved, { resolve_only: true });
    await answer(deskbell, token, tricky, { answer: 'Send {"resolve_only":true} please' });
    const asked = await deskbell.call('POST', '/api/v1/ask', {
      token,
      body: { conversation_id: 2, question: 'Cancelled?' },
    });
    await deskbell.call('DELETE', `/api/v1/ask/${asked.json.id}`, { token });
    await deskbell.allSent();

    const tabs = { open: [open], answered: [tricky, answered], resolved: [asked.json.id, resolved] };
    for (const [tab, expected] of Object.entries(tabs)) {
      const { items, next_cursor, complete } = await page(deskbell, token, { tab });
      assert.deepEqual([idsIn({ items }), next_cursor, complete], [expected, null, true], tab);
      assert.deepEqual(
        items.map(({ outcome }: { outcome: string }) => outcome ?? 'open'),
        expected.map(() => tab),
      );
    }
    assert.deepEqual(idsIn(await page(deskbell, token)), [open]);
    assert.deepEqual(idsIn(await page(deskbell, token, { tab: 'all', sort: 'oldest' })), [
      ...ids,
      asked.json.id,
    ]);
    const count = (n: number) => ({ count: n, more: false });
    assert.deepEqual(await countsOf(deskbell, token), {
      open: count(1),
      attention: count(0),
      answered: count(2),
      resolved: count(2),
      all: count(5),
    });
    const other = await page(deskbell, owners.borealis, { tab: 'all' });
    assert.ok(idsIn(other).every((id) => !ids.includes(id)));
  });

  it('shows of each what a list needs, and shortens long texts', async () => {
    const id = await ask(deskbell, token, `Long ${'x'.repeat(60_000)}`, { lead_phone: '+34611550101' });
    await answer(deskbell, token, id, { answer: 'y'.repeat(4000) });
    await deskbell.allSent();
    const { items } = await page(deskbell, token, { ids: String(id) });
    const [{ question, answer_preview, created_at, updated_at, delivery, ...rest }] = items;
    assert.deepEqual([question.length, answer_preview.length], [500, 300]);
    assert.ok(created_at <= updated_at);
    assert.deepEqual(rest, {
      id,
      notification_type: 'user_question_request',
      status: 'answered',
      outcome: 'answered',
      answered_by: 'Alma Reyes',
      undo_until: null,
      customer: { name: 'Lucía Fernández', phone: '+34611550101' },
      conversation: { id: 1, window_open_until: rest.conversation.window_open_until },
      attention: null,
      assigned_to: null,
      ask: null,
      notes: 0,
    });
    assert.equal(delivery.recipient, '+34611550101');
    assert.ok(['sent', 'delivered', 'read'].includes(delivery.state), delivery.state);
  });

  it('has pages that neither repeat nor miss one, in both orders and of one type', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push(await ask(deskbell, token, `Page ${n}?`));
      await raise(deskbell, token, SUPPORT);
    }
    const all = idsIn(await page(deskbell, token, { tab: 'all' }));
    const questions = idsIn(await page(deskbell, token, { tab: 'all', type: 'user_question_request' }));
    assert.equal(questions.length, all.length - 5);
    assert.deepEqual((await countsOf(deskbell, token, { type: 'user_support_request' })).all, {
      count: 5,
      more: false,
    });
    for (const [filter, expected] of [
      [{}, all],
      [{ type: 'user_question_request' }, questions],
    ] as const) {
      for (const sort of ['newest', 'oldest']) {
        const found: number[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const query = { tab: 'all', sort, limit: '3', ...filter, ...(cursor && { cursor }) };
          const { items, next_cursor } = await page(deskbell, token, query);
          assert.ok(items.length <= 3);
          found.push(...idsIn({ items }));
          cursor = next_cursor;
        }
        assert.deepEqual(found, sort === 'newest' ? expected : expected.toReversed());
      }
    }
    assert.deepEqual(idsIn(await page(deskbell, token, { tab: 'open', ids: `${ids[1]},${ids[3]},987654` })), [
      ids[3],
      ids[1],
    ]);
  });

  it('has what was answered or resolved by the time when that happened, in pages of both orders', async () => {
    const colleague = await addColleague(deskbell, 'Cora');
    const ids: number[] = [];
    for (const n of [1, 2, 3, 4, 5]) {
      ids.push(await ask(deskbell, token, `Done ${n}?`));
      const path = `${NOTIFICATIONS}/${ids.at(-1)}/assignee`;
      assert.equal(
        (await deskbell.call('PUT', path, { token, body: { user_id: colleague.id } })).status,
        200,
      );
    }
    const [one, two, three, four, five] = ids as [number, number, number, number, number];
    deskbell.clock.stop();
    for (const [tab, body] of [
      ['answered', { answer: 'Yes.' }],
      ['resolved', { resolve_only: true }],
    ] as const) {
      // Two of them in the same millisecond.
      for (const batch of [[four], [one, five], [three, two]])
        for (const id of batch) {
          if (id === batch[0]) deskbell.clock.jump(1);
          await answer(deskbell, token, id, body);
        }
      const expected = [three, two, five, one, four];
      // It changes neither who asked the same nor when it was answered.
      const group = await deskbell.call('POST', `${NOTIFICATIONS}/${four}/ungroup`, { token });
      assert.equal(group.status, 200, group.text);
      for (const filter of [{}, { assigned: String(colleague.id) }, { type: 'user_question_request' }]) {
        for (const sort of ['newest', 'oldest']) {
          const found: number[] = [];
          const times: string[] = [];
          for (let cursor: string | null = ''; cursor !== null; ) {
            const query = { tab, sort, limit: '2', ...filter, ...(cursor && { cursor }) };
            const { items, next_cursor } = await page(deskbell, token, query);
            const own = items.filter(({ id }: { id: number }) => ids.includes(id));
            found.push(...idsIn({ items: own }));
            times.push(...own.map(({ updated_at }: { updated_at: string }) => updated_at));
            cursor = next_cursor;
          }
          assert.deepEqual(found, sort === 'newest' ? expected : expected.toReversed(), `${tab} ${sort}`);
          assert.deepEqual(times, sort === 'newest' ? times.toSorted().toReversed() : times.toSorted());
        }
      }
      if (tab === 'resolved') continue;
      // They must be reopened in the database: what was sent cannot be.
      await deskbell.allSent();
      for (const id of ids)
        await deskbell.database.run(
          `update notifications set status = 'requested', answer = null where merchant_id = 1 and id = $1`,
          [id],
        );
    }
    deskbell.clock.go();
  });

  it('can be filtered by who takes care of it, also in a search', async () => {
    const [mine, hers, nobodys] = [
      await ask(deskbell, token, 'Assigned one?'),
      await ask(deskbell, token, 'Assigned two?'),
      await ask(deskbell, token, 'Assigned three?'),
    ];
    const me = (await deskbell.call('GET', '/api/v1/auth/me', { token })).json.id;
    const colleague = await addColleague(deskbell, 'Bea');
    const assign = (id: number, user_id: number) =>
      deskbell.call('PUT', `${NOTIFICATIONS}/${id}/assignee`, { token, body: { user_id } });
    assert.equal((await assign(mine, me)).status, 200);
    assert.equal((await assign(hers, colleague.id)).status, 200);
    await answer(deskbell, token, hers, { answer: 'Yes.' });
    await deskbell.allSent();
    for (const q of [{}, { q: 'assigned' }]) {
      const find = async (assigned: string, tab = 'all') =>
        idsIn(await page(deskbell, token, { assigned, tab, ...q }));
      assert.deepEqual(await find('me'), [mine]);
      assert.deepEqual(await find(String(colleague.id)), [hers]);
      assert.deepEqual(await find(String(colleague.id), 'open'), []);
      assert.deepEqual(await find('987654'), []);
      assert.equal((await find('none'))[0], nobodys);
      assert.ok(!(await find('none')).some((id) => id === mine || id === hers));
      const counts = await countsOf(deskbell, token, { assigned: String(colleague.id), ...q });
      assert.deepEqual([counts.all.count, counts.open.count, counts.answered.count], [1, 0, 1]);
    }
    const [item] = (await page(deskbell, token, { ids: String(hers) })).items;
    assert.deepEqual(item.assigned_to, { id: colleague.id, name: 'Bea' });
    await deskbell.database.run(
      `update deliveries set state = 'failed' where notification_id = $1 and merchant_id = 1`,
      [hers],
    );
    const attention = async (assigned: string) =>
      idsIn(await page(deskbell, token, { tab: 'attention', assigned }));
    assert.deepEqual(await attention(String(colleague.id)), [hers]);
    assert.deepEqual(await attention('me'), []);
  });

  it('says 304 while the page is the same, and not after a change', async () => {
    const id = await ask(deskbell, token, 'Tagged?');
    const get = (tag?: string) =>
      deskbell.call('GET', INBOX, { token, headers: tag ? { 'if-none-match': tag } : {} });
    const first = await get();
    const tag = first.headers.get('etag')!;
    assert.equal((await get(tag)).status, 304);
    await answer(deskbell, token, id, { resolve_only: true });
    const changed = await get(tag);
    assert.equal(changed.status, 200);
    assert.notEqual(changed.headers.get('etag'), tag);
  });

  it('stays below 300 KB with the longest texts', async () => {
    for (let n = 0; n < 50; n += 1) {
      const id = await ask(deskbell, token, `${n} ${'漢'.repeat(20_000)}`);
      await answer(deskbell, token, id, { answer: '漢'.repeat(4000) });
    }
    const reply = await deskbell.call('GET', `${INBOX}?tab=all`, { token });
    assert.equal(reply.json.items.length, 50);
    assert.ok(Buffer.byteLength(reply.text) < 300_000, String(Buffer.byteLength(reply.text)));
    await deskbell.allSent();
  });

  it('refuses what it does not know', async () => {
    const cursor = (await page(deskbell, token, { tab: 'all', limit: '1' })).next_cursor;
    for (const [query, field] of [
      ['tab=closed', 'tab'],
      ['type=question', 'type'],
      ['sort=up', 'sort'],
      ['assigned=nobody', 'assigned'],
      ['limit=101', 'limit'],
      ['limit=0', 'limit'],
      ['cursor=x', 'cursor'],
      [`tab=attention&cursor=${cursor}`, 'cursor'],
      [`tab=answered&cursor=${cursor}`, 'cursor'],
      ['ids=1,x', 'ids'],
      [`ids=${Array.from({ length: 101 }, (_, n) => n + 1)}`, 'ids'],
      [`q=${'x'.repeat(201)}`, 'q'],
    ] as const) {
      const reply = await deskbell.call('GET', `${INBOX}?${query}`, { token, documented: false });
      assertError(reply, 422, 'VALIDATION_ERROR', field);
    }
    assertError(
      await deskbell.call('GET', `${INBOX}/counts?type=x`, { token, documented: false }),
      422,
      'VALIDATION_ERROR',
      'type',
    );
    assert.equal((await deskbell.call('GET', INBOX)).status, 401);
  });

  it('shows nothing of another merchant, whatever is asked', async () => {
    const foreign = await ask(deskbell, owners.borealis, 'Foreign?', { conversationId: 4 });
    assert.deepEqual(idsIn(await page(deskbell, token, { ids: String(foreign) })), []);
    const { text } = await deskbell.call('GET', `${INBOX}?tab=all&limit=100`, { token });
    assert.ok(!text.includes('Foreign?'));
    const unknown = await deskbell.call('POST', `${NOTIFICATIONS}/987654/recipient`, {
      token,
      body: { phone: '+34611550102' },
    });
    const other = await deskbell.call('POST', `${NOTIFICATIONS}/${foreign}/recipient`, {
      token,
      body: { phone: '+34611550102' },
    });
    assert.deepEqual([other.status, other.text], [unknown.status, unknown.text]);
    assert.equal(unknown.status, 404);
  });
});
