import assert from 'node:assert/strict';
import { it } from 'node:test';
import { copyNotification } from '../../support/inbox.ts';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine, SUPPORT, startSecondServer } from '../../support/server.ts';

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
  const groupOf = async (id: number, of = shop) =>
    (await groups(of)).find(({ ids }) => ids.includes(id))?.ids;
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
    for (let n = 0; n < 2; n += 1)
      await shop.raise({ ...SUPPORT, conversation_id: shop.conversationId, context });
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
    assert.deepEqual(
      notifications.map(({ id, personal }: { id: number; personal: boolean }) => [id, personal]),
      [
        [same, false],
        [more, false],
        [mine, true],
      ],
    );
    const [{ created_at, ...best }] = notifications;
    assert.deepEqual(best, {
      ...{ id: same, question: 'do you sell paper filters', score: 1, personal: false },
      conversation_id: shop.conversationId,
    });
    assert.match(created_at, /^\d{4}-/);
    const [only, ...others] = (await similar(same, '?limit=1')).json.notifications;
    assert.deepEqual([only.id, others], [more, []]);
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
    const [ungroup, undo] = [
      () => shop.post(`${on(second)}/ungroup`),
      () => shop.delete(`${on(second)}/ungroup`),
    ];
    assert.deepEqual(await groupOf(first), ids.toReversed());
    for (let again = 0; again < 2; again += 1) assert.equal((await ungroup()).status, 200);
    assert.deepEqual(await groupOf(first), [third, first]);
    assert.equal(await groupOf(second), undefined);
    const decided = await shop.deskbell.database.one(
      'select merchant_id, user_id, key_id from ungrouped_notifications where notification_id = $1',
      [second],
    );
    assert.deepEqual({ ...decided! }, { merchant_id: shop.id, user_id: shop.owner.id, key_id: null });
    for (let again = 0; again < 2; again += 1) assert.equal((await undo()).status, 200);
    assert.deepEqual(await groupOf(first), ids.toReversed());
    await ungroup();
    // An answer keeps its time.
    await shop.answer(second);
    const { updated_at } = (await shop.get(on(second))).json;
    await undo();
    assert.equal((await shop.get(on(second))).json.updated_at, updated_at);
  });

  it('is never grouped with another merchant’s', async () => {
    const ids = [await shop.raise('Do you sell mugs?'), await shop.raise('do you sell mugs')];
    await other.raise('Do you sell mugs?');
    assert.deepEqual(await groupOf(ids[0]!), ids.toReversed());
    assert.deepEqual(await groups(other), []);
  });

  if (engine === 'postgres')
    it('is the same group in every process, at once', async () => {
      const second = await startSecondServer(shop.deskbell);
      try {
        const token = await shop.token();
        const assertSame = async () => {
          const { json } = await second.call('GET', '/api/v1/notification/groups', { token });
          assert.deepEqual(json.groups, await groups());
        };
        await assertSame();
        const ids = [await shop.raise('Do you sell scales?'), await shop.raise('do you sell scales')];
        await assertSame();
        await shop.post(`${on(ids[0]!)}/ungroup`);
        await assertSame();
      } finally {
        await second.close();
      }
    });

  it('is found among a thousand pending ones, and among large and long ones', async () => {
    const busy = await newMerchant(shop.deskbell);
    const ask = (question: string, more = '') => busy.raise({ context: { question, more } });
    const model = await ask('Do you sell boxes?');
    for (const word of WORDS.slice(0, 200))
      await copyNotification(busy.deskbell, model, 5, { question: `Do you sell ${word} boxes?` });
    const first = await ask('Can I bring my parrot?');
    assert.equal(await groupOf(first, busy), undefined);
    const second = await ask('can I bring my parrot');
    assert.deepEqual(await groupOf(first, busy), [second, first]);
    assert.ok((await groups(busy)).filter(({ size }) => size === 5).length > 190);

    // A context above 16 KB and a question that is a story are not compared; neither delays the others.
    const large = 'x'.repeat(20_000);
    await ask('Can I bring my parrot?', large);
    await ask('Can I bring my parrot? '.repeat(600));
    assert.deepEqual(await groupOf(first, busy), [second, first]);
    // Ten times: a statement may take three seconds.
    for (let part = 0; part < 10; part += 1)
      await copyNotification(busy.deskbell, model, 99, { question: 'Can I bring my parrot?', more: large });
    const last = await ask('Can I bring my parrot?');
    assert.deepEqual(await groupOf(last, busy), [last, second, first]);
    for (let n = 0; n < 10; n += 1) await ask('Is it windy?', large);
    assert.equal(await groupOf(last, busy), undefined, 'the others are not among the newest thousand');
  });
});

const LETTERS = [...'bcdfghklmnprstvw'];
const WORDS = LETTERS.flatMap((first) => LETTERS.map((last) => `${first}arol${last}ik`));
