import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useHeld } from '../../support/holding.ts';
import { assertError, onEachEngine, raise, SUPPORT } from '../../support/server.ts';

onEachEngine('what an answer teaches', (engine) => {
  const held = useHeld(engine);
  const { deskbell, tokens, call, ask, answer, hold, reopen, show, release, documentsWith, count } = held;
  const read = async (id: number, token = tokens.aurora) =>
    (await deskbell.call('GET', `/api/v1/knowledge/${id}`, { token })).json;
  const make = async (question: string, text: string): Promise<number> => {
    const { json } = await answer(await ask(question), { answer: text, teach: { do: 'new' } });
    return json.lesson.document_id;
  };
  const documents = () => count('documents where merchant_id = 1');

  it('is told with the answer and with the notification', async () => {
    const id = await ask('Do you grind?');
    const { json } = await answer(id, { answer: 'As fine as you like.', teach: { do: 'new' } });
    const { lesson } = json;
    assert.deepEqual([lesson.do, lesson.version], ['new', 1]);
    assert.deepEqual((await show(id)).lesson, lesson);
    const document = await read(lesson.document_id);
    assert.deepEqual([document.title, document.body], ['Do you grind?', 'As fine as you like.']);
    assert.equal(document.versions[0].notification_id, id);
  });

  it('is a text of its own: the customer gets the answer', async () => {
    const id = await ask('How long to Spain?');
    const teach = { do: 'new', title: 'Shipping to Spain', text: 'It takes nine days.' };
    const { json } = await answer(id, { answer: 'About nine days, Lucía. Sorry!', teach });
    const document = await read(json.lesson.document_id);
    assert.deepEqual([document.title, document.body], ['Shipping to Spain', 'It takes nine days.']);
    const sent = await deskbell.database.one<{ content: string }>(
      'select content from deliveries where merchant_id = 1 and notification_id = $1',
      [id],
    );
    assert.equal(sent?.content, 'About nine days, Lucía. Sorry!');
  });

  it('replaces the text of a document, or is added at its end; both can be reverted', async () => {
    const id = await make('What is in the box?', 'A cup.');
    const replaced = await answer(await ask('What does the box contain?'), {
      answer: 'A cup and a spoon!',
      teach: { do: 'replace', document_id: id, text: 'A cup and a spoon.' },
    });
    assert.deepEqual(replaced.json.lesson, { do: 'replace', document_id: id, version: 2 });
    const appended = await answer(await ask('Anything else in the box?'), {
      answer: 'A card.',
      teach: { do: 'append', document_id: id, title: 'The box' },
    });
    assert.deepEqual(appended.json.lesson, { do: 'append', document_id: id, version: 3 });
    const document = await read(id);
    assert.deepEqual([document.title, document.body], ['The box', 'A cup and a spoon.\n\nA card.']);
    assert.deepEqual(document.wordings.map(({ text }: { text: string }) => text).sort(), [
      'Anything else in the box?',
      'What does the box contain?',
    ]);
    await deskbell.call('POST', `/api/v1/knowledge/${id}/revert`, { token: tokens.aurora });
    assert.equal((await read(id)).body, 'A cup and a spoon.');
  });

  it('uses the document that the notification names, unless another is given', async () => {
    const id = await make('Do you sell cups?', 'White ones.');
    const named = await answer(await ask('Cups?', { document_id: id }), {
      answer: 'Blue ones, too.',
      teach: { do: 'append' },
    });
    assert.deepEqual(named.json.lesson, { do: 'append', document_id: id, version: 2 });
    const fresh = await answer(await ask('Red cups?', { document_id: id }), {
      answer: 'No red ones.',
      document_id: id,
      teach: { do: 'new' },
    });
    assert.notEqual(fresh.json.lesson.document_id, id);
    assert.equal((await read(id)).version, 2);
  });

  it('is nothing if the person says so', async () => {
    const id = await make('Do you sell jars?', 'Big ones.');
    const before = await documents();
    const { json } = await answer(await ask('Jars?', { document_id: id }), { teach: { do: 'nothing' } });
    assert.deepEqual(json, { message: 'Notification answered.', lesson: null });
    assert.deepEqual([await documents(), (await read(id)).version], [before, 1]);
  });

  it('without teach is as before: a new document, the named one, or another wording', async () => {
    const asked = await ask('Do you sell trays?');
    await answer(asked, { answer: 'Two sizes.' });
    const { lesson } = await show(asked);
    assert.equal(lesson.do, 'new');
    const named = await ask('Trays?', { document_id: lesson.document_id });
    assert.deepEqual((await answer(named, { answer: 'Three sizes.' })).json, {
      message: 'Notification answered.',
    });
    assert.deepEqual((await show(named)).lesson, { ...lesson, do: 'replace', version: 2 });
    const source = await ask('What sizes of trays?');
    await answer(source, { answer: 'Three.', document_id: lesson.document_id });
    assert.deepEqual((await show(source)).lesson, { ...lesson, do: 'wording', version: 2 });
  });

  it('is no new document if the answer says nothing by itself, unless teach asks for it', async () => {
    const before = await documents();
    for (const text of ['Yes!', 'No, sorry.', 'Sí, claro', 'نعم', 'Danke!']) {
      const id = await ask('Is it open now?');
      assert.equal((await answer(id, { answer: text })).status, 200);
      assert.deepEqual([(await show(id)).lesson, await held.messagesOf(id)], [null, 1]);
      const waiting = await ask('Is it open now?');
      await hold(waiting, { answer: text });
      await release(waiting);
      assert.equal((await show(waiting)).lesson, null);
      const ids = [await ask('Open?'), await ask('Open now?')];
      const { json } = await call('POST', 'answer-many', { body: { ids, answer: text } });
      assert.equal(json.document_id, null);
      const gone = await ask('Is it open?', { document_id: 987_654_321 });
      await answer(gone, { answer: text });
    }
    assert.equal(await documents(), before);
    const { json } = await answer(await ask('Do you ship to Peru?'), {
      answer: 'Yes!',
      teach: { do: 'new' },
    });
    assert.equal((await read(json.lesson.document_id)).body, 'Yes!');
  });

  it('is undone with the answer: nothing is learned before', async () => {
    const id = await make('Do you sell lamps?', 'One kind.');
    const teach = { do: 'replace', document_id: id, text: 'Two kinds of lamps.' };
    const undone = await ask('Lamps?');
    await hold(undone, { teach });
    await reopen(undone);
    const kept = await ask('Any lamps?');
    await hold(kept, { teach: { ...teach, text: 'Three kinds of lamps.' } });
    assert.equal((await read(id)).version, 1);
    await release(kept);
    assert.deepEqual([(await read(id)).body, (await read(id)).version], ['Three kinds of lamps.', 2]);
    assert.deepEqual((await show(kept)).lesson, { do: 'replace', document_id: id, version: 2 });
  });

  it('becomes a new document if the other was deleted before it was due', async () => {
    const id = await make('Do you sell rugs?', 'Small ones.');
    const asked = await ask('Rugs?');
    await hold(asked, { answer: 'Large rugs.', teach: { do: 'append', document_id: id } });
    await deskbell.call('DELETE', `/api/v1/knowledge/${id}`, { token: tokens.aurora });
    await release(asked);
    const { lesson } = await show(asked);
    assert.equal(lesson.do, 'new');
    assert.equal((await read(lesson.document_id)).body, 'Large rugs.');
  });

  it('is refused if it cannot be learned, and the notification stays pending', async () => {
    const id = await make('Do you sell maps?', 'x'.repeat(4000));
    const asked = await ask('Maps?');
    const { json: foreign } = await deskbell.call('GET', '/api/v1/knowledge/?limit=1', {
      token: tokens.borealis,
    });
    const wrong: unknown[] = [
      ...[7, 'new', [], true, {}, { do: 'forget' }, { do: null }],
      ...[{ do: 'replace' }, { do: 'append', document_id: 987_654_321 }, { do: 'append', document_id: '1' }],
      { do: 'replace', document_id: foreign[0].id },
      ...[
        { do: 'new', title: '' },
        { do: 'new', title: 'x'.repeat(201) },
        { do: 'new', title: 7 },
      ],
      ...[
        { do: 'new', text: ' ' },
        { do: 'new', text: 'x'.repeat(20_001) },
        { do: 'new', text: {} },
      ],
      { do: 'append', document_id: id, text: 'x'.repeat(16_000) },
    ];
    for (const teach of wrong)
      for (const undo_seconds of [0, 5])
        assertError(await answer(asked, { teach, undo_seconds }), 500, 'VALIDATION_ERROR', 'teach');
    const campaign = { only_send_campaign: true, teach: { do: 'new' } };
    assertError(await answer(asked, campaign), 500, 'VALIDATION_ERROR', 'teach');
    assert.equal((await show(asked)).status, 'requested');
    const support = Number((await raise(deskbell, tokens.aurora, SUPPORT)).split('/').at(-1));
    const reply = { agent_response_to_customer: 'Sent.', resolution_notes: 'Done.', teach: { do: 'new' } };
    assertError(await call('POST', `${support}/answer`, { body: reply }), 500, 'VALIDATION_ERROR', 'teach');
    assert.equal(await documentsWith('All of it is.'), 0);
  });

  it('is proposed: off for personal questions, and without loss for a document', async () => {
    const propose = async (id: number) => (await call('GET', `${id}/teaching`)).json;
    const plain = await propose(await ask('Do you sell kites?'));
    assert.deepEqual(plain, {
      personal: false,
      document: null,
      proposal: { do: 'new', title: 'Do you sell kites?', text: null },
    });
    const id = await make('Kites', 'Red ones.');
    const named = await propose(await ask('Which kites?', { document_id: id }));
    assert.deepEqual(named, {
      personal: false,
      document: { id, title: 'Kites', body: 'Red ones.', version: 1 },
      proposal: { do: 'append', title: 'Kites', text: null },
    });
    const personal = await propose(await ask('Where is my order 2041?'));
    assert.deepEqual([personal.personal, personal.proposal.do], [true, 'nothing']);
    const support = Number((await raise(deskbell, tokens.aurora, SUPPORT)).split('/').at(-1));
    assert.equal((await propose(support)).proposal.do, 'nothing');
    const { json: foreign } = await deskbell.call('GET', '/api/v1/knowledge/?limit=1', {
      token: tokens.borealis,
    });
    assert.equal((await propose(await ask('Foreign?', { document_id: foreign[0].id }))).document, null);
    assertError(await call('GET', '987654321/teaching'), 404, 'NOTIFICATION_NOT_FOUND');
  });
});
