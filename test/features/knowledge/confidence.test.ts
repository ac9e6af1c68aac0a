import assert from 'node:assert/strict';
import { before, beforeEach, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import { OUTCOMES_MAX, UNJUDGED_MAX } from '../../../src/knowledge/confidence/store.ts';
import { CONFIDENT_DEFAULT } from '../../../src/knowledge/confidence/threshold.ts';
import { createLogger } from '../../../src/log.ts';
import { assertError, type CallOptions, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

const TITLE = 'Which grinder fits the blue travel kettle?';
/** A match above the floor, but below the default. */
const CLOSE = 'Which grinder fits a blue travel kettle of yours?';
const BODY = 'The  small hand grinder\nfits it.';
const DAY_MS = 24 * 60 * 60_000;

onEachEngine('answers without a person', (engine) => {
  const { shop, other, deskbell, call, make, teach } = useKnowledge(engine);
  let documentId: number;
  let customers = 0;

  /** A new customer, so that no other test's question is the same. */
  const ask = async (question = TITLE, more: object = {}, of = shop) => {
    const customer = { phone: `+34611${String(660000 + ++customers)}`, name: 'Lucía' };
    return (await of.post('/ask', { question, customer, ...more })).json;
  };
  const confidence = async () => (await call('GET', 'confidence')).json;
  const threshold = async () => (await confidence()).threshold;
  const evidence = async () => {
    const { right, wrong } = (await confidence()).learned;
    return [right, wrong];
  };
  const known = async (query = '') => (await call('GET', `known${query}`)).json;
  /** Lets the assistant answer this many times, and returns what is listed. */
  const askKnown = async (count = 1): Promise<number[]> => {
    for (let n = 0; n < count; n += 1) assert.equal((await ask()).status, 'known');
    return (await known()).known.map(({ id }: { id: number }) => id);
  };
  const judge = (id: number | string, outcome: unknown, options?: CallOptions) =>
    call('PUT', `known/${id}/outcome`, { body: { outcome }, ...options });
  const set = (confident: unknown, options?: CallOptions) => shop.patch('/merchant', { confident }, options);
  const find = async (q = TITLE) =>
    (await call('GET', `find?q=${encodeURIComponent(q)}&limit=1`)).json.candidates[0];
  const isConfident = async (q?: string): Promise<boolean> => (await find(q))?.confident ?? false;
  /** Raises the question although it is known, and gives its candidate this score. */
  const raise = async (score = 1): Promise<number> => {
    const { id, status } = await ask(TITLE, { if_known: 'raise' });
    assert.equal(status, 'asked');
    await deskbell.database.run('update recognitions set score = $2 where notification_id = $1', [id, score]);
    return id;
  };
  /** Each answer teaches a document with the same title, which is as good as the first. */
  const forgetLessons = () =>
    deskbell.database.run('delete from documents where merchant_id = $2 and id <> $1', [documentId, shop.id]);
  const answered = async (body: object, { count = 1, score = 1 } = {}) => {
    for (let n = 0; n < count; n += 1) {
      assert.equal((await shop.answer(await raise(score), body)).status, 200);
      await forgetLessons();
    }
  };
  const count = async (condition: string) =>
    (await deskbell.database.one<{ count: number }>(
      `select count(*) as count from recognitions where merchant_id = $1 and ${condition}`,
      [shop.id],
    ))!.count;

  before(async () => {
    documentId = await make({ question: TITLE, answer: BODY });
    await teach({ question: TITLE, answer: BODY }, other);
  });
  beforeEach(async () => {
    await set('learned');
    await forgetLessons();
    const both = [shop.id, other.id];
    await deskbell.database.run('delete from recognitions where merchant_id in ($1, $2)', both);
    // An outcome that is gone without a new version would still count.
    const reset =
      'update confidence set version = version + 1, reset_at = null where merchant_id in ($1, $2)';
    await deskbell.database.run(reset, both);
  });

  it('begin with the default, and learn from answers to asks: the same text or document is right', async () => {
    assert.deepEqual(await confidence(), {
      ...{ setting: 'learned', threshold: CONFIDENT_DEFAULT, default: CONFIDENT_DEFAULT, reset_at: null },
      learned: { threshold: CONFIDENT_DEFAULT, earned: false, right: 0, wrong: 0 },
    });
    assert.equal(await isConfident(), true);
    await answered({ answer: ` ${BODY.replaceAll(/\s+/g, ' ')}\n` });
    await answered({ answer: 'The small one does.', document_id: documentId });
    assert.deepEqual(await evidence(), [2, 0]);
    await answered({ answer: 'None does.' });
    assert.deepEqual(await evidence(), [2, 1]);
    // What is resolved, a campaign, cancelled, deleted or was not known teaches nothing.
    await answered({ resolve_only: true });
    await answered({ answer: BODY, only_send_campaign: true });
    await shop.delete(`/ask/${await raise()}`);
    await shop.delete(`/notification/${await raise()}`);
    await shop.answer((await ask('Zxqv wjkp?')).id, { answer: 'What?' });
    assert.deepEqual(await evidence(), [2, 1]);
  });

  it('need a lower score after enough right ones, and a higher one after wrong ones', async () => {
    const inForce = async () => [await threshold(), await isConfident(CLOSE)];
    await answered({ answer: BODY }, { count: 17, score: 0.5 });
    assert.deepEqual(await inForce(), [CONFIDENT_DEFAULT, false]);
    await answered({ answer: BODY }, { score: 0.5 });
    assert.deepEqual(await inForce(), [0.5, true]);
    assert.equal((await ask(CLOSE)).status, 'known');

    await answered({ answer: 'No.' }, { score: 0.5 });
    assert.deepEqual(await inForce(), [CONFIDENT_DEFAULT, false]);
    await answered({ answer: 'No.' }, { count: 2, score: 1 });
    assert.deepEqual((await confidence()).learned, { threshold: null, earned: false, right: 18, wrong: 3 });
    assert.equal(await isConfident(), false);
    assert.equal((await ask()).status, 'asked');
  });

  it('by the default are for the same words only, and never for another number or a negation', async () => {
    const almost = `${TITLE} Anyone`;
    await set(0.5);
    for (const q of [TITLE, CLOSE, almost]) assert.equal(await isConfident(q), true, q);
    for (const q of [`${TITLE} 2`, TITLE.replace('fits', 'never fits')]) {
      assert.equal(await isConfident(q), false, q);
      await ask(q);
    }
    // What no threshold allows is no evidence.
    assert.equal(await count('1 = 1'), 0);
    await set('learned');
    assert.ok((await find(almost)).score >= CONFIDENT_DEFAULT);
    assert.deepEqual([await isConfident(TITLE), await isConfident(almost)], [true, false]);
    await answered({ answer: BODY }, { count: 21, score: 0.89 });
    assert.deepEqual([await threshold(), (await confidence()).learned.earned], [0.89, true]);
    assert.equal(await isConfident(almost), true);
  });

  it('are listed, newest first in pages; a repeated call is listed once', async () => {
    const headers = { 'idempotency-key': 'known-once' };
    const body = { question: TITLE, customer: { phone: '+34611660000' } };
    for (let n = 0; n < 2; n += 1)
      assert.equal((await shop.post('/ask', body, { headers })).json.status, 'known');
    const [id] = await askKnown(2);
    const all = await known();
    assert.deepEqual([all.known.length, all.next_cursor], [3, null]);
    assert.deepEqual(all.known[0], {
      ...{ id, question: TITLE, document: { id: documentId, title: TITLE, body: BODY }, score: 1 },
      ...{ outcome: null, judged_by: null, judged_at: null, created_at: all.known[0].created_at },
    });
    const first = await known('?limit=2');
    const second = await known(`?limit=2&cursor=${first.next_cursor}`);
    assert.deepEqual([...first.known, ...second.known], all.known);
    assert.deepEqual([first.known.length, second.next_cursor], [2, null]);
    for (const wrong of ['limit=101', 'cursor=x'])
      assertError(await call('GET', `known?${wrong}`), 422, 'VALIDATION_ERROR', wrong.split('=')[0]);
  });

  it('are judged by people, who may change that and take it back', async () => {
    const [id] = (await askKnown()) as [number];
    const wrong = (await judge(id, 'wrong', await shop.colleague())).json;
    assert.deepEqual(
      [wrong.outcome, wrong.judged_by, wrong.document.id],
      ['wrong', 'Carla Colleague', documentId],
    );
    assert.deepEqual(await evidence(), [0, 1]);
    const right = (await judge(id, 'right', { token: await shop.key('knowledge:write') })).json;
    assert.deepEqual([right.outcome, right.judged_by], ['right', 'Test key']);
    assert.deepEqual(await evidence(), [1, 0]);
    const undone = (await judge(id, null)).json;
    assert.deepEqual([undone.outcome, undone.judged_by, undone.judged_at], [null, null, null]);
    assert.deepEqual([await evidence(), (await known()).known], [[0, 0], [undone]]);

    assertError(await judge(id, 'maybe'), 422, 'VALIDATION_ERROR', 'outcome');
    await raise();
    const [asked] = await deskbell.database.all<{ id: number }>(
      `select id from recognitions where kind = 'asked'`,
    );
    for (const one of [asked!.id, 'x']) assertError(await judge(one, 'right'), 404, 'KNOWN_ANSWER_NOT_FOUND');
  });

  it('are switched off by an owner, or need a score that the owner sets', async () => {
    assert.equal((await set('off')).json.confident, 'off');
    assert.deepEqual([await threshold(), await isConfident(), (await ask()).status], [null, false, 'asked']);
    const { score } = await find(CLOSE);
    await set(score);
    assert.deepEqual([(await confidence()).setting, await isConfident(CLOSE)], [score, true]);
    await set(score + 0.001);
    assert.equal(await isConfident(CLOSE), false);
    assertError(await set('off', await shop.colleague()), 403, 'FORBIDDEN');
    for (const wrong of [0.49, 1.01, 'on', null])
      assertError(await set(wrong), 422, 'VALIDATION_ERROR', 'confident');
  });

  it('an owner resets what was learned, and takes that back', async () => {
    const ids = await askKnown(2);
    for (const id of ids) await judge(id, 'wrong');
    assert.deepEqual([await threshold(), await isConfident()], [null, false]);
    await deskbell.clock.advance(1);
    for (const method of ['PUT', 'DELETE'])
      assertError(await call(method, 'confidence/reset', await shop.colleague()), 403, 'FORBIDDEN');
    const reset = (await call('PUT', 'confidence/reset')).json;
    assert.deepEqual([reset.threshold, reset.learned.wrong], [CONFIDENT_DEFAULT, 0]);
    await deskbell.clock.advance(1);
    await judge(ids[0]!, 'right');
    assert.deepEqual(await evidence(), [1, 0]);
    const restored = (await call('DELETE', 'confidence/reset')).json;
    assert.deepEqual([restored.reset_at, restored.learned.wrong], [null, 1]);
    const audit = (await shop.get('/audit')).json.map(({ what }: { what: string }) => what);
    assert.ok(audit.includes('confidence.reset') && audit.includes('confidence.restored'));
  });

  it('of another merchant are neither seen, judged nor counted', async () => {
    const [id] = (await askKnown()) as [number];
    assert.deepEqual((await other.get('/knowledge/known')).json, { known: [], next_cursor: null });
    const foreign = await other.put(`/knowledge/known/${id}/outcome`, { outcome: 'wrong' });
    assertError(foreign, 404, 'KNOWN_ANSWER_NOT_FOUND');
    await judge(id, 'wrong');
    assert.equal((await ask(TITLE, {}, other)).status, 'known');
    const { learned } = (await other.get('/knowledge/confidence')).json;
    assert.deepEqual([learned.right, learned.wrong, await evidence()], [0, 0, [0, 1]]);
    await other.put('/knowledge/confidence/reset');
    assert.deepEqual(await evidence(), [0, 1]);
    await set('off');
    assert.equal((await other.get('/knowledge/confidence')).json.setting, 'learned');
  });

  it('stay as evidence and in the list when their document is deleted', async () => {
    const question = 'Will the red kettle whistle loudly?';
    const deleted = await make({ question, answer: 'Yes.' });
    await ask(question);
    await judge((await known()).known[0].id, 'right');
    await call('DELETE', String(deleted));
    assert.deepEqual((await known()).known[0].document, { id: deleted, title: null, body: null });
    assert.deepEqual(await evidence(), [1, 0]);
  });

  const fill = async (rows: number, ageDays: number, outcome: 'right' | null = null) => {
    const at = new Date(deskbell.clock.now().getTime() - ageDays * DAY_MS).toISOString();
    await deskbell.database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
        insert into recognitions (merchant_id, kind, question, document_id, score, outcome, judged_at, created_at,
          unjudged_since)
        select ${shop.id}, 'known', 'Q', 1, 1, cast($1 as text), cast($2 as text), $3, cast($4 as text) from n`,
      [outcome, outcome && at, at, outcome ? null : at],
    );
  };

  it('that nobody judges do not fill the disk', async () => {
    await fill(UNJUDGED_MAX + 500, 0);
    await fill(10, 0, 'right');
    // Every 32nd known answer removes the oldest.
    await askKnown(32);
    assert.ok((await count('outcome is null')) <= UNJUDGED_MAX + 32);
    assert.equal(await count('outcome is not null'), 10);
    assert.equal((await known('?limit=32')).known.at(-1).question, TITLE);
  });

  it('are removed if they were not judged in 30 days, and outcomes that no longer count', async () => {
    const { database, config, clock } = deskbell;
    await fill(5, 31);
    await fill(6, 29);
    await fill(30, 400, 'right');
    await fill(OUTCOMES_MAX - 10, 0, 'right');
    await database.run(
      'insert into confidence (merchant_id, version) values ($1, 1) on conflict do nothing',
      [shop.id],
    );
    await cleanUp(database, config, createLogger({ logLevel: 'silent', logPretty: false }), clock.now());
    const kept = [await count('outcome is null'), await count('outcome is not null')];
    assert.deepEqual(kept, [6, OUTCOMES_MAX]);
  });
});
