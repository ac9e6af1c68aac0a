import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Event } from '../../../src/contract/events.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  assertError,
  BOREALIS,
  idsOf,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  raise,
} from '../../support/server.ts';
import { KNOWLEDGE, useKnowledge } from '../../support/teaching.ts';

const WORDINGS_MAX = 100;
const NUMBERS = Array.from({ length: WORDINGS_MAX }, (_, n) => `Number ${n + 1}?`);

onEachEngine('the other wordings of a document', (engine) => {
  const { deskbell, tokens, call, patch, make } = useKnowledge(engine);
  let borealis: string;
  before(async () => {
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });

  const add = (id: number, text: unknown, token = tokens.aurora) =>
    call('POST', `${id}/wordings`, { body: { text }, token });
  const read = async (id: number) => (await call('GET', String(id))).json;
  const textsOf = async (id: number): Promise<string[]> =>
    (await read(id)).wordings.map(({ text }: { text: string }) => text);
  const found = async (q: string) => idsOf(await call('GET', `?q=${encodeURIComponent(q)}`));
  const ask = (question: string, context = {}) =>
    raise(deskbell, tokens.aurora, { ...QUESTION, context: { question, ...context } });
  const answer = (address: string, body: object, headers = {}) =>
    deskbell.call('POST', `${address}/answer`, { token: tokens.aurora, body, headers });
  const idOf = (address: string) => Number(address.split('/').at(-1));
  const documentCount = async () =>
    (await deskbell.database.one<{ n: number }>('select count(*) as n from documents where merchant_id = 1'))!
      .n;
  const logAfter = async (after: number): Promise<{ events: Event[]; last_id: number }> =>
    (await deskbell.call('GET', `/api/v1/events/log?after=${after}&limit=500`, { token: tokens.aurora }))
      .json;
  const lastEvent = async () => (await logAfter(0)).last_id;
  /** What programs hear about documents. */
  const changesAfter = async (after: number) =>
    (await logAfter(after)).events
      .filter(({ type }) => type === 'knowledge.updated')
      .map(({ data }) => data as { document_id: number | null; change: string })
      .map(({ document_id, change }) => ({ document_id, change }));

  it('are added and removed by hand; the document keeps its version and is found by them', async () => {
    // If no document has all words, a search finds similar ones: so another one has this word.
    const other = await make({ question: 'Animals', answer: 'A quokka.' });
    const id = await make({ question: 'Delivery times', answer: 'Two days.' });
    const { headers, json: before } = await call('GET', String(id));
    assert.deepEqual(before.wordings, []);
    const after = await lastEvent();
    await deskbell.clock.advance(60);

    const { status, json: wording } = await add(id, '  When will my \n quokka arrive? ');
    assert.equal(status, 200);
    assert.deepEqual(wording, {
      id: wording.id,
      text: 'When will my quokka arrive?',
      notification_id: null,
      user_id: 1,
      user_name: 'Alma Reyes',
      created_at: wording.created_at,
    });
    const { headers: tagged, json: after1 } = await call('GET', String(id));
    assert.equal(tagged.get('etag'), headers.get('etag'));
    assert.deepEqual(after1, { ...before, updated_at: wording.created_at, wordings: [wording] });
    assert.ok(wording.created_at > before.updated_at);
    assert.deepEqual(
      [await found('quokka'), await found('quok')],
      [
        [id, other],
        [id, other],
      ],
    );
    assert.deepEqual(await found('quokka days'), [id]);
    assert.equal((await call('GET', '?limit=1')).json[0].id, id);

    await add(id, 'Second one?');
    assert.deepEqual(await textsOf(id), ['Second one?', 'When will my quokka arrive?']);
    const removed = await call('DELETE', `${id}/wordings/${wording.id}`);
    assert.deepEqual([removed.status, removed.json], [200, { message: 'Wording removed.' }]);
    assert.deepEqual(await textsOf(id), ['Second one?']);
    assert.deepEqual(await found('quokka'), [other]);
    assertError(await call('DELETE', `${id}/wordings/${wording.id}`), 404, 'WORDING_NOT_FOUND');
    assert.deepEqual(await changesAfter(after), Array(3).fill({ document_id: id, change: 'changed' }));
    const { json: audit } = await deskbell.call('GET', '/api/v1/audit?what=wording.removed', {
      token: tokens.aurora,
    });
    assert.deepEqual(audit[0].about, { document_id: id });
  });

  it('the document is found and suggested by each of them, until it is removed', async () => {
    const id = await make({ question: 'Roasting days', answer: 'On Mondays and Thursdays.' });
    const question = 'How fresh will the numbats be when I get them?';
    const find = async () => {
      const { json } = await call('GET', `find?q=${encodeURIComponent(question)}`);
      return json.candidates.find((candidate: { document_id: number }) => candidate.document_id === id);
    };
    const suggested = async (address: string) =>
      (await deskbell.call('GET', `${address}/suggestions`, { token: tokens.aurora })).json[0];
    assert.equal(await find(), undefined);
    await add(id, 'Something else?');
    const { json: wording } = await add(id, question);
    assert.deepEqual([(await find()).score, (await find()).question], [1, 'Roasting days']);
    const address = await ask(question);
    const { kind, id: first, score } = await suggested(address);
    assert.deepEqual([kind, first, score], ['document', id, 1]);
    await call('DELETE', `${id}/wordings/${wording.id}`);
    assert.equal(await find(), undefined);
    assert.notEqual((await suggested(address))?.id, id);
  });

  it('an edit and a revert keep them, and the document is still found by them', async () => {
    const other = await make({ question: 'Animals', answer: 'A platypus.' });
    const id = await make({ question: 'Opening hours', answer: 'At nine.' });
    await add(id, 'When does the platypus open?');
    await patch(id, { title: 'Our hours', body: '😀'.repeat(20_000) });
    assert.deepEqual(await found('platypus'), [id, other]);
    await call('POST', `${id}/revert`);
    assert.deepEqual(await found('platypus'), [id, other]);
    assert.deepEqual(await textsOf(id), ['When does the platypus open?']);
  });

  it('an answer with document_id adds the question, changes nothing else and makes no document', async () => {
    const id = await make({ question: 'Shipping to islands', answer: 'Yes, in a week.' });
    const [before, count, after] = [await read(id), await documentCount(), await lastEvent()];
    for (const [n, headers] of [{}, { 'idempotency-key': 'wording-with-key' }].entries()) {
      const address = await ask(`Do you send numbat${n} to Tenerife?`);
      assert.equal(
        (await answer(address, { answer: 'Yes, in a week.', document_id: id }, headers)).status,
        200,
      );
      const { json } = await deskbell.call('GET', address, { token: tokens.aurora });
      assert.deepEqual([json.status, json.answer], ['answered', { answer: 'Yes, in a week.' }]);
      assert.notEqual(json.delivery, null);
      assert.deepEqual(await found(`numbat${n}`), [id]);
      const [wording] = (await read(id)).wordings;
      assert.deepEqual(
        [wording.text, wording.notification_id, wording.user_name],
        [`Do you send numbat${n} to Tenerife?`, idOf(address), 'Alma Reyes'],
      );
    }
    const now = await read(id);
    assert.deepEqual(
      [now.title, now.body, now.version, now.versions],
      [before.title, before.body, before.version, before.versions],
    );
    assert.equal(await documentCount(), count);
    assert.deepEqual(await changesAfter(after), Array(2).fill({ document_id: id, change: 'changed' }));
  });

  it('an answer to a question about a document adds the question, with one event', async () => {
    const id = await make({ question: 'Gift wrapping', answer: 'Yes.' });
    const after = await lastEvent();
    await answer(await ask('Can a bandicoot be wrapped?', { document_id: id }), { answer: 'Yes, for 2 €.' });
    const changed = await read(id);
    assert.deepEqual([changed.body, changed.version], ['Yes, for 2 €.', 2]);
    assert.deepEqual(await textsOf(id), ['Can a bandicoot be wrapped?']);
    assert.deepEqual(await found('bandicoot'), [id]);
    assert.equal((await changesAfter(after)).length, 1);
    // The same answer makes no version, but the wording is new.
    await answer(await ask('And a bilby?', { document_id: id }), { answer: 'Yes, for 2 €.' });
    assert.equal((await read(id)).version, 2);
    assert.deepEqual(await found('bilby'), [id]);
    assert.equal((await changesAfter(after)).length, 2);
    // The title itself is not another wording.
    await answer(await ask('Gift wrapping?', { document_id: id }), { answer: 'Yes, for 3 €.' });
    assert.deepEqual(await textsOf(id), ['And a bilby?', 'Can a bandicoot be wrapped?']);
  });

  it('a document that the answer names comes before the one that the question is about', async () => {
    const [used, about] = [await make({ question: 'Used' }), await make({ question: 'About' })];
    const before = await read(about);
    await answer(await ask('Which quoll?', { document_id: about }), {
      answer: 'This.',
      document_id: used,
    });
    assert.deepEqual(await textsOf(used), ['Which quoll?']);
    assert.deepEqual(await read(about), before);
  });

  it('an answer that names no document of the merchant is learned as usual', async () => {
    const { json: foreign } = await call('GET', '?limit=1', { token: borealis });
    const foreignText = (await call('GET', `${foreign[0].id}`, { token: borealis })).text;
    const deleted = await make();
    await call('DELETE', String(deleted));
    for (const documentId of [deleted, foreign[0].id, 0, -1, 987_654_321, 1e30]) {
      const word = `echidna${String(documentId).replaceAll(/\W/g, '')}`;
      const address = await ask(`What about ${word}?`);
      assert.equal((await answer(address, { answer: 'Yes, it is.', document_id: documentId })).status, 200);
      const [document] = (await call('GET', `?q=${word}`)).json;
      assert.deepEqual([document?.title, document?.body], [`What about ${word}?`, 'Yes, it is.']);
    }
    const about = await make({ question: 'Still here' });
    const address = await ask('Is the dingo here?', { document_id: about });
    await answer(address, { answer: 'It is.', document_id: deleted });
    assert.equal((await read(about)).body, 'It is.');
    assert.equal((await call('GET', `${foreign[0].id}`, { token: borealis })).text, foreignText);
  });

  it('an invalid document_id is refused with 500 and its name; null is none', async () => {
    const id = await make();
    const address = await ask('Is the wallaby valid?');
    for (const wrong of ['1', 1.5, true, [id], {}]) {
      const refused = await answer(address, { answer: 'Yes.', document_id: wrong });
      assertError(refused, 500, 'VALIDATION_ERROR', 'document_id');
    }
    assert.equal((await answer(address, { answer: 'Yes, it is.', document_id: null })).status, 200);
    assert.equal((await found('wallaby')).length, 1);
  });

  it('a campaign and a resolved question teach no wording', async () => {
    const id = await make();
    await answer(await ask('A campaign?'), { answer: 'Yes.', document_id: id, only_send_campaign: true });
    await answer(await ask('Resolved?'), { resolve_only: true, document_id: id });
    await answer(await ask('About it?', { document_id: id }), { answer: 'Yes.', only_send_campaign: true });
    assert.deepEqual(await textsOf(id), []);
  });

  it('the same wording is not added twice, by hand or by an answer', async () => {
    const id = await make({ question: 'Do you ship to Portugal?' });
    const { json: first } = await add(id, 'Parcels for Lisbon?');
    for (const same of ['parcel for LISBON', 'Parcels, for Lisbon?!', 'Párcels for the Lisbon']) {
      assert.deepEqual((await add(id, same)).json, first, same);
      await answer(await ask(same), { answer: 'Yes.', document_id: id });
    }
    assertError(await add(id, 'Do you ship to portugal'), 422, 'VALIDATION_ERROR', 'text');
    await answer(await ask('Ship to Portugal!'), { answer: 'Yes.', document_id: id });
    assert.deepEqual(await textsOf(id), ['Parcels for Lisbon?']);
    // Another order is another wording, and so are words that only differ in stop words if there are no others.
    assert.equal((await add(id, 'Lisbon parcels?')).status, 200);
    assert.equal((await add(id, 'How is it?')).status, 200);
    assert.equal((await add(id, 'What is this?')).status, 200);
    assert.equal((await textsOf(id)).length, 4);
  });

  it('at most 100: by hand one more is refused, by an answer it is left out', async () => {
    const id = await make({ question: 'Numbers' });
    for (const text of NUMBERS) assert.equal((await add(id, text)).status, 200);
    const refused = await add(id, 'One more?');
    assertError(refused, 409, 'CONFLICT');
    assert.match(refused.json.detail, /already has 100 wordings/);
    const { json: same } = await add(id, 'number 7');
    assert.equal(same.text, 'Number 7?');
    const address = await ask('One more taipan?');
    assert.equal((await answer(address, { answer: 'Yes.', document_id: id })).status, 200);
    assert.deepEqual(await textsOf(id), NUMBERS.toReversed());
    await call('DELETE', `${id}/wordings/${same.id}`);
    assert.equal((await add(id, 'One more?')).status, 200);
  });

  it('an invalid text is refused with 422, and a long question is shortened', async () => {
    const id = await make();
    for (const wrong of [undefined, null, '', ' \n', 5, ['x'], 'x'.repeat(201)])
      assertError(await add(id, wrong), 422, 'VALIDATION_ERROR', 'text');
    for (const body of ['[]', 'null', '"x"'])
      assertError(await call('POST', `${id}/wordings`, { body }), 422, 'VALIDATION_ERROR', 'text');
    assert.equal((await add(id, '😀'.repeat(200))).status, 200);
    await answer(await ask(`Wombat ${'long '.repeat(900)}`), { answer: 'Yes.', document_id: id });
    const [long] = await textsOf(id);
    assert.match(long!, /^Wombat long .*…$/);
    assert.ok([...long!].length <= 200);
  });

  it('belong to one merchant: to others the document and the wording do not exist', async () => {
    const id = await make();
    const { json: wording } = await add(id, 'A kookaburra?');
    const other = await make();
    const theirs = (await call('GET', '?limit=1', { token: borealis })).json[0].id;
    const absent = await call('DELETE', `123456789/wordings/${wording.id}`);
    for (const path of [`${id}/wordings/${wording.id}`, `${id}/wordings/1`, `x/wordings/${wording.id}`]) {
      const refused = await call('DELETE', path, { token: borealis });
      assert.deepEqual([refused.status, refused.text], [404, absent.text]);
    }
    assertError(await add(id, 'Mine?', borealis), 404, 'DOCUMENT_NOT_FOUND');
    assertError(
      await call('DELETE', `${theirs}/wordings/${wording.id}`, { token: borealis }),
      404,
      'WORDING_NOT_FOUND',
    );
    // Neither through another document of the same merchant.
    for (const wrong of [wording.id, 0, -1, 'x', 1e30])
      assertError(await call('DELETE', `${other}/wordings/${wrong}`), 404, 'WORDING_NOT_FOUND');
    assert.deepEqual(await textsOf(id), ['A kookaburra?']);
    assert.deepEqual(idsOf(await call('GET', '?q=kookaburra', { token: borealis })), []);
  });

  it('a key needs the scope knowledge:write, and its name is shown', async () => {
    const id = await make();
    const reader = await createKey(deskbell, ['ask', 'knowledge:read', 'notifications:read']);
    assertError(await add(id, 'By a key?', reader), 403, 'INSUFFICIENT_SCOPE');
    const writer = await createKey(deskbell, ['knowledge:write']);
    const { json } = await add(id, 'By a key?', writer);
    assert.deepEqual([json.user_id, json.user_name], [null, 'Test key']);
    assertError(
      await call('DELETE', `${id}/wordings/${json.id}`, { token: reader }),
      403,
      'INSUFFICIENT_SCOPE',
    );
    assert.equal((await call('DELETE', `${id}/wordings/${json.id}`, { token: writer })).status, 200);
  });

  it('stay when their notification or their user is deleted, and go with the document', async () => {
    const id = await make();
    const address = await ask('Of a deleted potoroo?');
    await answer(address, { answer: 'Yes.', document_id: id });
    await deskbell.call('DELETE', address, { token: tokens.aurora });
    assert.deepEqual(await textsOf(id), ['Of a deleted potoroo?']);
    await call('DELETE', String(id));
    const left = await deskbell.database.all('select id from document_wordings where document_id = $1', [id]);
    assert.deepEqual(left, []);
    assert.deepEqual(await found('potoroo'), []);
  });

  it('answers at the same moment add each wording once, and none above 100', async () => {
    const id = await make({ question: 'Many' });
    for (const text of NUMBERS.slice(0, 95)) await add(id, text);
    const questions = Array.from({ length: 12 }, (_, n) => `Cassowary ${n % 8}?`);
    const addresses = await Promise.all(questions.map((question) => ask(question)));
    const replies = await Promise.all(
      addresses.map((address) => answer(address, { answer: 'Yes.', document_id: id })),
    );
    assert.deepEqual(
      replies.map(({ status }) => status),
      Array(12).fill(200),
    );
    const texts = await textsOf(id);
    assert.deepEqual([texts.length, new Set(texts).size], [100, 100]);
  });

  it('an answer whose document is deleted at the same moment succeeds, and is learned in one way', async () => {
    for (let n = 0; n < 10; n += 1) {
      const id = await make({ question: `Racing ${n}` });
      const address = await ask(`Does thylacine${n} race?`, n % 2 ? { document_id: id } : {});
      const [answered, deleted] = await Promise.all([
        answer(address, { answer: 'It does.', document_id: id }),
        call('DELETE', String(id)),
      ]);
      assert.deepEqual([answered.status, deleted.status], [200, 200]);
      // Either the wording went with the document, or the answer made a new one.
      const title = `Does thylacine${n} race?`;
      const documents = (await call('GET', '?limit=1000')).json.filter(
        (document: { title: string }) => document.title === title,
      );
      assert.ok(documents.length <= 1);
      for (const document of documents) {
        assert.notEqual(document.id, id);
        assert.equal(document.body, 'It does.');
      }
      const { json } = await deskbell.call('GET', address, { token: tokens.aurora });
      assert.equal(json.status, 'answered');
    }
  });

  it('are not logged', async () => {
    const id = await make();
    await add(id, 'Secret tarantula?');
    await add(id, `Secret tarantula ${'x'.repeat(300)}`);
    assert.doesNotMatch(deskbell.logged.join(''), /tarantula/i);
  });

  it('are listed at the address of the document only', async () => {
    const id = await make();
    await add(id, 'Only there?');
    const [listed] = (await call('GET', '?limit=1')).json;
    assert.equal(Object.hasOwn(listed, 'wordings'), false);
    assert.equal(
      (await deskbell.call('GET', `${KNOWLEDGE}/${id}/wordings`, { token: tokens.aurora })).status,
      405,
    );
    assert.equal((await deskbell.call('GET', `${NOTIFICATIONS}/`, { token: tokens.aurora })).status, 200);
  });
});
