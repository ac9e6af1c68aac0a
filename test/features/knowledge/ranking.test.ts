import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { rememberAnswered } from '../../../src/knowledge/suggestions.ts';
import { run, settingsOf } from '../../support/command.ts';
import { assertError, onEachEngine, SUPPORT } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

interface Candidate {
  document_id: number;
  question: string;
  answer: string;
  score: number;
  confident: boolean;
}
interface Suggestion {
  kind: string;
  id: number;
  question: string;
  answer: string;
  score: number;
}

/** The texts of the rules are in the unit tests of `src/knowledge/ranking/`. */
onEachEngine('documents that answer a question', (engine) => {
  const { shop, other, deskbell, call, patch, importAll } = useKnowledge(engine);
  const find = async (question: string, of = shop): Promise<Candidate[]> => {
    const path = `/knowledge/find?limit=20&q=${encodeURIComponent(question)}`;
    const { status, json, text } = await of.get(path);
    assert.equal(status, 200, text);
    return json.candidates;
  };

  it('are the same for find, suggestions and asks, and a search has the same order', async () => {
    await importAll([
      { title: 'Do you sell gift vouchers?', body: 'Yes, from 20 €.' },
      { title: 'How long are gift vouchers valid?', body: 'For three years.' },
      { title: 'Vouchers', body: 'You can use gift vouchers in the shop and online.' },
    ]);
    const question = 'Until when is a gift voucher valid?';
    const found = await find(question);
    assert.equal(found[0]?.answer, 'For three years.');
    const shown = found.filter(({ score }) => score >= 0.2);
    assert.ok(shown.length >= 2);
    const suggested = (await shop.get(`/notification/${await shop.raise(question)}/suggestions?limit=20`))
      .json;
    assert.deepEqual(
      suggested.map(({ id, score }: Suggestion) => [id, score]),
      shown.map(({ document_id, score }) => [document_id, score]),
    );
    const body = { question, customer: { reference: 'voucher' }, deliver: 'assistant' };
    const asked = (await shop.post('/ask', body, { token: await shop.key() })).json;
    assert.deepEqual(asked.candidates, shown.slice(0, 5));
    const words = (await call('GET', '?q=gift%20voucher')).json.map(({ id }: { id: number }) => id);
    const order = (await find('gift voucher')).map(({ document_id }) => document_id);
    assert.deepEqual([words.length, words], [3, order.filter((id) => words.includes(id))]);
  });

  it('know every change at once, also from another process', async () => {
    const question = 'Is the okapi blend in stock?';
    const best = async () => (await find(question)).find(({ score }) => score === 1)?.answer;
    assert.equal(await best(), undefined);
    const file = join(deskbell.config.dataDir, 'documents.jsonl');
    writeFileSync(file, JSON.stringify({ title: question, body: 'Yes.' }));
    const command = ['knowledge', 'import', file, '--merchant', String(shop.id)];
    assert.equal((await run(command, { env: settingsOf(deskbell) })).code, 0);
    assert.equal(await best(), 'Yes.');
    const [{ document_id: id }] = (await find(question)) as [Candidate];
    await patch(id, { body: 'No.' });
    assert.equal(await best(), 'No.');
    await patch(id, { title: 'Another title' });
    assert.equal(await best(), undefined);
    await patch(id, { title: question });
    await call('DELETE', String(id));
    assert.equal(await best(), undefined);
  });

  it('are given for any of their wordings', async () => {
    const wordings = ['Where can I leave my car?'];
    await importAll([{ title: 'Parking', body: 'There is a garage next door.', wordings }]);
    const [best] = await find(wordings[0]!);
    assert.deepEqual([best?.question, best?.score, best?.confident], ['Parking', 1, true]);
  });

  it('never depend on what another merchant has, nor on how rare a word is there', async () => {
    assert.deepEqual(await find('Books about zithers', other), []);
    const documents = Array.from({ length: 30 }, (_, n) => ({ title: `Zithers ${n}`, body: `Book ${n}` }));
    await importAll([{ title: 'Books about lutes and zithers', body: 'Two.' }], {}, other);
    const before = await find('Books about zithers', other);
    await importAll([{ title: 'Do you repair zithers?', body: 'Yes, on Mondays.' }, ...documents]);
    assert.equal((await find('Do you repair zithers?'))[0]?.score, 1);
    assert.deepEqual(await find('Books about zithers', other), before);
  });
});

onEachEngine('suggestions for a notification', (engine) => {
  const { shop, other, deskbell, make, importAll } = useKnowledge(engine);
  /** An answer that is remembered without a document. */
  const remember = async (question: string, answer: string, id?: number) => {
    const notificationId = id ?? (await shop.raise('x'));
    await rememberAnswered(deskbell.database, shop.id, { notificationId, question, answer });
    return notificationId;
  };
  const suggestionsFor = async (question: string | number, query = ''): Promise<Suggestion[]> => {
    const id = typeof question === 'number' ? question : await shop.raise(question);
    const reply = await shop.get(`/notification/${id}/suggestions${query}`);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };

  it('come from documents and answers, best first, with 1 for the same question', async () => {
    const question = 'Do your mugs break in dishwashers?';
    const id = await remember(question, 'No.');
    await remember('Do your cups break in microwaves?', 'Yes.');
    await importAll([{ title: 'Dishwashers', body: 'We sell none.' }]);
    const [same] = await suggestionsFor('DO YOUR MUGS… break in dishwashers');
    assert.deepEqual(same, { kind: 'notification', id, question, answer: 'No.', score: 1 });
    const all = await suggestionsFor('Does the MUG break in a dishwasher?');
    assert.equal(all[0]?.id, id);
    assert.ok(all[0].score > 0.6 && all[0].score < 1, `${all[0].score}`);
    assert.deepEqual(all.map(({ kind }) => kind).sort(), ['document', 'notification', 'notification']);
    const scores = all.map(({ score }) => score);
    assert.deepEqual(
      scores,
      scores.toSorted((a, b) => b - a),
    );
  });

  it('show an answer that became a document only once', async () => {
    const question = 'Which water suits tasting kits?';
    const notificationId = await remember(question, 'Soft water.');
    const documentId = await make({ question, answer: 'Soft water.', notificationId });
    assert.deepEqual(
      (await suggestionsFor(question)).map(({ kind, id, score }) => [kind, id, score]),
      [['document', documentId, 1]],
    );
  });

  it('work for support requests too, and keep texts with characters that the database cannot hold', async () => {
    const id = await remember('Vanilla\0 \ud800 pods?', 'Yes\0.');
    const context = { support_request_reason: 'The vanilla pods arrived torn.' };
    const asked = { ...SUPPORT, context };
    const [best] = await suggestionsFor(await shop.raise(asked));
    const texts = ['Vanilla\ufffd \ufffd pods?', 'Yes\ufffd.'];
    assert.deepEqual([best?.id, best?.question, best?.answer], [id, ...texts]);
  });

  it('are deleted with their notification', async () => {
    const id = await remember('Is there a zeppelin blend?', 'Soon.');
    const asking = await shop.raise('A zeppelin blend?');
    assert.equal((await suggestionsFor(asking)).length, 1);
    await shop.delete(`/notification/${id}`);
    assert.deepEqual(await suggestionsFor(asking), []);
    const left = await deskbell.database.all(
      `select 1 from answered_questions where question like '%zeppelin%'`,
    );
    assert.equal(left.length, 0);
    if (engine === 'sqlite') {
      const index = `select 1 from answered_questions_index where answered_questions_index match '"${shop.id}:zeppelin"'`;
      assert.equal((await deskbell.database.all(index)).length, 0);
    }
  });

  it('are at most 5, or as many as asked for up to 20', async () => {
    for (let n = 0; n < 22; n += 1) await remember(`Saffron sachet ${n}?`, `Answer ${n}`);
    const id = await shop.raise('Saffron sachet?');
    assert.equal((await suggestionsFor(id)).length, 5);
    assert.equal((await suggestionsFor(id, '?limit=20')).length, 20);
    for (const limit of ['0', '21', 'abc']) {
      const reply = await shop.get(`/notification/${id}/suggestions?limit=${limit}`);
      assertError(reply, 422, 'VALIDATION_ERROR', 'limit');
    }
  });

  it('show nothing of another merchant, whose notifications look like those that do not exist', async () => {
    await remember('Do you sell cardamom?', 'Yes.');
    const theirs = await other.raise('Do you sell cardamom?');
    assert.deepEqual((await other.get(`/notification/${theirs}/suggestions`)).json, []);
    const absent = await shop.get('/notification/123456789/suggestions');
    const foreign = await shop.get(`/notification/${theirs}/suggestions`);
    assert.deepEqual([foreign.status, foreign.text], [404, absent.text]);
  });
});
