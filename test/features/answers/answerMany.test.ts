import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { useGroups } from '../../support/grouping.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, onEachEngine, raise, SUPPORT } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const DONE = 'Notification answered.';
const ALREADY = 'This notification has already been answered and cannot be answered again.';

onEachEngine('one answer for many', (engine) => {
  const { deskbell, tokens, call, ask, answerMany } = useGroups(engine);

  const answered = (id: number) => ({ id, status: 'answered', message: DONE });
  const refused = (id: number, code = 'ALREADY_ANSWERED', message = ALREADY) => ({
    ...{ id, status: 'refused', message, code },
  });
  const askAll = async (question: string, count: number) => {
    const ids: number[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await ask(question, { lead_phone: `+3461155${1000 + n}` }));
    return ids;
  };
  const count = async (sql: string, ...params: (number | string)[]) =>
    (await deskbell.database.one<{ n: number }>(`select count(*) as n from ${sql}`, params))!.n;
  const messagesOf = (id: number) => count('deliveries where merchant_id = 1 and notification_id = $1', id);
  const documentsWith = (body: string) => count('documents where merchant_id = 1 and body = $1', body);

  it('reaches each customer once, and is learned once', async () => {
    const ids = await askAll('Do you sell gift boxes?', 3);
    const { status, json } = await answerMany(ids, { answer: 'Yes, in two sizes.' });
    assert.equal(status, 200);
    assert.deepEqual(json.results, ids.map(answered));
    assert.equal(await documentsWith('Yes, in two sizes.'), 1);
    const document = (
      await deskbell.call('GET', `/api/v1/knowledge/${json.document_id}`, { token: tokens.aurora })
    ).json;
    assert.deepEqual([document.title, document.body], ['Do you sell gift boxes?', 'Yes, in two sizes.']);
    for (const id of ids) {
      const { json: one } = await call('GET', String(id));
      assert.deepEqual([one.status, one.answer], ['answered', { answer: 'Yes, in two sizes.' }]);
      assert.equal(one.answered_by, 'Alma Reyes');
      assert.equal(await messagesOf(id), 1);
      assert.equal(
        (await count(`new_events where notification_id = $1 and type = 'notification.answered'`, id)) +
          (await count(`events where notification_id = $1 and type = 'notification.answered'`, id)),
        1,
      );
    }
  });

  it('updates the document that the first question names', async () => {
    const { json: made } = await answerMany(await askAll('Do you sell tins?', 1), { answer: 'Soon.' });
    const ids = [await ask('Do you sell tins?', { document_id: made.document_id }), await ask('Tins?')];
    const { json } = await answerMany(ids, { answer: 'Tins are in.' });
    assert.deepEqual([json.results, json.document_id], [ids.map(answered), made.document_id]);
    assert.equal(await documentsWith('Tins are in.'), 1);
    const gone = await ask('Do you sell cups?', { document_id: 987_654_321 });
    const { json: other } = await answerMany([gone, await ask('Cups?')], { answer: 'Cups are in.' });
    assert.ok(other.document_id > made.document_id);
    assert.equal(await documentsWith('Cups are in.'), 1);
  });

  it('makes a new document if it is told to, and leaves the one that a question names', async () => {
    for (const undo_seconds of [0, 1]) {
      const text = `Bags are in ${undo_seconds}.`;
      const { json: made } = await answerMany(await askAll('Do you sell bags?', 1), { answer: text });
      const named = { document_id: made.document_id };
      const ids = [await ask('Do you sell bags?', named), await ask('Bags?', named)];
      const answer = `About nine days ${undo_seconds}.`;
      const { status } = await answerMany(ids, { answer, undo_seconds, teach: { do: 'new' } });
      assert.equal(status, 200);
      for (const id of ids) {
        await until('it is sent', async () => (await call('GET', `${id}`)).json.undo_until === null);
      }
      assert.deepEqual([await documentsWith(text), await documentsWith(answer)], [1, 1]);
    }
    for (const teach of ['new', { do: 'replace' }, {}, 1, []]) {
      const reply = await answerMany([1], { answer: 'No.', teach });
      assertError(reply, 422, 'VALIDATION_ERROR', 'teach');
    }
  });

  it('adds the other questions to the document as wordings, and all of them to a document that it comes from', async () => {
    const texts = ['Do you sell whisks?', 'Whisks?', 'Hello, do you sell whisks please?'];
    const askEach = async () => {
      const ids: number[] = [];
      for (const text of texts) ids.push(await ask(text));
      return ids;
    };
    const wordingsOf = async (id: number) =>
      (await deskbell.call('GET', `/api/v1/knowledge/${id}`, { token: tokens.aurora })).json.wordings.map(
        ({ text }: { text: string }) => text,
      );
    const { json } = await answerMany(await askEach(), { answer: 'Bamboo ones.' });
    assert.deepEqual((await wordingsOf(json.document_id)).toSorted(), texts.slice(1).sort());

    const other = (await answerMany([await ask('Do you sell ladles?')], { answer: 'On the shelf.' })).json;
    const from = await answerMany(await askEach(), { answer: 'See here.', document_id: other.document_id });
    assert.equal(from.json.document_id, other.document_id);
    assert.deepEqual((await wordingsOf(other.document_id)).toSorted(), texts.toSorted());
    assert.equal(await documentsWith('See here.'), 0);
    // A document that does not exist: it is learned as usual, once.
    const { json: none } = await answerMany(await askEach(), {
      answer: 'See there.',
      document_id: 987_654_321,
    });
    assert.ok(none.document_id > other.document_id);
    assert.equal(await documentsWith('See there.'), 1);
  });

  it('teaches nothing if it must not', async () => {
    for (const more of [{ teach: false }, { only_send_campaign: true }]) {
      const ids = await askAll('Do you sell straws?', 2);
      const { json } = await answerMany(ids, { answer: 'Not any more.', ...more });
      assert.equal(json.document_id, null);
      assert.deepEqual(
        json.results.map(({ status }: { status: string }) => status),
        ['answered', 'answered'],
      );
      assert.equal(await documentsWith('Not any more.'), 0);
    }
  });

  it('refuses those that cannot be answered, like single answers, and answers the others', async () => {
    const [first, second, third] = await askAll('Do you sell lids?', 3);
    await call('POST', `${first}/answer`, { body: { answer: 'No.' } });
    const foreign = await ask('Do you sell lids?', {}, tokens.borealis);
    const support = Number((await raise(deskbell, tokens.aurora, SUPPORT)).split('/').at(-1));
    const { status, json } = await answerMany([first, foreign, second, 123_456_789, support, third], {
      answer: 'Lids come with cups.',
    });
    assert.equal(status, 200);
    const missing = 'Notification not found.';
    assert.deepEqual(json.results, [
      refused(first!),
      refused(foreign, 'NOTIFICATION_NOT_FOUND', missing),
      answered(second!),
      refused(123_456_789, 'NOTIFICATION_NOT_FOUND', missing),
      refused(
        support,
        'VALIDATION_ERROR',
        'Missing admin response content in context (expected field: agent_response_to_customer)',
      ),
      answered(third!),
    ]);
    const { json: theirs } = await call('GET', String(foreign), { token: tokens.borealis });
    assert.equal(theirs.status, 'requested');
  });

  it('goes on when it is repeated: nobody gets it twice, and one document has it', async () => {
    const ids = await askAll('Do you sell spoons?', 6);
    const body = { answer: 'Wooden ones.' };
    // As if the server had been killed after three.
    const { json: first } = await answerMany(ids.slice(0, 3), body);
    const { json } = await answerMany(ids.toReversed(), body);
    assert.deepEqual(json.results, [
      ...ids.slice(3).reverse().map(answered),
      ...ids
        .slice(0, 3)
        .reverse()
        .map((id) => refused(id)),
    ]);
    assert.equal(json.document_id, first.document_id);
    assert.equal(await documentsWith('Wooden ones.'), 1);
    for (const id of ids) assert.equal(await messagesOf(id), 1);
    const { json: again } = await answerMany(ids, body);
    assert.deepEqual([again.results, again.document_id], [ids.map((id) => refused(id)), null]);
  });

  it('does not extend a document with another answer', async () => {
    const [first, ...rest] = await askAll('Do you sell forks?', 3);
    await call('POST', `${first}/answer`, { body: { answer: 'No forks.' } });
    await answerMany([first, ...rest], { answer: 'Forks from May.' });
    assert.deepEqual([await documentsWith('No forks.'), await documentsWith('Forks from May.')], [1, 1]);
  });

  it('is won by one of many calls at the same time, for each customer, and learned once', async () => {
    const ids = await askAll('Do you sell knives?', 8);
    const body = { answer: 'Only to adults.' };
    const replies = await Promise.all([
      ...[ids, ids.toReversed(), ids, ids.toReversed()].map((some) => answerMany(some, body)),
      call('POST', `${ids[3]}/answer`, { body: { ...body, only_send_campaign: true } }),
    ]);
    for (const id of ids) assert.equal(await messagesOf(id), 1);
    const won = replies.slice(0, 4).flatMap(({ json }) => json.results.filter(isAnswered));
    assert.ok(won.length === 8 || won.length === 7);
    assert.equal(await documentsWith('Only to adults.'), 1);
  });

  it('is replayed for the same Idempotency-Key, and refused for another request', async () => {
    const ids = await askAll('Do you sell pots?', 2);
    const options = { headers: { 'idempotency-key': randomUUID() } };
    const first = await answerMany(ids, {}, options);
    assert.deepEqual(first.json.results, ids.map(answered));
    const again = await answerMany(ids, {}, options);
    assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [first.text, 'true']);
    assertError(
      await answerMany(ids.slice(1), {}, options),
      422,
      'IDEMPOTENCY_KEY_REUSED',
      'Idempotency-Key',
    );
    assertError(
      await answerMany(ids, {}, { headers: { 'idempotency-key': 'a b' } }),
      ...([422, 'VALIDATION_ERROR', 'Idempotency-Key'] as const),
    );

    const more = await askAll('Do you sell pans?', 20);
    const key = { headers: { 'idempotency-key': randomUUID() } };
    const both = await Promise.all([answerMany(more, {}, key), answerMany(more, {}, key)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
    for (const id of more) assert.equal(await messagesOf(id), 1);
  });

  it('takes 1 to 100 different ids and a text, and no more', async () => {
    const [id] = await askAll('Do you sell bowls?', 1);
    const wrong: [body: unknown, field: string][] = [
      [[], 'body'],
      [{}, 'ids'],
      [{ ids: [id] }, 'answer'],
      [{ ids: [id], answer: ' ' }, 'answer'],
      [{ ids: [id], answer: 7 }, 'answer'],
      [{ ids: [id], answer: 'x'.repeat(4097) }, 'answer'],
      [{ ids: [id], answer: 'x'.repeat(200_000) }, 'answer'],
      [{ ids: [id], answer: 'Yes.', teach: 'no' }, 'teach'],
      [{ ids: [id], answer: 'Yes.', only_send_campaign: 1 }, 'only_send_campaign'],
      [{ ids: [id], answer: 'Yes.', document_id: '1' }, 'document_id'],
      ...[[], [id, id], [String(id)], [0], [-1], [1.5], [1e30], [null], id, 'all', { 0: id }, [[id]]].map(
        (ids): [unknown, string] => [{ ids, answer: 'Yes.' }, 'ids'],
      ),
      [{ ids: Array.from({ length: 101 }, (_, n) => n + 1), answer: 'Yes.' }, 'ids'],
    ];
    for (const [body, field] of wrong)
      assertError(await call('POST', 'answer-many', { body }), 422, 'VALIDATION_ERROR', field);
    const { json } = await call('GET', String(id));
    assert.equal(json.status, 'requested');
    const hundred = [id!, ...Array.from({ length: 99 }, (_, n) => 500_000_000 + n)];
    const { results } = (await answerMany(hundred, { answer: '🙂'.repeat(4096), teach: null })).json;
    assert.equal(results.filter(isAnswered).length, 1);
  });

  it('needs the scope to answer', async () => {
    const [id] = await askAll('Do you sell jars?', 1);
    const reader = await createKey(deskbell, ['notifications:read', 'ask']);
    assertError(await answerMany([id], {}, { token: reader }), 403, 'INSUFFICIENT_SCOPE');
    const { json } = await answerMany([id], {}, { token: await createKey(deskbell, ['answer']) });
    assert.deepEqual(json.results, [answered(id!)]);
    assert.equal((await call('GET', String(id))).json.answered_by, 'Test key');
  });

  it('ends the asks of assistants that wait', async () => {
    const ids: number[] = [];
    for (const reference of ['a', 'b']) {
      const body = { question: 'Do you sell trays?', customer: { phone: '+34611550101', reference } };
      const asked = await deskbell.call('POST', '/api/v1/ask', { token: tokens.aurora, body });
      ids.push(asked.json.id);
    }
    await answerMany(ids, { answer: 'Trays, yes.' });
    for (const id of ids) {
      const { json } = await deskbell.call('GET', `/api/v1/ask/${id}`, { token: tokens.aurora });
      assert.deepEqual([json.status, json.answer], ['answered', 'Trays, yes.']);
    }
  });
});

const isAnswered = ({ status }: { status: string }) => status === 'answered';
