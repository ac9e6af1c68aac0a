import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine, SUPPORT } from '../../support/server.ts';

interface Group {
  ids: number[];
  size: number;
  notification_id: number;
  question: string;
}

onEachEngine('the same question from several customers', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const groups = async (of = shop): Promise<Group[]> => (await of.get('/notification/groups')).json.groups;
  /** The group that has this notification. */
  const groupOf = async (id: number) => (await groups()).find(({ ids }) => ids.includes(id))?.ids;
  const on = (id: number | string) => `/notification/${id}`;
  const similar = async (id: number, query = '') => shop.get(`${on(id)}/similar${query}`);

  it('is one group as soon as it is raised, newest first, and the oldest stands for it', async () => {
    const first = await shop.raise('Do you ship to Spain?');
    assert.equal(await groupOf(first), undefined);
    const second = await shop.raise('Hello, can you ship to Spain please?');
    assert.deepEqual(await groupOf(first), [second, first]);
    const third = await shop.raise('do u ship to Spain');
    const [group] = await groups();
    assert.deepEqual([group!.notification_id, group!.question], [first, 'Do you ship to Spain?']);
    assert.deepEqual([group!.size, group!.ids[0]], [3, third]);
    await other.raise('Do you ship to Spain?');
    assert.deepEqual([(await groupOf(first))?.length, await groups(other)], [3, []]);
  });

  it('is no longer grouped when it is answered or deleted', async () => {
    const [first, second, third] = [
      await shop.raise('Is the shop heated?'),
      await shop.raise('is the shop heated?'),
      await shop.raise('Shop heated?'),
    ];
    await shop.answer(first);
    assert.deepEqual(await groupOf(second), [third, second]);
    await shop.delete(on(third));
    assert.equal(await groupOf(second), undefined);
  });

  it('is never grouped with a support request, with another question, or if it is personal', async () => {
    const context = { support_request_reason: 'Do you roast Ethiopian beans?' };
    for (let n = 0; n < 2; n += 1) await shop.raise({ ...SUPPORT, context });
    for (const question of [
      ...['Do you roast Ethiopian beans?', 'Do you roast Kenyan beans?'],
      ...['Is order AB-1234 roasted?', 'Is order AB-1234 roasted?'],
    ])
      assert.equal(await groupOf(await shop.raise(question)), undefined, question);
  });

  it('can be found for every notification, also an answered one, best first and marked if it is personal', async () => {
    const answered = await shop.raise('Do you sell paper filters?');
    await shop.answer(answered);
    const same = await shop.raise('do you sell paper filters');
    const more = await shop.raise('Do you sell paper filters for Chemex?');
    const mine = await shop.raise('Do you sell paper filters as in order 2041?');
    const { notifications } = (await similar(answered)).json;
    const found = notifications.map(({ id, personal }: Record<string, unknown>) => `${id} ${personal}`);
    assert.deepEqual(found, [`${same} false`, `${more} false`, `${mine} true`]);
    const [{ created_at: _, ...best }] = notifications;
    assert.deepEqual(best, {
      ...{ id: same, question: 'do you sell paper filters', score: 1, personal: false },
      conversation_id: shop.conversationId,
    });
    const not = await shop.raise('Do you not sell paper filters?');
    const scores = (await similar(same)).json.notifications;
    assert.equal(scores.find(({ id }: { id: number }) => id === not).score, 0.7);
    assertError(await similar(same, '?limit=101'), 422, 'VALIDATION_ERROR', 'limit');
  });

  it('is left alone once it was taken out of its group, until that is undone', async () => {
    const ids: number[] = [];
    for (const question of ['Is there parking?', 'is there parking', 'Parking there?'])
      ids.push(await shop.raise(question));
    const [first, second, third] = ids as [number, number, number];
    const ungroup = () => shop.post(`${on(second)}/ungroup`);
    const undo = () => shop.delete(`${on(second)}/ungroup`);
    assert.deepEqual(await groupOf(first), ids.toReversed());
    for (let again = 0; again < 2; again += 1) assert.equal((await ungroup()).status, 200);
    assert.deepEqual(await groupOf(first), [third, first]);
    assert.equal(await groupOf(second), undefined);
    for (let again = 0; again < 2; again += 1) assert.equal((await undo()).status, 200);
    assert.deepEqual(await groupOf(first), ids.toReversed());
  });

  it('is found among large and long ones, which are not compared', async () => {
    const ask = (question: string, more = '') => shop.raise({ context: { question, more } });
    const first = await ask('Can I bring my parrot?');
    const second = await ask('can I bring my parrot');
    // A context above 16 KB, and a question that is a story.
    await ask('Can I bring my parrot?', 'x'.repeat(20_000));
    await ask('Can I bring my parrot? '.repeat(600));
    assert.deepEqual(await groupOf(first), [second, first]);
  });
});
