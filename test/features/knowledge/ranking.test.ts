import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { run, settingsOf } from '../../support/command.ts';
import {
  AURORA,
  BOREALIS,
  onEachEngine,
  QUESTION,
  raise,
  startSecondServer,
  useDeskbell,
} from '../../support/server.ts';

interface Candidate {
  document_id: number;
  question: string;
  answer: string;
  score: number;
  confident: boolean;
}

onEachEngine('the ranking', (engine) => {
  const deskbell = useDeskbell(engine);
  let aurora: string;
  let borealis: string;
  let files = 0;
  before(async () => {
    aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });

  /** From another process. */
  const importDocuments = async (...documents: { title: string; body: string; wordings?: string[] }[]) => {
    files += 1;
    const file = join(deskbell.config.dataDir, `documents-${files}.jsonl`);
    writeFileSync(file, documents.map((document) => JSON.stringify(document)).join('\n'));
    const command = ['knowledge', 'import', file, '--merchant', '1'];
    const { code, stderr } = await run(command, { env: settingsOf(deskbell) });
    assert.equal(code, 0, stderr);
  };
  const find = async (question: string, token = aurora, server = deskbell): Promise<Candidate[]> => {
    const path = `/api/v1/knowledge/find?limit=20&q=${encodeURIComponent(question)}`;
    const { status, json, text } = await server.call('GET', path, { token });
    assert.equal(status, 200, text);
    return json.candidates;
  };

  it('is the same for find, suggestions and asks, and a search has the same order', async () => {
    await importDocuments(
      { title: 'Do you sell gift vouchers?', body: 'Yes, from 20 €.' },
      { title: 'How long are gift vouchers valid?', body: 'For three years.' },
      { title: 'Vouchers', body: 'You can use gift vouchers in the shop and online.' },
    );
    const question = 'Until when is a gift voucher valid?';
    const found = await find(question);
    assert.equal(found[0]?.answer, 'For three years.');
    const shown = found
      .filter(({ score }) => score >= 0.2)
      .map(({ document_id, score }) => [document_id, score]);
    assert.ok(shown.length >= 2);

    const address = await raise(deskbell, aurora, { ...QUESTION, context: { question } });
    const suggested = (await deskbell.call('GET', `${address}/suggestions?limit=20`, { token: aurora })).json;
    const documents = suggested.filter(({ kind }: { kind: string }) => kind === 'document');
    assert.deepEqual(
      documents.map(({ id, score }: { id: number; score: number }) => [id, score]),
      shown,
    );

    const body = { question, customer: { reference: 'voucher' }, deliver: 'assistant' };
    const asked = (await deskbell.call('POST', '/api/v1/ask', { token: aurora, body })).json;
    assert.deepEqual(asked.candidates, found.filter(({ score }) => score >= 0.2).slice(0, 5));

    const words = await deskbell.call('GET', '/api/v1/knowledge/?q=gift%20voucher', { token: aurora });
    const order = (await find('gift voucher')).map(({ document_id }) => document_id);
    const ids = words.json.map(({ id }: { id: number }) => id);
    assert.equal(ids.length, 3);
    assert.deepEqual(
      ids,
      order.filter((id) => ids.includes(id)),
    );
  });

  it('knows every change at once, also from another process', async () => {
    const question = 'Is the okapi blend in stock?';
    const best = async () => (await find(question)).find(({ score }) => score === 1)?.answer;
    assert.equal(await best(), undefined);
    await importDocuments({ title: question, body: 'Yes.' });
    assert.equal(await best(), 'Yes.');
    const [{ document_id: id }] = (await find(question)) as [Candidate];
    const change = (body: unknown) =>
      deskbell.call('PATCH', `/api/v1/knowledge/${id}`, { token: aurora, body });
    await change({ body: 'No.' });
    assert.equal(await best(), 'No.');
    await change({ title: 'Another title' });
    assert.equal(await best(), undefined);
    await change({ title: question });
    await deskbell.call('DELETE', `/api/v1/knowledge/${id}`, { token: aurora });
    assert.equal(await best(), undefined);
  });

  it('works for a merchant that deleted all its documents', async () => {
    const { json } = await deskbell.call('GET', '/api/v1/knowledge/', { token: borealis });
    for (const { id } of json) await deskbell.call('DELETE', `/api/v1/knowledge/${id}`, { token: borealis });
    const question = 'Do you sell maps?';
    assert.deepEqual(await find(question, borealis), []);
    const address = await raise(deskbell, borealis, {
      ...QUESTION,
      conversation_id: 4,
      context: { question },
    });
    await deskbell.call('POST', `${address}/answer`, {
      token: borealis,
      body: { answer: 'Yes, all of them.' },
    });
    assert.equal((await find(question, borealis))[0]?.answer, 'Yes, all of them.');
  });

  it('compares every wording of a document', async () => {
    await importDocuments({
      title: 'Parking',
      body: 'There is a garage next door.',
      wordings: ['Where can I leave my car?'],
    });
    const [best] = await find('Where can I leave my car?');
    assert.deepEqual([best?.question, best?.score, best?.confident], ['Parking', 1, true]);
  });

  it('is confident only of the same question: not with another number or a negation', async () => {
    await importDocuments(
      { title: 'Is the kettle 500 made of steel?', body: 'Yes, all of it.' },
      { title: 'Does the wooden spoon come with the large kettle and the filter?', body: 'It does.' },
    );
    const isConfident = async (question: string) => (await find(question))[0]?.confident;
    assert.equal(await isConfident('is the KETTLE 500 made of steel'), true);
    assert.equal(await isConfident('Of steel, is the kettle 500 made?'), true);
    assert.equal(await isConfident('Is the kettle 600 made of steel?'), false);
    assert.equal(await isConfident('Is the kettle 500 not made of steel?'), false);
    assert.equal(
      await isConfident('Does the wooden spoon come with the small kettle and the filter?'),
      false,
    );
  });

  it('lists the same answer once', async () => {
    const body = 'We are open every day but Sunday, from nine to six.';
    await importDocuments(
      { title: 'Are you open on Tuesday?', body },
      { title: 'Are you open on Wednesday?', body },
    );
    const found = (await find('Are you open on Tuesday?')).filter(({ answer }) => answer === body);
    assert.deepEqual(
      found.map(({ question }) => question),
      ['Are you open on Tuesday?'],
    );
  });

  it('never uses what another merchant has', async () => {
    await importDocuments({ title: 'Do you repair zithers?', body: 'Yes, on Mondays.' });
    assert.equal((await find('Do you repair zithers?'))[0]?.score, 1);
    const others = await find('Do you repair zithers?', borealis);
    assert.ok(others.every(({ answer }) => answer !== 'Yes, on Mondays.'));
    // Nor how rare a word is there.
    const before = await find('Books about zithers', borealis);
    await importDocuments(
      ...Array.from({ length: 30 }, (_, n) => ({ title: `Zithers ${n}`, body: `Book ${n}` })),
    );
    assert.deepEqual(await find('Books about zithers', borealis), before);
  });

  it('is the same in every process', { skip: engine === 'sqlite' }, async () => {
    const other = await startSecondServer(deskbell);
    try {
      for (const question of ['Do you repair zithers?', 'gift vouchers', 'parking']) {
        assert.deepEqual(await find(question, aurora, other), await find(question));
      }
      await importDocuments({ title: 'Do you tune lutes?', body: 'No.' });
      assert.equal((await find('Do you tune lutes?', aurora, other))[0]?.answer, 'No.');
    } finally {
      await other.close();
    }
  });

  it('compares with what was changed after the clock was set back', async () => {
    deskbell.clock.jump(3600);
    const later = await deskbell.signIn(AURORA.email, AURORA.password);
    const [own] = await find('Shipping times and costs', later);
    const path = `/api/v1/knowledge/${own!.document_id}`;
    const ahead = { token: later, body: { title: 'Zebra crossing' } };
    assert.equal((await deskbell.call('PATCH', path, ahead)).status, 200);
    assert.equal((await find('Zebra crossing', later))[0]?.score, 1);
    deskbell.clock.jump(-3600);
    const behind = { token: aurora, body: { title: 'Walrus feeding' } };
    assert.equal((await deskbell.call('PATCH', path, behind)).status, 200);
    assert.equal((await find('Walrus feeding'))[0]?.score, 1);
  });

  const OTHER_QUESTIONS = [
    ['Do you send lamps from Spain to Portugal?', 'Do you send lamps from Portugal to Spain?'],
    ['Where do you repair broken espresso machines?', 'When do you repair broken espresso machines?'],
    ['I can open the tamper proof lid of the jar', "I can't open the tamper proof lid of the jar"],
    ['Do you have the leather belt in size M?', 'Do you have the leather belt in size S?'],
    ['Does the patio heater work at -5 degrees?', 'Does the patio heater work at 5 degrees?'],
    [
      'Do you deliver fresh bread rolls and croissants to the old town in the morning?',
      'Do you deliver fresh bread rolls and croissants to the old town in the evening?',
    ],
    ['Is there a tuna salad with the daily menu?', 'Is there a tuna sale with the daily menu?'],
    ['Can I call you about a repair of the grinder?', 'Can you call me about a repair of the grinder?'],
    ['Do you clean the woollen carpets by hand?', 'Can I clean the woollen carpets by hand?'],
  ] as const;
  it('is not confident for almost the same words that ask something else', async () => {
    await importDocuments(...OTHER_QUESTIONS.map(([title]) => ({ title, body: `About: ${title}` })));
    for (const [title, other] of OTHER_QUESTIONS) {
      const { question, confident } = (await find(title))[0]!;
      assert.deepEqual({ question, confident }, { question: title, confident: true });
      const [found] = await find(other);
      assert.deepEqual([found?.question, found?.confident, found!.score >= 0.9], [title, false, true]);
    }
  });
});
