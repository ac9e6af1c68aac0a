import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useHeld } from '../../support/holding.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine, SUPPORT } from '../../support/server.ts';

/** Answers a question and makes a document of it. Returns the id of the document. */
const maker =
  ({ ask, answer }: ReturnType<typeof useHeld>) =>
  async (question: string, text: string): Promise<number> => {
    const { json } = await answer(await ask(question), { answer: text, teach: { do: 'new' } });
    return json.lesson.document_id;
  };

onEachEngine('what an answer teaches', (engine) => {
  const held = useHeld(engine);
  const { shop, ask, answer, hold, many, show, document, release, count } = held;
  const make = maker(held);
  const documents = () => count('documents where merchant_id = $1', shop.id);

  it('is told with the answer, and may be a text of its own: the customer gets the answer', async () => {
    const id = await ask('How long to Spain?');
    const teach = { do: 'new', title: 'Shipping to Spain', text: 'It takes nine days.' };
    const { json } = await answer(id, { answer: 'About nine days, Lucía. Sorry!', teach });
    const { lesson } = json;
    assert.deepEqual([lesson.do, lesson.version], ['new', 1]);
    assert.deepEqual((await show(id)).lesson, lesson);
    const { title, body, versions } = await document(lesson.document_id);
    assert.deepEqual([title, body], ['Shipping to Spain', 'It takes nine days.']);
    assert.equal(versions[0].notification_id, id);
    const [{ content }] = (await shop.get('/delivery/?limit=1')).json;
    assert.equal(content, 'About nine days, Lucía. Sorry!');
  });

  it('replaces the text of a document, or is added at its end; both can be reverted', async () => {
    const id = await make('What is in the box?', 'A cup.');
    const replaced = await answer(await ask('What does the box contain?'), {
      answer: 'A cup and a spoon!',
      teach: { do: 'replace', document_id: id, text: 'A cup and a spoon.' },
    });
    assert.deepEqual(replaced.json.lesson, { do: 'replace', document_id: id, version: 2 });
    const appended = await answer(await ask('Anything else in the box?', { document_id: id }), {
      answer: 'A card.',
      teach: { do: 'append', title: 'The box' },
    });
    assert.deepEqual(appended.json.lesson, { do: 'append', document_id: id, version: 3 });
    const { title, body, wordings } = await document(id);
    assert.deepEqual([title, body], ['The box', 'A cup and a spoon.\n\nA card.']);
    assert.deepEqual(wordings.map(({ text }: { text: string }) => text).sort(), [
      ...['Anything else in the box?', 'What does the box contain?'],
    ]);
    await shop.post(`/knowledge/${id}/revert`);
    assert.equal((await document(id)).body, 'A cup and a spoon.');
  });

  it('is no new document if the answer says nothing by itself, unless teach asks for it', async () => {
    const before = await documents();
    const text = { answer: 'No, sorry.' };
    const [id, waiting] = [await ask('Is it open now?'), await ask('Is it open now?')];
    await answer(id, text);
    assert.deepEqual([(await show(id)).lesson, await held.messagesOf(id)], [null, 1]);
    await hold(waiting, text);
    await release(waiting);
    assert.equal((await show(waiting)).lesson, null);
    const { json } = await many('answer', { ids: [await ask('Open?'), await ask('Open now?')], ...text });
    assert.equal(json.document_id, null);
    await answer(await ask('Is it open?', { document_id: 987_654_321 }), text);
    assert.equal(await documents(), before);
    const taught = await make('Do you ship to Peru?', 'Yes!');
    assert.equal((await document(taught)).body, 'Yes!');
  });

  it('becomes a new document if the other was deleted before it was due', async () => {
    const id = await make('Do you sell rugs?', 'Small ones.');
    const asked = await ask('Rugs?');
    await hold(asked, { answer: 'Large rugs.', teach: { do: 'append', document_id: id } });
    await shop.delete(`/knowledge/${id}`);
    await release(asked);
    const { lesson } = await show(asked);
    assert.deepEqual([lesson.do, (await document(lesson.document_id)).body], ['new', 'Large rugs.']);
  });
});

describe('a lesson', () => {
  const held = useHeld('sqlite');
  const { shop, ask, answer, show, documentsWith } = held;
  const make = maker(held);
  const other = useMerchant('sqlite');
  let foreign: number;
  before(async () => {
    await other.answer(await other.raise('Do you sell comics?'), 'Old ones.');
    foreign = (await other.get('/knowledge/?limit=1')).json[0].id;
  });
  const support = () => shop.raise(SUPPORT);

  it('is refused if it cannot be learned, and the notification stays pending', async () => {
    const id = await make('Do you sell maps?', 'x'.repeat(4000));
    const asked = await ask('Maps?');
    const wrong: unknown[] = [
      ...[7, 'new', [], {}, { do: 'forget' }, { do: 'replace' }, { do: 'replace', document_id: foreign }],
      ...[
        { do: 'append', document_id: 987_654_321 },
        { do: 'append', document_id: '1' },
      ],
      ...['', 'x'.repeat(201)].map((title) => ({ do: 'new', title })),
      ...[' ', 'x'.repeat(20_001)].map((text) => ({ do: 'new', text })),
      { do: 'append', document_id: id, text: 'x'.repeat(16_000) },
    ];
    for (const teach of wrong)
      for (const undo_seconds of [0, 5])
        assertError(await answer(asked, { teach, undo_seconds }), 500, 'VALIDATION_ERROR', 'teach');
    const campaign = { only_send_campaign: true, teach: { do: 'new' } };
    assertError(await answer(asked, campaign), 500, 'VALIDATION_ERROR', 'teach');
    assert.equal((await show(asked)).status, 'requested');
    const reply = { agent_response_to_customer: 'Sent.', resolution_notes: 'Done.', teach: { do: 'new' } };
    assertError(await shop.answer(await support(), reply), 500, 'VALIDATION_ERROR', 'teach');
    assert.equal(await documentsWith('All of it is.'), 0);
  });

  it('is proposed: off for personal questions, and without loss for a document', async () => {
    const propose = async (id: number) => (await shop.get(`/notification/${id}/teaching`)).json;
    const plain = await propose(await ask('Do you sell kites?'));
    const proposal = { do: 'new', title: 'Do you sell kites?', text: null };
    assert.deepEqual(plain, { personal: false, document: null, proposal });
    const id = await make('Kites', 'Red ones.');
    assert.deepEqual(await propose(await ask('Which kites?', { document_id: id })), {
      personal: false,
      document: { id, title: 'Kites', body: 'Red ones.', version: 1 },
      proposal: { do: 'append', title: 'Kites', text: null },
    });
    const personal = await propose(await ask('Where is my order 2041?'));
    assert.deepEqual([personal.personal, personal.proposal.do], [true, 'nothing']);
    assert.equal((await propose(await support())).proposal.do, 'nothing');
    assert.equal((await propose(await ask('Foreign?', { document_id: foreign }))).document, null);
    assertError(await shop.get('/notification/987654321/teaching'), 404, 'NOTIFICATION_NOT_FOUND');
  });
});
