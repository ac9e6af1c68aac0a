import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { rememberAnswered } from '../../../src/knowledge/suggestions.ts';
import { run, settingsOf } from '../../support/command.ts';
import { onEachEngine, SUPPORT, startSecondServer } from '../../support/server.ts';
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
  const find = async (question: string, of = shop, server = deskbell): Promise<Candidate[]> => {
    const path = `/api/v1/knowledge/find?limit=20&q=${encodeURIComponent(question)}`;
    const { status, json, text } = await server.call('GET', path, { token: await of.token() });
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

  it('also know a change after the clock was set back', async () => {
    const { added } = await importAll([{ title: 'Shipping times', body: 'Two days.' }]);
    assert.equal(added, 1);
    const [own] = await find('Shipping times');
    deskbell.clock.jump(300);
    await patch(own!.document_id, { title: 'Zebra crossing' });
    assert.equal((await find('Zebra crossing'))[0]?.score, 1);
    deskbell.clock.jump(-300);
    await patch(own!.document_id, { title: 'Walrus feeding' });
    assert.equal((await find('Walrus feeding'))[0]?.score, 1);
  });

  it('are given for any of their wordings, and the same answer once', async () => {
    const wordings = ['Where can I leave my car?'];
    const body = 'We are open every day but Sunday, from nine to six.';
    await importAll([
      { title: 'Parking', body: 'There is a garage next door.', wordings },
      { title: 'Are you open on Tuesday?', body },
      { title: 'Are you open on Wednesday?', body },
    ]);
    const [best] = await find(wordings[0]!);
    assert.deepEqual([best?.question, best?.score, best?.confident], ['Parking', 1, true]);
    const same = (await find('Are you open on Tuesday?')).filter(({ answer }) => answer === body);
    assert.deepEqual(
      same.map(({ question }) => question),
      ['Are you open on Tuesday?'],
    );
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

  it('are the same in every process', { skip: engine === 'sqlite' }, async () => {
    const second = await startSecondServer(deskbell);
    try {
      for (const question of ['Do you repair zithers?', 'gift vouchers'])
        assert.deepEqual(await find(question, shop, second), await find(question));
      await importAll([{ title: 'Do you tune lutes?', body: 'No.' }]);
      assert.equal((await find('Do you tune lutes?', shop, second))[0]?.answer, 'No.');
    } finally {
      await second.close();
    }
  });

  /** A program may answer the first without a person, and not the others: almost the same words ask something else. */
  const QUESTIONS: [same: string, ...others: string[]][] = [
    ['Do you send lamps from Spain to Portugal?', 'Do you send lamps from Portugal to Spain?'],
    ['Where do you repair broken machines?', 'When do you repair broken machines?'],
    ['I can open the tamper proof lid of the jar', "I can't open the tamper proof lid of the jar"],
    ['Do you have the leather belt in size M?', 'Do you have the leather belt in size S?'],
    [
      'Does the heater work at -5 degrees?',
      'Does the heater work at 5 degrees?',
      'Does the heater work at -6 degrees?',
    ],
    [
      'Do you deliver fresh bread to the old town in the morning?',
      'Do you deliver fresh bread to the old town in the evening?',
    ],
    ['Is there a tuna salad with the daily menu?', 'Is there a tuna sale with the daily menu?'],
    ['Can I call you about a repair of the grinder?', 'Can you call me about a repair of the grinder?'],
    ['Do you clean the woollen carpets by hand?', 'Can I clean the woollen carpets by hand?'],
  ];
  it('are confident for the same question only', async () => {
    await importAll(QUESTIONS.map(([title]) => ({ title, body: `About: ${title}` })));
    for (const [title, ...others] of QUESTIONS) {
      for (const same of [title, title.toUpperCase()]) {
        const { question, confident } = (await find(same))[0]!;
        assert.deepEqual({ question, confident }, { question: title, confident: true });
      }
      for (const one of others) {
        const [found] = await find(one);
        assert.deepEqual([found?.question, found?.confident], [title, false], one);
      }
    }
  });
});

onEachEngine('suggestions for a notification', (engine) => {
  const { shop, other, deskbell, teach, importAll } = useKnowledge(engine);
  /** An answer that is remembered without a document. */
  const remember = async (question: string, answer: string, id?: number) => {
    const notificationId = id ?? (await shop.raise('x'));
    await deskbell.database.chain({
      steps: [rememberAnswered(shop.id, { notificationId, question, answer })],
    });
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

  it('leave out the notification itself, and texts that only share stop words', async () => {
    const id = await shop.raise('Quetzal?');
    await remember('Quetzal?', 'Yes.', id);
    for (const question of [id, 'Do you have it for the?', '???'])
      assert.deepEqual(await suggestionsFor(question), []);
  });

  it('show an answer that became a document only once', async () => {
    const question = 'Which water suits tasting kits?';
    const notificationId = await remember(question, 'Soft water.');
    const { documentId } = await teach({ question, answer: 'Soft water.', notificationId });
    assert.deepEqual(
      (await suggestionsFor(question)).map(({ kind, id, score }) => [kind, id, score]),
      [['document', documentId, 1]],
    );
  });

  it('work for support requests too, and keep texts with characters that the database cannot hold', async () => {
    const id = await remember('Vanilla\0 \ud800 pods?', 'Yes\0.');
    const context = { support_request_reason: 'The vanilla pods arrived torn.' };
    const [best] = await suggestionsFor(
      await shop.raise({ ...SUPPORT, conversation_id: shop.conversationId, context }),
    );
    assert.deepEqual(
      [best?.id, best?.question, best?.answer],
      [id, 'Vanilla\ufffd \ufffd pods?', 'Yes\ufffd.'],
    );
    assert.equal((await suggestionsFor('vanilla \0 \ud800')).length, 1);
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
    for (const [query, count] of [
      ['', 5],
      ['?limit=1', 1],
      ['?limit=20', 20],
    ] as const)
      assert.equal((await suggestionsFor(id, query)).length, count);
    for (const limit of ['0', '21', 'abc', '']) {
      const { status, json } = await shop.get(`/notification/${id}/suggestions?limit=${limit}`);
      assert.deepEqual([status, json.field], [422, 'limit']);
    }
  });

  it('show nothing of another merchant, whose notifications look like those that do not exist', async () => {
    await remember('Do you sell cardamom?', 'Yes.');
    const theirs = await other.raise('Do you sell cardamom?');
    assert.deepEqual((await other.get(`/notification/${theirs}/suggestions`)).json, []);
    const seen = async (id: string | number) => {
      const { status, text } = await shop.get(`/notification/${id}/suggestions`, { documented: false });
      return [status, text];
    };
    const absent = await seen('123456789');
    assert.equal(absent[0], 404);
    for (const id of [theirs, 'abc', '0', '-1', '9'.repeat(30), '%00', '%ZZ'])
      assert.deepEqual(await seen(id), absent, `${id}`);
    assert.equal((await shop.get(`/notification/${theirs}/suggestions`, { token: undefined })).status, 401);
  });

  it('are found among thousands of documents', async () => {
    const words = ['coffee', 'beans', 'roast', 'order', 'parcel', 'mug', 'filter', 'press', 'water', 'milk'];
    const contents = Array.from({ length: 2000 }, (_, n) => ({
      title: `${words[n % 10]} ${words[(n * 7 + 3) % 10]} note ${n}`,
      body: words.map((word, at) => `${word} ${(n * 31 + at) % 500}`).join(' '),
    }));
    contents[1234] = { title: 'Which filter for hard water?', body: 'The blue one.' };
    await importAll(contents);
    const [best] = await suggestionsFor('Which coffee filter do I need for hard water?');
    assert.equal(best?.question, 'Which filter for hard water?');
  });
});
