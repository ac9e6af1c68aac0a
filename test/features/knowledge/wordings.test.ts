import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Event } from '../../../src/contract/events.ts';
import { assertError, idsOf, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

const NUMBERS = Array.from({ length: 100 }, (_, n) => `Number ${n + 1}?`);

onEachEngine('the other wordings of a document', (engine) => {
  const { shop, other, deskbell, call, read, patch, make, importAll } = useKnowledge(engine);

  const add = (id: number, text: unknown) => call('POST', `${id}/wordings`, { body: { text } });
  const textsOf = async (id: number): Promise<string[]> =>
    (await read(id)).wordings.map(({ text }: { text: string }) => text);
  const found = async (q: string) => idsOf(await call('GET', `?q=${encodeURIComponent(q)}`));
  const ask = (question: string, context = {}) =>
    shop.raise({ notification_type: 'user_question_request', context: { question, ...context } });
  const answer = async (question: string | number, body: object, headers = {}) => {
    const id = typeof question === 'number' ? question : await ask(question);
    const reply = await shop.post(`/notification/${id}/answer`, { answer: 'Yes.', ...body }, { headers });
    assert.equal(reply.status, 200, reply.text);
    return id;
  };
  /** A document with so many wordings. */
  const makeWith = async (title: string, count: number): Promise<number> => {
    await importAll([{ title, body: 'Text.', wordings: NUMBERS.slice(0, count) }]);
    const documents = (await call('GET', '?limit=1000')).json;
    return documents.find((one: { title: string }) => one.title === title).id;
  };
  /** What programs hear about documents. */
  const changesAfter = async (after: number) =>
    ((await shop.get(`/events/log?after=${after}&limit=500`)).json.events as Event[])
      .filter(({ type }) => type === 'knowledge.updated')
      .map(({ data }) => data as { document_id: number | null; change: string })
      .map(({ document_id, change }) => ({ document_id, change }));
  const lastEvent = async () => (await shop.get('/events/log?after=0&limit=500')).json.last_id;

  it('are added and removed by hand; the document keeps its version and is found by them', async () => {
    // If no document has all words, a search finds similar ones: so another one has this word.
    const animals = await make({ question: 'Animals', answer: 'A quokka.' });
    const id = await make({ question: 'Delivery times', answer: 'Two days.' });
    const { headers, json: before } = await call('GET', String(id));
    const after = await lastEvent();
    await deskbell.clock.advance(60);

    const { json: wording } = await add(id, '  When will my \n quokka arrive? ');
    assert.deepEqual(wording, {
      ...{ id: wording.id, text: 'When will my quokka arrive?', notification_id: null },
      ...{ user_id: shop.owner.id, user_name: 'Olga Owner', created_at: wording.created_at },
    });
    const { headers: tagged, json: changed } = await call('GET', String(id));
    assert.equal(tagged.get('etag'), headers.get('etag'));
    assert.deepEqual(changed, { ...before, updated_at: wording.created_at, wordings: [wording] });
    assert.ok(wording.created_at > before.updated_at);
    for (const text of ['quokka', 'quok']) assert.deepEqual(await found(text), [id, animals]);
    assert.deepEqual(await found('quokka days'), [id]);
    const [first] = (await call('GET', '?limit=1')).json;
    assert.deepEqual([first.id, 'wordings' in first], [id, false]);

    await add(id, 'Second one?');
    const removed = await call('DELETE', `${id}/wordings/${wording.id}`);
    assert.deepEqual([removed.status, removed.json], [200, { message: 'Wording removed.' }]);
    assert.deepEqual(await textsOf(id), ['Second one?']);
    assert.deepEqual(await found('quokka'), [animals]);
    assertError(await call('DELETE', `${id}/wordings/${wording.id}`), 404, 'WORDING_NOT_FOUND');
    assert.deepEqual(await changesAfter(after), Array(3).fill({ document_id: id, change: 'changed' }));
    const { json: audit } = await shop.get('/audit?what=wording.removed');
    assert.deepEqual(audit[0].about, { document_id: id });
  });

  it('an edit and a revert keep them, and the document is still found by them', async () => {
    const animals = await make({ question: 'Animals', answer: 'A platypus.' });
    const id = await make({ question: 'Opening hours', answer: 'At nine.' });
    await add(id, 'When does the platypus open?');
    await patch(id, { title: 'Our hours', body: '😀'.repeat(20_000) });
    assert.deepEqual(await found('platypus'), [id, animals]);
    await call('POST', `${id}/revert`);
    assert.deepEqual(await found('platypus'), [id, animals]);
    assert.deepEqual(await textsOf(id), ['When does the platypus open?']);
  });

  it('an answer with document_id adds the question, changes nothing else and makes no document', async () => {
    const id = await make({ question: 'Shipping to islands', answer: 'Yes, in a week.' });
    const count = async () => (await call('GET', '?limit=1000')).json.length;
    const [{ wordings: _, updated_at: __, ...before }, documents] = [await read(id), await count()];
    const after = await lastEvent();
    for (const [n, headers] of [{}, { 'idempotency-key': 'wording-with-key' }].entries()) {
      const question = `Do you send numbat${n} to Tenerife?`;
      const asked = await answer(question, { document_id: id }, headers);
      const { json } = await shop.get(`/notification/${asked}`);
      assert.deepEqual([json.status, json.answer], ['answered', { answer: 'Yes.' }]);
      assert.deepEqual(await found(`numbat${n}`), [id]);
      const [{ text, notification_id, user_name }] = (await read(id)).wordings;
      assert.deepEqual([text, notification_id, user_name], [question, asked, 'Olga Owner']);
    }
    const { wordings, updated_at, ...now } = await read(id);
    assert.deepEqual([now, await count()], [before, documents]);
    assert.deepEqual(await changesAfter(after), Array(2).fill({ document_id: id, change: 'changed' }));
  });

  it('an answer to a question about a document adds the question, with one event', async () => {
    const id = await make({ question: 'Gift wrapping', answer: 'Yes.' });
    const after = await lastEvent();
    const about = { document_id: id };
    await answer(await ask('Can a bandicoot be wrapped?', about), { answer: 'Yes, for 2 €.' });
    const { body, version } = await read(id);
    assert.deepEqual([body, version], ['Yes, for 2 €.', 2]);
    assert.deepEqual(await found('bandicoot'), [id]);
    assert.equal((await changesAfter(after)).length, 1);
    // The title itself is not another wording.
    await answer(await ask('Gift wrapping?', about), { answer: 'Yes, for 3 €.' });
    assert.deepEqual(await textsOf(id), ['Can a bandicoot be wrapped?']);
  });

  it('an answer that names no document of the merchant is learned as usual', async () => {
    const theirs = (await other.post('/knowledge', { title: 'Theirs', body: 'Text.' })).json.id;
    const foreign = async () => (await other.get(`/knowledge/${theirs}`)).text;
    const before = await foreign();
    const deleted = await make();
    await call('DELETE', String(deleted));
    for (const [n, documentId] of [deleted, theirs, 0, -1, 1e300, 2 ** 60].entries()) {
      // In the answer, and in the context of the question.
      for (const place of ['given', 'asked']) {
        const title = `What about echidna${place}${n}?`;
        const named = { document_id: documentId };
        const raised = await ask(title, place === 'asked' ? named : {});
        await answer(raised, { answer: 'Yes, it is.', ...(place === 'given' ? named : {}) });
        const [document] = (await call('GET', `?q=echidna${place}${n}`)).json;
        assert.deepEqual([document?.title, document?.body], [title, 'Yes, it is.'], title);
      }
    }
    assert.equal(await foreign(), before);
  });

  it('the same wording is not added twice, by hand or by an answer', async () => {
    const id = await make({ question: 'Do you ship to Portugal?' });
    const { json: first } = await add(id, 'Parcels for Lisbon?');
    for (const same of ['parcel for LISBON', 'Párcels, for the Lisbon?!']) {
      assert.deepEqual((await add(id, same)).json, first, same);
      await answer(same, { document_id: id });
    }
    assertError(await add(id, 'Do you ship to portugal'), 422, 'VALIDATION_ERROR', 'text');
    await answer('Ship to Portugal!', { document_id: id });
    assert.deepEqual(await textsOf(id), ['Parcels for Lisbon?']);
    // Another order is another wording, and so are words that only differ in stop words if there are no others.
    for (const another of ['Lisbon parcels?', 'How is it?', 'What is this?']) await add(id, another);
    assert.equal((await textsOf(id)).length, 4);
  });

  it('an invalid text is refused with 422, and a long question is shortened', async () => {
    const id = await make();
    for (const wrong of [undefined, ' \n', 5, 'x'.repeat(201)])
      assertError(await add(id, wrong), 422, 'VALIDATION_ERROR', 'text');
    assert.equal((await add(id, '😀'.repeat(200))).status, 200);
    await answer(`Wombat ${'long '.repeat(900)}`, { document_id: id });
    const [long] = await textsOf(id);
    assert.match(long!, /^Wombat long .*…$/);
    assert.ok([...long!].length <= 200);
  });

  it('belong to one merchant and one document: for others they do not exist', async () => {
    const id = await make();
    const { json: wording } = await add(id, 'A kookaburra?');
    const another = await make();
    const theirs = (await other.post('/knowledge', { title: 'Theirs', body: 'Text.' })).json.id;
    const path = `/knowledge/${id}/wordings`;
    assertError(await other.delete(`${path}/${wording.id}`), 404, 'DOCUMENT_NOT_FOUND');
    assertError(await other.post(path, { text: 'Mine?' }), 404, 'DOCUMENT_NOT_FOUND');
    const through = await other.delete(`/knowledge/${theirs}/wordings/${wording.id}`);
    assertError(through, 404, 'WORDING_NOT_FOUND');
    for (const wrong of [wording.id, 0, 'x'])
      assertError(await call('DELETE', `${another}/wordings/${wrong}`), 404, 'WORDING_NOT_FOUND');
    assert.deepEqual(await textsOf(id), ['A kookaburra?']);
    assert.deepEqual(idsOf(await other.get('/knowledge/?q=kookaburra')), []);
  });

  it('stay when their notification is deleted, and go with the document', async () => {
    const id = await make();
    await shop.delete(`/notification/${await answer('Of a deleted potoroo?', { document_id: id })}`);
    assert.deepEqual(await textsOf(id), ['Of a deleted potoroo?']);
    await call('DELETE', String(id));
    const left = await deskbell.database.all('select id from document_wordings where document_id = $1', [id]);
    assert.deepEqual([left, await found('potoroo')], [[], []]);
  });

  it('answers at the same moment add each wording once, and none above 100', async () => {
    const id = await makeWith('Many', 95);
    const asked: number[] = [];
    for (let n = 0; n < 12; n += 1) asked.push(await ask(`Cassowary ${n % 8}?`));
    await Promise.all(asked.map((one) => answer(one, { document_id: id })));
    const texts = await textsOf(id);
    assert.deepEqual([texts.length, new Set(texts).size], [100, 100]);
    assertError(await add(id, 'One more?'), 409, 'CONFLICT');
    assert.equal((await add(id, 'number 7')).json.text, 'Number 7?');
  });

  it('an answer whose document is deleted at the same moment is learned in one way', async () => {
    for (let n = 0; n < 8; n += 1) {
      const [id, title] = [await make({ question: `Racing ${n}` }), `Does thylacine${n} race?`];
      const asked = await ask(title, n % 2 ? { document_id: id } : {});
      const given = { answer: 'It does.', document_id: id };
      await Promise.all([answer(asked, given), call('DELETE', String(id))]);
      // Either the wording went with the document, or the answer made a new one.
      const documents = (await call('GET', '?limit=1000')).json.filter(
        (one: { title: string }) => one.title === title,
      );
      assert.ok(documents.length <= 1);
      for (const { body } of documents) assert.equal(body, 'It does.');
    }
  });
});
