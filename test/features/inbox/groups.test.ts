import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useGroups } from '../../support/grouping.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, onEachEngine, raise, SUPPORT, startSecondServer } from '../../support/server.ts';

onEachEngine('the same question from several customers', (engine) => {
  const { deskbell, tokens, call, ask, groups, groupOf } = useGroups(engine);

  it('is one group as soon as it is raised, newest first, and the oldest stands for it', async () => {
    const first = await ask('Do you ship to Spain?');
    assert.equal(await groupOf(first), undefined);
    const second = await ask('Hello, can you ship to Spain please?');
    assert.deepEqual(await groupOf(first), [second, first]);
    const third = await ask('do u ship to Spain');
    const group = (await groups()).find(({ ids }) => ids.includes(first))!;
    const {
      notification_id,
      question,
      size,
      ids: [newest],
    } = group;
    assert.deepEqual(
      { notification_id, question, size, newest },
      {
        notification_id: first,
        question: 'Do you ship to Spain?',
        size: 3,
        newest: third,
      },
    );
  });

  it('is no longer grouped when it is answered or deleted', async () => {
    const ids = [
      await ask('Is the shop heated?'),
      await ask('is the shop heated?'),
      await ask('Shop heated?'),
    ];
    await call('POST', `${ids[0]}/answer`, { body: { answer: 'Yes.' } });
    assert.deepEqual(await groupOf(ids[1]!), [ids[2], ids[1]]);
    await call('DELETE', String(ids[2]));
    assert.equal(await groupOf(ids[1]!), undefined);
  });

  it('is never grouped with a support request, with another question, or if it is personal', async () => {
    const reason = { ...SUPPORT, context: { support_request_reason: 'Do you roast Ethiopian beans?' } };
    for (let n = 0; n < 2; n += 1) await raise(deskbell, tokens.aurora, reason);
    const plain = await ask('Do you roast Ethiopian beans?');
    const other = await ask('Do you roast Kenyan beans?');
    const personal = [await ask('Is order AB-1234 roasted?'), await ask('Is order AB-1234 roasted?')];
    for (const id of [plain, other, ...personal]) assert.equal(await groupOf(id), undefined);
  });

  it('can be found for every notification, also an answered one, best first and marked if it is personal', async () => {
    const answered = await ask('Do you sell paper filters?');
    await call('POST', `${answered}/answer`, { body: { answer: 'Yes.' } });
    const same = await ask('do you sell paper filters');
    const more = await ask('Do you sell paper filters for Chemex?', { lead_phone: '+34611550101' });
    const mine = await ask('Do you sell paper filters as in order 2041?');
    const { status, json } = await call('GET', `${answered}/similar`);
    assert.equal(status, 200);
    assert.deepEqual(
      json.notifications.map(({ id, personal }: { id: number; personal: boolean }) => [id, personal]),
      [
        [same, false],
        [more, false],
        [mine, true],
      ],
    );
    const [{ created_at, ...best }] = json.notifications;
    assert.deepEqual(best, {
      ...{ id: same, question: 'do you sell paper filters', score: 1, personal: false, conversation_id: 1 },
    });
    assert.match(created_at, /^\d{4}-/);
    assert.deepEqual(
      (await call('GET', `${same}/similar?limit=1`)).json.notifications.map(({ id }: { id: number }) => id),
      [more],
    );
    const not = await ask('Do you not sell paper filters?');
    const scores = (await call('GET', `${same}/similar`)).json.notifications;
    assert.equal(scores.find(({ id }: { id: number }) => id === not).score, 0.7);
    assertError(await call('GET', `${same}/similar?limit=101`), 422, 'VALIDATION_ERROR', 'limit');
  });

  it('is left alone once it was taken out of its group, until that is undone', async () => {
    const ids = [await ask('Is there parking?'), await ask('is there parking'), await ask('Parking there?')];
    assert.deepEqual(await groupOf(ids[0]!), ids.toReversed());
    for (let again = 0; again < 2; again += 1)
      assert.deepEqual((await call('POST', `${ids[1]}/ungroup`)).json, {
        message: 'The notification is in no group now.',
      });
    assert.deepEqual(await groupOf(ids[0]!), [ids[2], ids[0]]);
    assert.equal(await groupOf(ids[1]!), undefined);
    const decided = await deskbell.database.one(
      'select merchant_id, user_id, key_id from ungrouped_notifications where notification_id = $1',
      [ids[1]!],
    );
    assert.deepEqual({ ...decided! }, { merchant_id: 1, user_id: 1, key_id: null });
    for (let again = 0; again < 2; again += 1)
      assert.equal((await call('DELETE', `${ids[1]}/ungroup`)).status, 200);
    assert.deepEqual(await groupOf(ids[0]!), ids.toReversed());
    await call('POST', `${ids[1]}/ungroup`);
    // An answer keeps its time.
    assert.equal((await call('POST', `${ids[1]}/answer`, { body: { answer: 'Yes.' } })).status, 200);
    const { updated_at } = (await call('GET', `${ids[1]}`)).json;
    await call('DELETE', `${ids[1]}/ungroup`);
    assert.equal((await call('GET', `${ids[1]}`)).json.updated_at, updated_at);
    await call('DELETE', String(ids[1]));
  });

  it('is not seen or changed by another merchant, or by a key without the scope', async () => {
    const ids = [await ask('Do you sell mugs?'), await ask('do you sell mugs')];
    const foreign = await ask('Do you sell mugs?', {}, tokens.borealis);
    assert.deepEqual(await groupOf(ids[0]!), [ids[1], ids[0]]);
    assert.deepEqual(await groups(tokens.borealis), []);
    const absent = await call('GET', '123456789/similar');
    assertError(absent, 404, 'NOTIFICATION_NOT_FOUND');
    for (const id of [foreign, 'abc', 0, '%ZZ'])
      for (const [method, path] of [
        ['GET', 'similar'],
        ['POST', 'ungroup'],
        ['DELETE', 'ungroup'],
      ] as const)
        assert.equal((await call(method, `${id}/${path}`)).text, absent.text, `${method} ${id}/${path}`);
    const reader = await createKey(deskbell, ['notifications:read']);
    const asker = await createKey(deskbell, ['ask']);
    assert.equal((await call('GET', 'groups', { token: reader })).status, 200);
    assert.equal((await call('GET', `${ids[0]}/similar`, { token: reader })).status, 200);
    assertError(await call('POST', `${ids[0]}/ungroup`, { token: reader }), 403, 'INSUFFICIENT_SCOPE');
    assertError(await call('DELETE', `${ids[0]}/ungroup`, { token: reader }), 403, 'INSUFFICIENT_SCOPE');
    assertError(await call('GET', 'groups', { token: asker }), 403, 'INSUFFICIENT_SCOPE');
    assertError(await call('GET', `${ids[0]}/similar`, { token: asker }), 403, 'INSUFFICIENT_SCOPE');
    for (const path of ['groups', `${ids[0]}/similar`])
      assertError(await deskbell.call('GET', `/api/v1/notification/${path}`), 401, 'INVALID_TOKEN');
  });

  if (engine === 'postgres') {
    it('is the same group in every process, at once', async () => {
      const second = await startSecondServer(deskbell);
      try {
        const seen = async () =>
          (await second.call('GET', '/api/v1/notification/groups', { token: tokens.aurora })).json.groups;
        assert.deepEqual(await seen(), await groups());
        const ids = [await ask('Do you sell scales?'), await ask('do you sell scales')];
        assert.deepEqual(await seen(), await groups());
        await call('POST', `${ids[0]}/ungroup`);
        assert.deepEqual(await seen(), await groups());
      } finally {
        await second.close();
      }
    });
  }

  it('is found among a thousand pending ones, and among large and long ones', async () => {
    const texts = Array.from({ length: 1000 }, (_, n) => `Do you sell ${WORDS[n % 200]} boxes?`);
    for (let from = 0; from < 1000; from += 50)
      await Promise.all(texts.slice(from, from + 50).map((text) => ask(text)));
    const first = await ask('Can I bring my parrot?');
    assert.equal(await groupOf(first), undefined);
    const second = await ask('can I bring my parrot');
    assert.deepEqual(await groupOf(first), [second, first]);
    assert.ok((await groups()).filter(({ size }) => size === 5).length > 190);

    // A context above 16 KB and a question that is a story are not compared; neither delays the others.
    const large = await ask('Can I bring my parrot?', { more: 'x'.repeat(60_000) });
    const long = await ask('Can I bring my parrot? '.repeat(600));
    assert.deepEqual(await groupOf(first), [second, first]);
    for (const id of [large, long]) assert.equal((await call('GET', `${id}/similar`)).status, 200);
    // Ten times: a statement may take three seconds.
    for (let part = 0; part < 10; part += 1)
      await deskbell.database.run(
        `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
            requested_fields, answered_fields, answer_schema_id)
          with recursive copy (n) as (select 1 union all select n + 1 from copy where n < 99)
          select merchant_id, conversation_id, notification_type, created_at, updated_at, context, requested_fields,
            answered_fields, answer_schema_id from notifications cross join copy where merchant_id = 1 and id = $1`,
        [large],
      );
    const last = await ask('Can I bring my parrot?');
    assert.deepEqual(await groupOf(last), [last, second, first]);
    for (let n = 0; n < 10; n += 1) await ask('Is it windy?', { more: 'x'.repeat(20_000) });
    assert.equal(await groupOf(last), undefined, 'the others are not among the newest thousand');
  });

  it('are apart if one asks when and the other where, or one for two and the other for three', async () => {
    for (const question of [
      'When do you roast?',
      'Where do you roast?',
      'Tables for two?',
      'Tables for three?',
    ])
      assert.equal(await groupOf(await ask(question)), undefined, question);
  });
});

const LETTERS = [...'bcdfghklmnprstvw'];
const WORDS = LETTERS.flatMap((first) => LETTERS.map((last) => `${first}arol${last}ik`));
