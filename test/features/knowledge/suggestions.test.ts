import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { MerchantId, UserId } from '../../../src/contract/ids.ts';
import { importDocuments } from '../../../src/knowledge/files/import.ts';
import { rememberAnswered } from '../../../src/knowledge/suggestions.ts';
import {
  AURORA,
  assertError,
  BOREALIS,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  raise,
  rawCall,
  SUPPORT,
  useDeskbell,
} from '../../support/server.ts';
import { learn } from '../../support/teaching.ts';

const AURORA_ID = 1 as MerchantId;

interface Suggestion {
  kind: string;
  id: number;
  question: string;
  answer: string;
  score: number;
}

onEachEngine('suggestions', (engine) => {
  const deskbell = useDeskbell(engine);
  let aurora: string;
  let borealis: string;
  before(async () => {
    aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });

  const ask = async (question: string, token = aurora) =>
    raise(deskbell, token, {
      ...QUESTION,
      conversation_id: token === aurora ? 1 : 4,
      context: { question },
    });
  const remember = async (address: string, question: string, answer: string) => {
    const notificationId = Number(address.split('/').at(-1));
    await deskbell.database.chain({
      steps: [rememberAnswered(AURORA_ID, { notificationId, question, answer })],
    });
    return notificationId;
  };
  const suggestionsFor = async (address: string, query = '', token = aurora): Promise<Suggestion[]> => {
    const reply = await deskbell.call('GET', `${address}/suggestions${query}`, { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };

  it('come from documents and answered questions, best first, with scores from 0 to 1', async () => {
    const [best, ...others] = await suggestionsFor(await ask('Do you grind the beans for a French press?'));
    assert.deepEqual(Object.keys(best!), ['kind', 'id', 'question', 'answer', 'score']);
    const all = [best!, ...others];
    assert.deepEqual(
      all
        .map(({ kind, id }) => `${kind} ${id}`)
        .filter((one) => ['notification 1', 'document 4'].includes(one)).length,
      2,
    );
    for (const { score } of all) assert.ok(score > 0 && score <= 1);
    assert.deepEqual(
      all.map(({ score }) => score),
      all.map(({ score }) => score).sort((a, b) => b - a),
    );
  });

  it('compare only the beginning of a very long question, whatever accents it has', async () => {
    await remember(await ask('x'), 'Quagga extinct?', 'Yes.');
    const suggested = async (question: string) =>
      (await suggestionsFor(await ask(question))).map((suggestion) => suggestion.question);
    const accents = `a${'\u0301'.repeat(500)}${'\u0323'.repeat(500)}`;
    assert.ok((await suggested(`${accents} quagga extinct`)).includes('Quagga extinct?'));
    assert.deepEqual(await suggested(`${'the '.repeat(600)} quagga`), []);
  });

  it('score 1 for the same question, and more than others for other forms of the same words', async () => {
    const question = 'Do your mugs break in dishwashers?';
    const id = await remember(await ask('x'), question, 'No.');
    await remember(await ask('x'), 'Do your cups break in microwaves?', 'Yes.');
    const [same] = await suggestionsFor(await ask('DO YOUR MUGS… break in dishwashers'));
    assert.deepEqual(same, { kind: 'notification', id, question, answer: 'No.', score: 1 });
    const [best, next] = await suggestionsFor(await ask('Does the MUG break in a dishwasher?'));
    assert.deepEqual([best?.id, next?.answer], [id, 'Yes.']);
    assert.ok(best!.score > 0.6 && best!.score < 1, `${best!.score}`);
  });

  it('are found by a name in another script, and in spite of typing mistakes', async () => {
    const contents = [{ title: 'Is Jared Allen’s book in stock?', body: 'Yes, two of them.' }];
    const onProgress = () => {};
    await importDocuments(deskbell.database, AURORA_ID, contents, { now: deskbell.clock.now, onProgress });
    const [best] = await suggestionsFor(await ask('Is Jarred Alen’s book in stok?'));
    assert.equal(best?.answer, 'Yes, two of them.');
    const q = encodeURIComponent('هل كتاب جاريد ألين متوفر؟');
    const { json } = await deskbell.call('GET', `/api/v1/knowledge/find?q=${q}`, { token: aurora });
    assert.equal(json.candidates[0]?.answer, 'Yes, two of them.');
  });

  it('prefer texts that share the rare words', async () => {
    for (const kind of ['Kenya', 'Brazil', 'Peru', 'Sumatra']) {
      await remember(await ask('x'), `Is the ${kind} roast in stock?`, `${kind}: yes.`);
    }
    const [best, next] = await suggestionsFor(await ask('Is the Peru coffee in stock?'));
    assert.equal(best?.answer, 'Peru: yes.');
    assert.ok(best.score > (next?.score ?? 0));
  });

  it('leave out the notification itself, and texts that only share stop words', async () => {
    const address = await ask('Quetzal?');
    await remember(address, 'Quetzal?', 'Yes.');
    assert.deepEqual(await suggestionsFor(address), []);
    assert.deepEqual(await suggestionsFor(await ask('Do you have it for the?')), []);
    assert.deepEqual(await suggestionsFor(await ask('???')), []);
  });

  it('show an answer that became a document only once', async () => {
    const question = 'Which water suits tasting kits?';
    const address = await ask(question);
    const notificationId = await remember(address, question, 'Soft water.');
    const { documentId } = await deskbell.database.transaction((tx) =>
      learn(tx, AURORA_ID, {
        documentId: undefined,
        question,
        answer: 'Soft water.',
        notificationId,
        author: { userId: 1 as UserId, keyId: null },
        at: deskbell.clock.now(),
      }),
    );
    const found = (await suggestionsFor(await ask(question))).filter(
      ({ answer }) => answer === 'Soft water.',
    );
    assert.deepEqual(
      found.map(({ kind, id, score }) => [kind, id, score]),
      [['document', documentId, 1]],
    );
  });

  it('work for support requests too', async () => {
    const address = await raise(deskbell, aurora, {
      ...SUPPORT,
      context: { support_request_reason: 'My bag arrived torn.' },
    });
    const [best] = await suggestionsFor(address);
    assert.deepEqual([best?.kind, best?.id], ['notification', 2]);
    assert.match(best!.answer, /A new bag leaves today/);
  });

  it('are deleted with their notification', async () => {
    const address = await ask('Is there a zeppelin blend?');
    await remember(address, 'Is there a zeppelin blend?', 'Soon.');
    const asking = await ask('A zeppelin blend?');
    assert.equal((await suggestionsFor(asking)).length, 1);
    await deskbell.call('DELETE', address, { token: aurora });
    assert.deepEqual(await suggestionsFor(asking), []);
    const left = await deskbell.database.all('select 1 from answered_questions where question like $1', [
      '%zeppelin%',
    ]);
    assert.equal(left.length, 0);
    if (engine === 'sqlite') {
      const index = `select 1 from answered_questions_index where answered_questions_index match '"1:zeppelin"'`;
      assert.equal((await deskbell.database.all(index)).length, 0);
    }
  });

  it('keep texts with characters that the database cannot hold', async () => {
    await remember(await ask('x'), 'Vanilla\0 \ud800 pods?', 'Yes\0.');
    const [best] = await suggestionsFor(await ask('Vanilla pods?'));
    assert.deepEqual([best?.question, best?.answer], ['Vanilla\ufffd \ufffd pods?', 'Yes\ufffd.']);
    assert.equal((await suggestionsFor(await ask('vanilla \0 \ud800'))).length, 1);
  });

  it('are at most 5, or as many as asked for up to 20', async () => {
    for (let index = 0; index < 25; index += 1) {
      await remember(await ask('x'), `Saffron sachet ${index}?`, `Answer ${index}`);
    }
    const address = await ask('Saffron sachet?');
    assert.equal((await suggestionsFor(address)).length, 5);
    assert.equal((await suggestionsFor(address, '?limit=1')).length, 1);
    assert.equal((await suggestionsFor(address, '?limit=20')).length, 20);
    for (const limit of ['0', '21', 'abc', '']) {
      const reply = await deskbell.call('GET', `${address}/suggestions?limit=${limit}`, { token: aurora });
      assertError(reply, 422, 'VALIDATION_ERROR', 'limit');
    }
  });

  it('show nothing that belongs to another merchant', async () => {
    await remember(await ask('x'), 'Do you sell cardamom?', 'Yes.');
    assert.deepEqual(await suggestionsFor(await ask('Do you sell cardamom?', borealis), '', borealis), []);

    const seen = async (id: string) => {
      const { status, headers, text } = await rawCall(deskbell, 'GET', `${NOTIFICATIONS}/${id}/suggestions`, {
        headers: { authorization: `Bearer ${aurora}`, 'x-request-id': 'same' },
      });
      return { status, headers: headers.filter(([name]) => name !== 'date'), text };
    };
    const absent = await seen('123456789');
    assert.equal(absent.status, 404);
    assert.equal(absent.text, '{"detail":"Notification not found.","code":"NOTIFICATION_NOT_FOUND"}');
    for (const id of ['7', 'abc', '0', '-1', '9'.repeat(30), '%00', '%ZZ'])
      assert.deepEqual(await seen(id), absent, id);
    const bare = await deskbell.call('GET', `${NOTIFICATIONS}/9/suggestions`);
    assertError(bare, 401, 'INVALID_TOKEN');
  });

  it('are found among thousands of documents', async () => {
    const words = ['coffee', 'beans', 'roast', 'order', 'parcel', 'mug', 'filter', 'press', 'water', 'milk'];
    const contents = Array.from({ length: 3000 }, (_, index) => ({
      title: `${words[index % 10]} ${words[(index * 7 + 3) % 10]} note ${index}`,
      body: words.map((word, at) => `${word} ${(index * 31 + at) % 500}`).join(' '),
    }));
    contents[1234] = { title: 'Which filter for hard water?', body: 'The blue one.' };
    await importDocuments(deskbell.database, AURORA_ID, contents, {
      now: deskbell.clock.now,
      onProgress: () => {},
    });
    const address = await ask('Which coffee filter do I need for hard water?');
    const [best] = await suggestionsFor(address);
    assert.equal(best?.question, 'Which filter for hard water?');
  });
});
