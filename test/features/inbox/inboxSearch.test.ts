import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { indexNext } from '../../../src/notifications/inbox/search/indexer.ts';
import { answer, ask, countsOf, idsIn, indexAll, page } from '../../support/inbox.ts';
import { createKey } from '../../support/machineKeys.ts';
import { NOTIFICATIONS, onEachEngine, useDeskbell, useOwners } from '../../support/server.ts';

onEachEngine('the search of the inbox', (engine) => {
  // Tests index by hand, so that each search runs before and after.
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  const owners = useOwners(deskbell);
  let token = '';
  before(() => {
    token = owners.aurora;
  });

  const find = async (q: string, more: Record<string, string> = {}) =>
    idsIn(await page(deskbell, token, { tab: 'all', q, ...more }));
  /** Before a worker has seen it, and after. */
  const always = async (check: () => Promise<void>) => {
    await check();
    await indexAll(deskbell);
    await check();
  };
  const name = async (conversationId: number, customer_name: string, customer_phone: string) => {
    const body = { reference: `demo-${conversationId}`, customer_name, customer_phone };
    const saved = await deskbell.call('POST', '/api/v1/conversation/', { token, body });
    assert.equal(saved.json.id, conversationId, saved.text);
  };

  it('finds words of the question without case, accents and endings, and the beginning of the last', async () => {
    const id = await ask(deskbell, token, 'Tienen Café descafeinado en GRANOS zulú?');
    await always(async () => {
      for (const q of ['zulu', 'ZULÚ', 'cafe zulu', 'grano zulu', 'zulu descaf', 'zul'])
        assert.deepEqual(await find(q), [id], q);
      for (const q of ['zulu missing', 'ulu', '?', 'zulux']) assert.deepEqual(await find(q), [], q);
    });
  });

  it('finds words of the answer as soon as it is given, and the question in its new tab only', async () => {
    const id = await ask(deskbell, token, 'About yankees?');
    await indexAll(deskbell);
    assert.deepEqual(await find('yankees', { tab: 'open' }), [id]);
    await answer(deskbell, token, id, { answer: 'We call them xylophones.' });
    await always(async () => {
      assert.deepEqual(await find('yankee xylophone'), [id]);
      assert.deepEqual(await find('yankee', { tab: 'open' }), []);
      assert.deepEqual(await find('xylophone', { tab: 'answered' }), [id]);
      assert.deepEqual(await find('xylophone', { tab: 'resolved' }), []);
    });
  });

  it('finds customers by name and by any part of the phone number, also after they have changed', async () => {
    await name(2, 'Wilhelmína Østergård', '+34 611 77 01 42');
    const id = await ask(deskbell, token, 'Where is victor?', { conversationId: 2 });
    await always(async () => {
      for (const q of [
        'wilhelmina',
        'ostergard victor',
        '+34611770142',
        '611 77 01 42',
        '770142',
        '0142',
        '00346117',
      ])
        assert.deepEqual((await find(q))[0], id, q);
      assert.ok(!(await find('611770143')).includes(id));
    });
    await name(2, 'Quentin Umlauf', '+34 622 00 00 99');
    await always(async () => {
      assert.deepEqual((await find('umlauf'))[0], id);
      assert.deepEqual((await find('6220000'))[0], id);
      assert.deepEqual(await find('wilhelmina'), []);
    });
  });

  it('finds a number in the text, and the number that an answer goes to', async () => {
    const id = await ask(deskbell, token, 'Is order 774421 sent?', { lead_phone: '+34655443322' });
    await always(async () => {
      assert.deepEqual(await find('774421'), [id]);
      assert.deepEqual(await find('order 7744'), [id]);
      assert.deepEqual(await find('655 443 322'), [id]);
    });
  });

  it('finds words of the notes for people, and not for keys', async () => {
    const id = await ask(deskbell, token, 'Where is my uniform?');
    await indexAll(deskbell);
    const notes = `${NOTIFICATIONS}/${id}/notes`;
    const note = await deskbell.call('POST', notes, { token, body: { text: 'Called the hospice today.' } });
    assert.equal(note.status, 200, note.text);
    const key = await createKey(deskbell, ['notifications:read']);
    await always(async () => {
      assert.deepEqual(await find('hospice'), [id]);
      assert.deepEqual(await find('uniform hospi'), [id]);
      assert.deepEqual(idsIn(await page(deskbell, key, { tab: 'all', q: 'hospice' })), []);
      assert.deepEqual(idsIn(await page(deskbell, key, { tab: 'all', q: 'uniform' })), [id]);
      assert.equal((await page(deskbell, token, { ids: String(id) })).items[0].notes, 1);
    });
    await deskbell.call('DELETE', `${notes}/${note.json.id}`, { token });
    await always(async () => assert.deepEqual(await find('hospice'), []));
  });

  it('forgets what is deleted', async () => {
    const [first, second] = [
      await ask(deskbell, token, 'tango one?'),
      await ask(deskbell, token, 'tango two?'),
    ];
    await indexAll(deskbell);
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${first}`, { token });
    await always(async () => assert.deepEqual(await find('tango'), [second]));
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${second}`, { token });
    await always(async () => assert.deepEqual(await find('tango'), []));
  });

  it('has pages in both orders, and counts, while some are indexed and others are not', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 7; n += 1) {
      ids.push(await ask(deskbell, token, `sierra ${n}?`));
      if (n === 3) await indexAll(deskbell);
    }
    await answer(deskbell, token, ids[1]!, { resolve_only: true });
    for (const [sort, expected] of [
      ['newest', [...ids].reverse()],
      ['oldest', ids],
    ] as const) {
      await always(async () => {
        const found: number[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const query = { tab: 'all', q: 'sierra', sort, limit: '2', ...(cursor && { cursor }) };
          const { items, next_cursor, complete } = await page(deskbell, token, query);
          found.push(...idsIn({ items }));
          assert.equal(complete, true);
          cursor = next_cursor;
        }
        assert.deepEqual(found, expected);
        const counts = await countsOf(deskbell, token, { q: 'sierra' });
        assert.deepEqual(counts, {
          open: { count: 6, more: false },
          attention: { count: 0, more: false },
          answered: { count: 0, more: false },
          resolved: { count: 1, more: false },
          all: { count: 7, more: false },
        });
      });
    }
  });

  it('finds an old match behind many newer ones', async () => {
    const id = await ask(deskbell, token, 'A single romeo?');
    const { database } = deskbell;
    const copy = `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
        requested_fields, answered_fields, answer_schema_id)
      select merchant_id, conversation_id, notification_type, created_at, updated_at, '{"question":"common quebec"}',
        requested_fields, answered_fields, answer_schema_id from notifications where merchant_id = 1 and id = $1`;
    for (let n = 0; n < 1100; n += 1) await database.run(copy, [id]);
    // More than a search compares itself.
    assert.equal((await page(deskbell, token, { q: 'quebec' })).complete, false);
    assert.equal((await countsOf(deskbell, token, { q: 'quebec' })).open.more, true);
    await indexAll(deskbell);
    assert.deepEqual(await find('romeo'), [id]);
    assert.equal((await page(deskbell, token, { q: 'quebec' })).items.length, 50);
    assert.deepEqual((await countsOf(deskbell, token, { q: 'quebec' })).all, { count: 200, more: true });
    await database.run(
      `delete from notifications where merchant_id = 1 and context = '{"question":"common quebec"}'`,
    );
  });

  it('does not let the text of a search change the query', async () => {
    const id = await ask(deskbell, token, 'papa (oscar)?');
    await always(async () => {
      for (const q of [
        'papa" OR "1:a',
        "papa' | 'a",
        'papa) OR (oscar',
        'papa AND',
        'papa:*',
        'papa\\',
        '=open papa',
      ])
        assert.ok(
          (await find(q)).every((found) => found === id),
          q,
        );
      assert.deepEqual(await find('papa NOT oscar'), [id]);
    });
  });

  it('never finds another merchant’s', async () => {
    const id = await ask(deskbell, owners.borealis, 'november secret?', { conversationId: 4 });
    await always(async () => {
      assert.deepEqual(await find('november'), []);
      assert.deepEqual((await countsOf(deskbell, token, { q: 'november' })).all.count, 0);
      const { items } = await page(deskbell, owners.borealis, { tab: 'all', q: 'november' });
      assert.deepEqual(idsIn({ items }), [id]);
    });
  });

  it('shares the work between merchants, and each is done once', async () => {
    await ask(deskbell, token, 'mike?');
    const [first, second] = await Promise.all([
      indexNext(deskbell.database, 1 as MerchantId),
      indexNext(deskbell.database, 1 as MerchantId),
    ]);
    assert.equal(first + second, 1);
    assert.deepEqual(await deskbell.database.all('select * from inbox_changes'), []);
  });

  it('indexes a conversation with many questions piece by piece', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 120; n += 1)
      ids.push(await ask(deskbell, token, `lima ${n}?`, { conversationId: 3 }));
    await indexAll(deskbell);
    await name(3, 'Kilimanjaro', '+34611000111');
    assert.equal((await countsOf(deskbell, token, { q: 'lima kilimanjaro' })).all.count, 120);
    await indexNext(deskbell.database, 1 as MerchantId);
    assert.equal((await countsOf(deskbell, token, { q: 'lima kilimanjaro' })).all.count, 120);
    await indexAll(deskbell);
    assert.equal((await countsOf(deskbell, token, { q: 'lima kilimanjaro' })).all.count, 120);
  });
});
