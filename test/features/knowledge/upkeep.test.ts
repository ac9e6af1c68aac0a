import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordKnown } from '../../../src/knowledge/confidence/store.ts';
import { assertError, idsOf, onEachEngine, SUPPORT } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

const DAY_SECONDS = 86_400;

onEachEngine('who changed what, and what may be out of date', (engine) => {
  const { shop, other, deskbell, call, patch, make, importAll } = useKnowledge(engine);
  type Page<Name extends string, Item> = Record<Name, Item[]> & { next_cursor: string | null };
  const changes = async (query = '', of = shop): Promise<Page<'changes', Record<string, unknown>>> =>
    (await of.get(`/knowledge/changes${query}`)).json;
  type Stale = { id: number; reason: string; wrong: number };
  const stale = async (query = '', of = shop): Promise<Page<'documents', Stale>> =>
    (await of.get(`/knowledge/stale${query}`)).json;
  const isStale = async (id: number) => (await stale()).documents.some((document) => document.id === id);
  const recognise = (documentId: number) => {
    const found = { question: 'Like it?', documentId, score: 1, at: deskbell.clock.now() };
    return deskbell.database.transaction((tx) => recordKnown(tx, shop.id, found));
  };

  it('every kind of change is listed with its author, newest first', async () => {
    const token = await shop.key('knowledge:write');
    const id = await make({ question: 'Do you roast at night?', answer: 'Yes.' });
    const text = 'Night roasting?';
    const added = async () => (await call('POST', `${id}/wordings`, { body: { text }, token })).json.id;
    let wording = 0;
    for (const change of [
      () => patch(id, { body: 'Only on Mondays.' }),
      async () => (wording = await added()),
      () => call('POST', `${id}/revert`),
      () => call('DELETE', `${id}/wordings/${wording}`),
    ]) {
      await deskbell.clock.advance(1);
      await change();
    }
    assert.deepEqual(
      (await changes()).changes.map(
        ({ what, cause, version, name }) => `${what} ${cause} ${version} ${name}`,
      ),
      [
        ...['wording_removed edit null Olga Owner', 'reverted revert 3 Olga Owner'],
        ...['changed edit 2 Olga Owner', 'created answer 1 Olga Owner'],
      ],
    );
    await deskbell.clock.advance(1);
    await added();
    const [newest] = (await changes('?limit=1')).changes;
    assert.deepEqual([newest!.what, newest!.wording, newest!.name], ['wording_added', text, 'Test key']);
    await deskbell.clock.advance(1);
    await call('DELETE', String(id));
    // Its own history is gone with it.
    assert.deepEqual(
      (await changes()).changes.map(({ what, title, name }) => [what, title, name]),
      ['deleted', 'wording_removed'].map((what) => [what, 'Do you roast at night?', 'Olga Owner']),
    );
    assert.deepEqual((await changes('', other)).changes, []);
  });

  it('pages miss and repeat nothing, even if many changes have the same time', async () => {
    deskbell.clock.stop();
    const topics = Array.from({ length: 20 }, (_, n) => ({ title: `Topic ${n}`, body: 'Text.' }));
    await importAll(topics.map((topic, n) => ({ ...topic, wordings: [`Matter ${n}`] })));
    for (const id of idsOf(await call('GET', '?q=topic')).slice(0, 5)) await call('DELETE', String(id));
    const whole = (await changes('?limit=200')).changes.map((change) => JSON.stringify(change));
    const paged: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await changes(`?limit=7${cursor && `&cursor=${cursor}`}`);
      paged.push(...page.changes.map((change) => JSON.stringify(change)));
      cursor = page.next_cursor;
    }
    deskbell.clock.go();
    assert.deepEqual(paged, whole);
    assert.equal(new Set(paged).size, paged.length);
    assert.equal(whole.filter((change) => change.includes('"wording_added"')).length, 15);
    for (const query of ['limit=0', 'limit=201', 'cursor=x'])
      for (const path of ['changes', 'stale'])
        assertError(await call('GET', `${path}?${query}`), 422, 'VALIDATION_ERROR', query.split('=')[0]);
  });

  it('a document is out of date after its answers were judged wrong, until somebody changes it', async () => {
    const id = await make({ question: 'Do you rent machines?', answer: 'Yes, for 5 euros.' });
    for (let n = 0; n < 2; n += 1) await recognise(id);
    const [first, second] = (await call('GET', 'known')).json.known;
    assert.equal(await isStale(id), false);
    await deskbell.clock.advance(1);
    await call('PUT', `known/${first.id}/outcome`, { body: { outcome: 'wrong' } });
    await call('PUT', `known/${second.id}/outcome`, { body: { outcome: 'right' } });
    const found = (await stale()).documents.find((document) => document.id === id);
    assert.deepEqual([found?.reason, found?.wrong], ['wrong', 1]);
    assert.deepEqual((await stale('', other)).documents, []);
    await deskbell.clock.advance(1);
    await patch(id, { body: 'No longer.' });
    assert.equal(await isStale(id), false);
  });

  it('a document is out of date if no question has led to it for 90 days', async () => {
    const [used, unused] = [await make({ question: 'Grinders?' }), await make({ question: 'Kettles?' })];
    await deskbell.clock.advance(80 * DAY_SECONDS);
    await recognise(used);
    await deskbell.clock.advance(11 * DAY_SECONDS);
    const all: Stale[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await stale(`?limit=3${cursor && `&cursor=${cursor}`}`);
      all.push(...page.documents);
      cursor = page.next_cursor;
    }
    assert.ok(all.every(({ reason }) => reason === 'unused'));
    const ids = all.map(({ id }) => id);
    assert.deepEqual([ids.includes(unused), ids.includes(used)], [true, false]);
    assert.equal(new Set(ids).size, ids.length);
  });
});

onEachEngine('what customers asked and no document answers', (engine) => {
  const { shop, other, call } = useKnowledge(engine);
  type Gap = { question: string; count: number; pending_ids: number[]; answer: string | null };
  const gaps = async (): Promise<(Gap & { answered_id: number | null; newest_at: string })[]> =>
    (await call('GET', 'gaps')).json.gaps;
  const gapOf = async (words: string) => (await gaps()).find(({ question }) => question.includes(words));
  const campaign = (answer: string) => ({ answer, only_send_campaign: true });

  it('pending questions are there, the same ones together, with their ids for one answer', async () => {
    const ids = [];
    for (const one of ['gift', 'gift', 'any gift'])
      ids.unshift(await shop.raise(`Do you sell ${one} vouchers?`));
    const [gap] = await gaps();
    assert.deepEqual(gap, {
      ...{ question: 'Do you sell any gift vouchers?', count: 3, pending_ids: ids },
      ...{ answered_id: null, answer: null, newest_at: gap!.newest_at },
    });
    const many = await shop.post('/notification/answer-many', { ids, answer: 'Yes, from 20 euros.' });
    assert.equal(many.status, 200, many.text);
    assert.equal(await gapOf('vouchers'), undefined);
  });

  it('what was answered without a document is a gap with its answer, until a document has it', async () => {
    const told = await shop.raise('Can I pay with crypto coins?');
    await shop.answer(told, campaign('No, by card or cash.'));
    const pending = await shop.raise('Can I pay with crypto coins?');
    const gap = await gapOf('crypto');
    assert.deepEqual(
      [gap?.count, gap?.pending_ids, gap?.answered_id, gap?.answer],
      [2, [pending], told, 'No, by card or cash.'],
    );
    await shop.answer(pending, { resolve_only: true });
    assert.equal((await gapOf('crypto'))?.count, 1);
    const body = { title: gap!.question, body: gap!.answer, notification_id: told };
    assert.equal((await call('POST', '', { body })).status, 200);
    assert.equal(await gapOf('crypto'), undefined);
  });

  it('what was taught, what was resolved, what is personal and what other shops were asked is no gap', async () => {
    await shop.answer(await shop.raise('Do you roast chicory?'), 'Yes, in autumn.');
    await shop.answer(await shop.raise('Is the weather good?'), { resolve_only: true });
    await shop.raise('Where is my order 48213?');
    await shop.raise(SUPPORT);
    await other.raise('Do you sell tea?');
    assert.deepEqual(await gaps(), []);
  });
});
