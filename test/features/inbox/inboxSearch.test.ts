import assert from 'node:assert/strict';
import { it } from 'node:test';
import { indexNext } from '../../../src/notifications/inbox/search/indexer.ts';
import { copyNotification, idsIn, inboxOf, indexAll } from '../../support/inbox.ts';
import { useMerchant } from '../../support/merchants.ts';
import { onEachEngine } from '../../support/server.ts';

onEachEngine('the search of the inbox', (engine) => {
  // Tests index by hand, so that each search runs before and after.
  const shop = useMerchant(engine, { WORKER: 'false' });
  const other = useMerchant(engine, { WORKER: 'false' });
  const { page, idsOf, allPages, counts } = inboxOf(shop);
  const index = () => indexAll(shop.deskbell, [shop.id, other.id]);
  const find = (q: string, more: Record<string, string> = {}) => idsOf({ tab: 'all', q, ...more });
  /** Before a worker has seen it, and after. */
  const always = async (check: () => Promise<void>) => {
    await check();
    await index();
    await check();
  };
  const ask = (question: string, conversation_id: number, more: object = {}) =>
    shop.raise({ conversation_id, context: { question, ...more } });

  it('finds words of the question without case, accents and endings, and the beginning of the last', async () => {
    const id = await shop.raise('Tienen Café descafeinado en GRANOS zulú?');
    await always(async () => {
      for (const q of ['zulu', 'ZULÚ', 'cafe zulu', 'grano zulu', 'zulu descaf', 'zul'])
        assert.deepEqual(await find(q), [id], q);
      for (const q of ['zulu missing', 'ulu', '?', 'zulux']) assert.deepEqual(await find(q), [], q);
    });
  });

  it('finds words of the answer as soon as it is given, and the question in its new tab only', async () => {
    const id = await shop.raise('About yankees?');
    await index();
    assert.deepEqual(await find('yankees', { tab: 'open' }), [id]);
    await shop.answer(id, 'We call them xylophones.');
    await always(async () => {
      assert.deepEqual(await find('yankee xylophone'), [id]);
      assert.deepEqual(await find('yankee', { tab: 'open' }), []);
      assert.deepEqual(await find('xylophone', { tab: 'answered' }), [id]);
    });
  });

  it('finds customers by name and by any part of the phone number, also after they have changed', async () => {
    const customer = (customer_name: string, customer_phone: string) =>
      shop.converse({ reference: 'victor', customer_name, customer_phone });
    const to = { lead_phone: '+34655443322' };
    const id = await ask(
      'Where is order 7744?',
      await customer('Wilhelmína Østergård', '+34 611 77 01 42'),
      to,
    );
    await always(async () => {
      for (const q of ['wilhelmina', 'ostergard order', '+34611770142', '0142', '7744', '655 443 322'])
        assert.deepEqual(await find(q), [id], q);
      assert.deepEqual(await find('611770143'), []);
    });
    await customer('Quentin Umlauf', '+34 644 00 00 99');
    await always(async () => {
      for (const q of ['umlauf', '6440000']) assert.deepEqual(await find(q), [id]);
      assert.deepEqual(await find('wilhelmina'), []);
    });
  });

  it('finds words of the notes for people, and not for keys', async () => {
    const id = await shop.raise('Where is my uniform?');
    await index();
    const notes = `/notification/${id}/notes`;
    const note = await shop.post(notes, { text: 'Called the hospice today.' });
    const key = { token: await shop.key('notifications:read') };
    await always(async () => {
      assert.deepEqual(await find('hospice'), [id]);
      assert.deepEqual(await find('uniform hospi'), [id]);
      assert.deepEqual(await idsOf({ tab: 'all', q: 'hospice' }, key), []);
      assert.deepEqual(await idsOf({ tab: 'all', q: 'uniform' }, key), [id]);
      assert.equal((await page({ ids: String(id) })).items[0].notes, 1);
    });
    await shop.delete(`${notes}/${note.json.id}`);
    await always(async () => assert.deepEqual(await find('hospice'), []));
    await shop.delete(`/notification/${id}`);
    await always(async () => assert.deepEqual(await find('uniform'), []));
  });

  it('has pages in both orders, and counts, while some are indexed and others are not', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 7; n += 1) {
      ids.push(await shop.raise(`sierra ${n}?`));
      if (n === 3) await index();
    }
    await shop.answer(ids[1]!, { resolve_only: true });
    const count = (n: number) => ({ count: n, more: false });
    await always(async () => {
      for (const sort of ['newest', 'oldest']) {
        const items = await allPages({ tab: 'all', q: 'sierra', sort, limit: '2' });
        assert.deepEqual(idsIn({ items }), sort === 'newest' ? ids.toReversed() : ids);
      }
      assert.equal((await page({ q: 'sierra' })).complete, true);
      assert.deepEqual(await counts({ q: 'sierra' }), {
        ...{ open: count(6), attention: count(0), answered: count(0), resolved: count(1), all: count(7) },
      });
    });
  });

  it('finds an old match behind many newer ones', async () => {
    const id = await shop.raise('A single romeo?');
    await copyNotification(shop.deskbell, id, 1100, { question: 'common quebec' });
    // More than a search compares itself.
    assert.equal((await page({ q: 'quebec' })).complete, false);
    assert.equal((await counts({ q: 'quebec' })).open.more, true);
    await index();
    assert.deepEqual(await find('romeo'), [id]);
    assert.equal((await page({ q: 'quebec' })).items.length, 50);
    assert.deepEqual((await counts({ q: 'quebec' })).all, { count: 200, more: true });
  });

  it('does not let the text of a search change the query', async () => {
    const id = await shop.raise('papa (oscar)?');
    // Signs are no operators, and small words do not count.
    const found = ['papa) OR (oscar', 'papa NOT oscar', 'papa AND', 'papa:*', 'papa\\', "papa' | '", '"papa'];
    const none = ['papa" OR "1:a', "papa' | 'zebra", 'zebra) OR (oscar', '=open papa'];
    await always(async () => {
      for (const q of found) assert.deepEqual(await find(q), [id], q);
      for (const q of none) assert.deepEqual(await find(q), [], q);
    });
  });

  it('never finds another merchant’s', async () => {
    const id = await other.raise('november secret?');
    await always(async () => {
      assert.deepEqual(await find('november'), []);
      assert.equal((await counts({ q: 'november' })).all.count, 0);
      assert.deepEqual(await inboxOf(other).idsOf({ tab: 'all', q: 'november' }), [id]);
    });
  });

  it('indexes a conversation with many questions piece by piece', async () => {
    const customer = (customer_name: string) => shop.converse({ reference: 'lima', customer_name });
    const id = await ask('lima?', await customer('Ana'));
    await copyNotification(shop.deskbell, id, 119);
    await index();
    await customer('Kilimanjaro');
    const count = async () => (await counts({ q: 'lima kilimanjaro' })).all.count;
    assert.equal(await count(), 120);
    await indexNext(shop.deskbell.database, shop.id);
    assert.equal(await count(), 120);
    await index();
    assert.equal(await count(), 120);
  });
});
