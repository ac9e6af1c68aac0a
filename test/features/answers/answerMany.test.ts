import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useHeld } from '../../support/holding.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, type CallOptions, onEachEngine, SUPPORT } from '../../support/server.ts';

const DONE = 'Notification answered.';
const ALREADY = 'This notification has already been answered and cannot be answered again.';
const isAnswered = ({ status }: { status: string }) => status === 'answered';

onEachEngine('one answer for many', (engine) => {
  const held = useHeld(engine);
  const { shop, ask, answer, show, messagesOf, documentsWith, eventsOf } = held;
  const other = useMerchant(engine);

  const answerMany = (
    ids: readonly unknown[],
    body: string | object = 'Yes, we do.',
    options?: CallOptions,
  ) => held.many('answer', { ids, ...(typeof body === 'string' ? { answer: body } : body) }, options);
  const answered = (id: number) => ({ id, status: 'answered', message: DONE });
  const refused = (id: number, code = 'ALREADY_ANSWERED', message = ALREADY) => ({
    ...{ id, status: 'refused', message, code },
  });
  const askAll = async (...questions: string[]) => {
    const ids: number[] = [];
    for (const question of questions) ids.push(await ask(question));
    return ids;
  };
  const askTimes = (count: number, question: string) => askAll(...Array<string>(count).fill(question));
  const wordingsOf = async (id: number): Promise<string[]> =>
    (await held.document(id)).wordings.map(({ text }: { text: string }) => text).sort();

  it('reaches each customer once, and is learned once', async () => {
    const ids = await askTimes(2, 'Do you sell gift boxes?');
    const waiting = { question: 'Do you sell gift boxes?', customer: { phone: '+34611550101' } };
    ids.push((await shop.post('/ask', waiting)).json.id);
    const { status, json } = await answerMany(ids, 'Yes, in two sizes.');
    assert.equal(status, 200);
    assert.deepEqual(json.results, ids.map(answered));
    assert.equal(await documentsWith('Yes, in two sizes.'), 1);
    const document = await held.document(json.document_id);
    assert.deepEqual([document.title, document.body], ['Do you sell gift boxes?', 'Yes, in two sizes.']);
    for (const id of ids) {
      const one = await show(id);
      assert.deepEqual(
        [one.status, one.answer, one.answered_by],
        ['answered', { answer: 'Yes, in two sizes.' }, 'Olga Owner'],
      );
      assert.deepEqual(
        [await messagesOf(id), await eventsOf(id)],
        [1, ['notification.requested', 'notification.answered']],
      );
    }
    assert.equal((await shop.get(`/ask/${ids[2]}`)).json.answer, 'Yes, in two sizes.');
  });

  it('updates the document that the first question names', async () => {
    const { json: made } = await answerMany(await askAll('Do you sell tins?'), 'Soon.');
    const ids = [await ask('Do you sell tins?', { document_id: made.document_id }), await ask('Tins?')];
    const { json } = await answerMany(ids, 'Tins are in.');
    assert.deepEqual([json.results, json.document_id], [ids.map(answered), made.document_id]);
    assert.equal(await documentsWith('Tins are in.'), 1);
    const gone = await ask('Do you sell cups?', { document_id: 987_654_321 });
    const { json: fresh } = await answerMany([gone, await ask('Cups?')], 'Cups are in.');
    assert.ok(fresh.document_id > made.document_id);
    assert.equal(await documentsWith('Cups are in.'), 1);
  });

  it('adds the other questions to the document as wordings, and all of them to a document that it comes from', async () => {
    const texts = ['Do you sell whisks?', 'Whisks?', 'Hello, do you sell whisks please?'];
    const { json } = await answerMany(await askAll(...texts), 'Bamboo ones.');
    assert.deepEqual(await wordingsOf(json.document_id), texts.slice(1).sort());

    const { document_id } = (await answerMany(await askAll('Do you sell ladles?'), 'On the shelf.')).json;
    const from = await answerMany(await askAll(...texts), { answer: 'See here.', document_id });
    assert.equal(from.json.document_id, document_id);
    assert.deepEqual(await wordingsOf(document_id), texts.toSorted());
    assert.equal(await documentsWith('See here.'), 0);
  });

  it('teaches nothing if it must not', async () => {
    for (const more of [{ teach: false }, { only_send_campaign: true }]) {
      const ids = await askTimes(2, 'Do you sell straws?');
      const { json } = await answerMany(ids, { answer: 'Not any more.', ...more });
      assert.deepEqual([json.document_id, json.results.every(isAnswered)], [null, true]);
      assert.equal(await documentsWith('Not any more.'), 0);
    }
  });

  it('refuses those that cannot be answered, like single answers, and answers the others', async () => {
    const [first, second, third] = (await askTimes(3, 'Do you sell lids?')) as [number, number, number];
    await answer(first, { answer: 'No lids.' });
    const foreign = await other.raise('Do you sell lids?');
    const support = await shop.raise(SUPPORT);
    const ids = [first, foreign, second, 123_456_789, support, third];
    const { status, json } = await answerMany(ids, 'Lids come with cups.');
    assert.equal(status, 200);
    const missing = ['NOTIFICATION_NOT_FOUND', 'Notification not found.'] as const;
    const field = 'Missing admin response content in context (expected field: agent_response_to_customer)';
    assert.deepEqual(json.results, [
      ...[refused(first), refused(foreign, ...missing), answered(second), refused(123_456_789, ...missing)],
      ...[refused(support, 'VALIDATION_ERROR', field), answered(third)],
    ]);
    assert.equal((await other.get(`/notification/${foreign}`)).json.status, 'requested');
    // A document with another answer is not extended.
    assert.deepEqual([await documentsWith('No lids.'), await documentsWith('Lids come with cups.')], [1, 1]);
  });

  it('goes on when it is repeated: nobody gets it twice, and one document has it', async () => {
    const ids = await askTimes(6, 'Do you sell spoons?');
    // As if the server had been killed after three.
    const { json: first } = await answerMany(ids.slice(0, 3), 'Wooden ones.');
    const { json } = await answerMany(ids.toReversed(), 'Wooden ones.');
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
  });

  it('is won by one of many calls at the same time, for each customer, and learned once', async () => {
    const ids = await askTimes(8, 'Do you sell knives?');
    const text = 'Only to adults.';
    const [, ...replies] = await Promise.all([
      answer(ids[3]!, { answer: text, only_send_campaign: true }),
      ...[ids, ids.toReversed(), ids, ids.toReversed()].map((some) => answerMany(some, text)),
    ]);
    for (const id of ids) assert.equal(await messagesOf(id), 1);
    const won = replies.flatMap(({ json }) => json.results.filter(isAnswered)).length;
    assert.ok(won === 8 || won === 7);
    assert.equal(await documentsWith(text), 1);
  });
});

describe('a request to answer many', () => {
  const { ask, many, show } = useHeld('sqlite');

  it('has a text of 1 to 4,096 characters, and takes a hundred', async () => {
    const id = await ask('Do you sell bowls?');
    for (const [field, value] of [
      ...[undefined, ' ', 'x'.repeat(4097)].map((text) => ['answer', text] as const),
      ...(['teach', 'only_send_campaign', 'document_id'] as const).map((field) => [field, 'wrong'] as const),
    ]) {
      const body = { ids: [id], answer: 'Yes.', [field]: value };
      assertError(await many('answer', body), 422, 'VALIDATION_ERROR', field);
    }
    assert.equal((await show(id)).status, 'requested');
    const ids = [id, ...Array.from({ length: 99 }, (_, n) => 500_000_000 + n)];
    const { results } = (await many('answer', { ids, answer: '🙂'.repeat(4096), teach: null })).json;
    assert.equal(results.filter(isAnswered).length, 1);
  });
});
