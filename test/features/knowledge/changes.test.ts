import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordKnown } from '../../../src/knowledge/confidence/store.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { AURORA_ID, useKnowledge } from '../../support/teaching.ts';

const DAY_SECONDS = 86_400;

onEachEngine('who changed what, and what may be out of date', (engine) => {
  const { deskbell, tokens, call, patch, make } = useKnowledge(engine);
  const changes = async (query = '', token = tokens.aurora) => {
    const reply = await call('GET', `changes${query}`, { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json as { changes: Record<string, unknown>[]; next_cursor: string | null };
  };
  const stale = async (query = '', token = tokens.aurora) => {
    const reply = await call('GET', `stale${query}`, { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json as {
      documents: { id: number; reason: string; wrong: number; last_used_on: string | null }[];
      next_cursor: string | null;
    };
  };

  it('every kind of change is listed with its author, newest first', async () => {
    const key = await createKey(deskbell, ['knowledge:write']);
    const id = await make({ question: 'Do you roast at night?', answer: 'Yes.' });
    await deskbell.clock.advance(1);
    await patch(id, { body: 'Only on Mondays.' });
    await deskbell.clock.advance(1);
    const wording = await call('POST', `${id}/wordings`, { body: { text: 'Night roasting?' }, token: key });
    await deskbell.clock.advance(1);
    await call('POST', `${id}/revert`);
    await deskbell.clock.advance(1);
    await call('DELETE', `${id}/wordings/${wording.json.id}`);
    const list = (await changes('?limit=5')).changes.filter(({ document_id }) => document_id === id);
    assert.deepEqual(
      list.map(({ what, cause, version, name }) => [what, cause, version, name]),
      [
        ['wording_removed', 'edit', null, 'Alma Reyes'],
        ['reverted', 'revert', 3, 'Alma Reyes'],
        ['changed', 'edit', 2, 'Alma Reyes'],
        ['created', 'answer', 1, 'Alma Reyes'],
      ],
    );
    await deskbell.clock.advance(1);
    await call('POST', `${id}/wordings`, { body: { text: 'Night roasting?' }, token: key });
    const [added] = (await changes('?limit=1')).changes;
    assert.deepEqual(
      [added!.what, added!.wording, added!.name, added!.title, added!.user_id],
      ['wording_added', 'Night roasting?', 'Test key', 'Do you roast at night?', null],
    );
    await deskbell.clock.advance(1);
    await call('DELETE', String(id));
    const after = (await changes()).changes.filter(({ document_id }) => document_id === id);
    // Its own history is gone with it.
    assert.deepEqual(
      after.map(({ what, title, name }) => [what, title, name]),
      [
        ['deleted', 'Do you roast at night?', 'Alma Reyes'],
        ['wording_removed', 'Do you roast at night?', 'Alma Reyes'],
      ],
    );
    const other = (await changes('', tokens.borealis)).changes;
    assert.ok(!JSON.stringify(other).includes('roast at night'));
  });

  it('pages miss and repeat nothing, even if many changes have the same time', async () => {
    deskbell.clock.stop();
    const text = Array.from({ length: 30 }, (_, n) =>
      JSON.stringify({ title: `Topic ${n}`, body: 'Text.', wordings: [`Matter ${n}`] }),
    ).join('\n');
    const imported = await call('POST', 'import', { body: { format: 'jsonl', text } });
    assert.equal(imported.json.added, 30, imported.text);
    const topics = (await call('GET', '?q=topic&limit=1000')).json;
    for (const { id } of topics.slice(0, 5)) await call('DELETE', String(id));
    const whole = (await changes('?limit=200')).changes.map((change) => JSON.stringify(change));
    const paged: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await changes(`?limit=7${cursor && `&cursor=${cursor}`}`);
      paged.push(...page.changes.map((change) => JSON.stringify(change)));
      cursor = page.next_cursor;
    }
    assert.equal(new Set(paged).size, paged.length);
    assert.deepEqual(paged, whole);
    assert.equal(whole.filter((change) => change.includes('"wording_added"')).length, 25);
    deskbell.clock.go();
  });

  for (const [query, field] of [
    ['?limit=0', 'limit'],
    ['?limit=201', 'limit'],
    ['?cursor=x', 'cursor'],
  ] as const) {
    it(`refuses ${query}`, async () => {
      assertError(await call('GET', `changes${query}`), 422, 'VALIDATION_ERROR', field);
      assertError(await call('GET', `stale${query}`), 422, 'VALIDATION_ERROR', field);
    });
  }

  it('a document is out of date after its answers were judged wrong, until somebody changes it', async () => {
    const id = await make({ question: 'Do you rent machines?', answer: 'Yes, for 5 euros.' });
    const recognise = () =>
      deskbell.database.transaction((tx) =>
        recordKnown(tx, AURORA_ID, {
          ...{ question: 'Do you rent machines?', documentId: id, score: 1, at: deskbell.clock.now() },
        }),
      );
    await recognise();
    await recognise();
    const known = (await call('GET', 'known')).json.known as { id: number; document: { id: number } }[];
    const [first, second] = known.filter(({ document }) => document.id === id);
    assert.ok(!(await stale()).documents.some((document) => document.id === id));
    await deskbell.clock.advance(1);
    await call('PUT', `known/${first!.id}/outcome`, { body: { outcome: 'wrong' } });
    await call('PUT', `known/${second!.id}/outcome`, { body: { outcome: 'right' } });
    const found = (await stale()).documents.find((document) => document.id === id);
    assert.deepEqual([found?.reason, found?.wrong], ['wrong', 1]);
    assert.deepEqual((await stale('', tokens.borealis)).documents, []);
    await deskbell.clock.advance(1);
    await patch(id, { body: 'No longer.' });
    assert.ok(!(await stale()).documents.some((document) => document.id === id));
  });

  it('a document is out of date if no question has led to it for 90 days', async () => {
    const used = await make({ question: 'Do you sell grinders?', answer: 'Yes, three kinds.' });
    const unused = await make({ question: 'Do you sell kettles?', answer: 'Yes, one.' });
    await deskbell.clock.advance(80 * DAY_SECONDS);
    await deskbell.database.transaction((tx) =>
      recordKnown(tx, AURORA_ID, {
        ...{ question: 'Grinders?', documentId: used, score: 1, at: deskbell.clock.now() },
      }),
    );
    await deskbell.clock.advance(11 * DAY_SECONDS);
    const token = await deskbell.signIn();
    const all: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await stale(`?limit=3${cursor && `&cursor=${cursor}`}`, token);
      assert.ok(page.documents.every(({ reason }) => reason === 'unused'));
      all.push(...page.documents.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    assert.ok(all.includes(unused) && !all.includes(used));
    assert.equal(new Set(all).size, all.length);
  });
});
