import assert from 'node:assert/strict';
import { before, beforeEach, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import type { Engine } from '../../../src/database/database.ts';
import { createConfidence } from '../../../src/knowledge/confidence/confidence.ts';
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

/** A table refuses new rows until `fix`. */
const REFUSALS: Record<Engine, (table: string) => { fail: string; fix: string }> = {
  sqlite: (table) => ({
    fail: `create trigger refusal before insert on ${table} begin select raise(abort, 'refused'); end`,
    fix: 'drop trigger refusal',
  }),
  postgres: (table) => ({
    fail: `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create trigger refusal before insert on ${table} for each row execute function refuse()`,
    fix: 'drop function refuse cascade',
  }),
};

/** The rule of the learned threshold has unit tests. */
onEachEngine('answers without a person', (engine) => {
  const { shop, other, deskbell, call, make, teach } = useKnowledge(engine);
  let documentId: number;
  let theirKey: string;
  let customers = 0;

  /** A new customer, so that no other test's question is the same. */
  const ask = async (question = TITLE, more: object = {}, options: CallOptions = {}) => {
    const customer = { phone: `+34611${String(660000 + ++customers)}`, name: 'Lucía' };
    return (await shop.post('/ask', { question, customer, ...more }, options)).json;
  };
  const confidence = async (options?: CallOptions) => (await call('GET', 'confidence', options)).json;
  const threshold = async () => (await confidence()).threshold;
  const evidence = async () => {
    const { right, wrong } = (await confidence()).learned;
    return [right, wrong];
  };
  const known = async (query = '', options?: CallOptions) =>
    (await call('GET', `known${query}`, options)).json;
  const knownIds = async (): Promise<number[]> => (await known()).known.map(({ id }: { id: number }) => id);
  const judge = (id: number | string, outcome: unknown, options?: CallOptions) =>
    call('PUT', `known/${id}/outcome`, { body: { outcome }, ...options });
  const set = (confident: unknown, options?: CallOptions) => shop.patch('/merchant', { confident }, options);
  const find = async (q = TITLE) =>
    (await call('GET', `find?q=${encodeURIComponent(q)}&limit=1`)).json.candidates[0];
  const isConfident = async (q?: string): Promise<boolean> => (await find(q))?.confident ?? false;
  const askKnown = async (count = 1, options: CallOptions = {}) => {
    for (let n = 0; n < count; n += 1) assert.equal((await ask(TITLE, {}, options)).status, 'known');
  };
  /** Raises the question although it is known, and gives its candidate this score. */
  const raise = async (score = 1): Promise<number> => {
    const { id, status } = await ask(TITLE, { if_known: 'raise' });
    assert.equal(status, 'asked');
    await deskbell.database.run(
      'update recognitions set score = $2 where merchant_id = $3 and notification_id = $1',
      [id, score, shop.id],
    );
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
    theirKey = await other.key('ask', 'knowledge:read', 'knowledge:write');
  });
  beforeEach(async () => {
    await set('learned');
    await forgetLessons();
    await deskbell.database.run('delete from recognitions');
    // An outcome that is gone without a new version would still count.
    await deskbell.database.run('update confidence set version = version + 1, reset_at = null');
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
    await answered({ answer: 'Another one.', document_id: documentId + 1 });
    assert.deepEqual(await evidence(), [2, 2]);
  });

  it('learn nothing from what is resolved, sent as a campaign, cancelled or deleted, or was not asked', async () => {
    await answered({ resolve_only: true });
    await answered({ answer: BODY, only_send_campaign: true });
    await shop.delete(`/ask/${await raise()}`);
    await shop.delete(`/notification/${await raise()}`);
    await shop.answer((await ask('Zxqv wjkp?')).id, { answer: 'What?' });
    assert.deepEqual(await evidence(), [0, 0]);
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
    await askKnown(2);
    const all = await known();
    const [newest] = all.known;
    assert.deepEqual([all.known.length, all.next_cursor], [3, null]);
    assert.deepEqual(newest, {
      ...{ id: newest.id, question: TITLE, document: { id: documentId, title: TITLE, body: BODY }, score: 1 },
      ...{ outcome: null, judged_by: null, judged_at: null, created_at: newest.created_at },
    });
    const first = await known('?limit=2');
    const second = await known(`?limit=2&cursor=${first.next_cursor}`);
    assert.deepEqual([...first.known, ...second.known], all.known);
    assert.deepEqual([first.known.length, second.next_cursor], [2, null]);
    assertError(await call('GET', 'known?limit=101'), 422, 'VALIDATION_ERROR', 'limit');
    assertError(await call('GET', 'known?cursor=x'), 422, 'VALIDATION_ERROR', 'cursor');
  });

  it('are judged by people, who may change that and take it back', async () => {
    await askKnown();
    const [id] = (await knownIds()) as [number];
    const wrong = (await judge(id, 'wrong')).json;
    assert.deepEqual(
      [wrong.outcome, wrong.judged_by, wrong.document.id],
      ['wrong', 'Olga Owner', documentId],
    );
    assert.deepEqual(await evidence(), [0, 1]);
    const right = (await judge(id, 'right', { token: await shop.key('knowledge:write') })).json;
    assert.deepEqual([right.outcome, right.judged_by], ['right', 'Test key']);
    assert.deepEqual(await evidence(), [1, 0]);
    const undone = (await judge(id, null)).json;
    assert.deepEqual([undone.outcome, undone.judged_by, undone.judged_at], [null, null, null]);
    assert.deepEqual([await evidence(), (await known()).known], [[0, 0], [undone]]);
  });

  it('need a higher score after wrong ones, at once in every process, until that is taken back', async () => {
    const elsewhere = createConfidence(deskbell.database);
    const everywhere = async () => [await threshold(), (await elsewhere.read(shop.id)).threshold];
    await askKnown(2);
    assert.deepEqual(await everywhere(), [CONFIDENT_DEFAULT, CONFIDENT_DEFAULT]);
    const ids = await knownIds();
    for (const id of ids) await judge(id, 'wrong');
    assert.deepEqual([await everywhere(), await isConfident()], [[null, null], false]);
    await judge(ids[0]!, null);
    assert.deepEqual([await threshold(), await isConfident()], [CONFIDENT_DEFAULT, true]);
  });

  it('a judgement that is none, or is not of a known answer, is refused', async () => {
    await askKnown();
    await raise();
    const [id] = (await knownIds()) as [number];
    for (const outcome of ['maybe', undefined])
      assertError(await judge(id, outcome), 422, 'VALIDATION_ERROR', 'outcome');
    const [asked] = await deskbell.database.all<{ id: number }>(
      `select id from recognitions where kind = 'asked'`,
    );
    for (const one of [asked!.id, 999_999, 'x', '1e3', -1])
      assertError(await judge(one, 'right'), 404, 'KNOWN_ANSWER_NOT_FOUND');
    assert.deepEqual(await evidence(), [0, 0]);
  });

  it('are switched off by an owner, or need a score that the owner sets', async () => {
    assert.equal((await set('off')).json.confident, 'off');
    assert.deepEqual([await threshold(), await isConfident(), (await ask()).status], [null, false, 'asked']);
    const { score } = await find(CLOSE);
    await set(score);
    assert.deepEqual([(await confidence()).setting, await isConfident(CLOSE)], [score, true]);
    await set(score + 0.001);
    assert.equal(await isConfident(CLOSE), false);
    for (const wrong of [0.49, 1.01, 'on', '0.8', null, true])
      assertError(await set(wrong), 422, 'VALIDATION_ERROR', 'confident');
  });

  it('an owner resets what was learned, and takes that back', async () => {
    await askKnown(2);
    for (const id of await knownIds()) await judge(id, 'wrong');
    await deskbell.clock.advance(1);
    deskbell.clock.stop();
    const reset = (await call('PUT', 'confidence/reset')).json;
    assert.deepEqual(
      [reset.threshold, reset.learned.wrong, reset.reset_at],
      [CONFIDENT_DEFAULT, 0, deskbell.clock.now().toISOString()],
    );
    deskbell.clock.go();
    await deskbell.clock.advance(1);
    await judge((await knownIds())[0]!, 'right');
    assert.deepEqual(await evidence(), [1, 0]);
    const restored = (await call('DELETE', 'confidence/reset')).json;
    assert.deepEqual([restored.reset_at, restored.learned.wrong], [null, 1]);
    const audit = (await shop.get('/audit')).json.map(({ what }: { what: string }) => what);
    assert.ok(audit.includes('confidence.reset') && audit.includes('confidence.restored'));
  });

  it('everybody judges, with a key that may write; only owners reset and set', async () => {
    await askKnown();
    const [id] = (await knownIds()) as [number];
    const reader = await shop.key('knowledge:read');
    assertError(await judge(id, 'right', { token: reader }), 403, 'INSUFFICIENT_SCOPE');
    const { token } = await shop.colleague();
    assert.equal((await judge(id, 'right', { token })).status, 200);
    for (const method of ['PUT', 'DELETE'])
      assertError(await call(method, 'confidence/reset', { token }), 403, 'FORBIDDEN');
    assertError(await set('off', { token }), 403, 'FORBIDDEN');
  });

  it('of another merchant are neither seen, judged nor counted', async () => {
    await askKnown(2);
    const ids = await knownIds();
    for (const token of [await other.token(), theirKey]) {
      assert.deepEqual(await known('', { token }), { known: [], next_cursor: null });
      assertError(await judge(ids[0]!, 'wrong', { token }), 404, 'KNOWN_ANSWER_NOT_FOUND');
    }
    assert.equal(await count('outcome is not null'), 0);
    for (const id of ids) await judge(id, 'wrong');
    await askKnown(1, { token: theirKey });
    const theirs = (await known('', { token: theirKey })).known;
    assert.equal(theirs.length, 1);
    await judge(theirs[0].id, 'right', { token: theirKey });
    const { threshold, learned } = await confidence({ token: theirKey });
    assert.deepEqual([threshold, learned.right, learned.wrong], [CONFIDENT_DEFAULT, 1, 0]);
    await other.put('/knowledge/confidence/reset');
    assert.deepEqual((await confidence()).learned, { threshold: null, earned: false, right: 0, wrong: 2 });
    await set('off');
    assert.equal((await confidence({ token: theirKey })).setting, 'learned');
  });

  it('stay as evidence and in the list when their document is deleted', async () => {
    const question = 'Will the red kettle whistle loudly?';
    const deleted = await make({ question, answer: 'Yes.' });
    await ask(question);
    await judge((await knownIds())[0]!, 'right');
    await call('DELETE', String(deleted));
    assert.deepEqual((await known()).known[0].document, { id: deleted, title: null, body: null });
    assert.deepEqual(await evidence(), [1, 0]);
  });

  const fill = async (rows: number, { ageMs, outcome }: { ageMs: number; outcome: 'right' | null }) => {
    const at = new Date(deskbell.clock.now().getTime() - ageMs).toISOString();
    await deskbell.database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
        insert into recognitions (merchant_id, kind, question, document_id, score, outcome, judged_at, created_at,
          unjudged_since)
        select ${shop.id}, 'known', 'Q', 1, 1, cast($1 as text), cast($2 as text), $3, cast($4 as text) from n`,
      [outcome, outcome && at, at, outcome ? null : at],
    );
  };

  it('that nobody judges do not fill the disk', async () => {
    await fill(UNJUDGED_MAX + 500, { ageMs: 0, outcome: null });
    await fill(10, { ageMs: 0, outcome: 'right' });
    // Every 32nd known answer removes the oldest.
    await askKnown(32);
    assert.ok((await count('outcome is null')) <= UNJUDGED_MAX + 32);
    assert.equal(await count('outcome is not null'), 10);
    assert.equal((await known('?limit=32')).known.at(-1).question, TITLE);
  });

  it('the clean-up removes what was not judged in 30 days, and outcomes that no longer count', async () => {
    const { database, config, clock } = deskbell;
    await fill(5, { ageMs: 31 * DAY_MS, outcome: null });
    await fill(6, { ageMs: 29 * DAY_MS, outcome: null });
    await fill(30, { ageMs: 400 * DAY_MS, outcome: 'right' });
    await fill(OUTCOMES_MAX - 10, { ageMs: 0, outcome: 'right' });
    await database.run(
      'insert into confidence (merchant_id, version) values ($1, 1) on conflict do nothing',
      [shop.id],
    );
    await cleanUp(database, config, createLogger({ logLevel: 'silent', logPretty: false }), clock.now());
    const year = new Date(clock.now().getTime() - 365 * DAY_MS).toISOString();
    assert.deepEqual(
      [
        await count('outcome is null'),
        await count('outcome is not null'),
        await count(`judged_at < '${year}'`),
      ],
      [6, OUTCOMES_MAX, 10],
    );
  });

  it('an outcome is written with the answer or not at all, and no known answer is given unlisted', async () => {
    const refusing = async <T>(table: string, work: () => Promise<T>): Promise<T> => {
      const { fail, fix } = REFUSALS[engine](table);
      await deskbell.database.script(fail);
      return work().finally(() => deskbell.database.script(fix));
    };
    for (const table of ['confidence', 'new_events', 'deliveries']) {
      const id = await raise();
      assert.equal((await refusing(table, () => shop.answer(id, BODY))).status, 500, table);
      const { status } = (await shop.get(`/notification/${id}`)).json;
      const judged = `outcome is not null and notification_id = ${id}`;
      assert.deepEqual([status, await count(judged)], ['requested', 0]);
      assert.equal((await shop.answer(id, BODY)).status, 200);
      // A second answer is refused and judges nothing.
      await shop.answer(id, 'Something else.');
      assert.deepEqual([await count(judged), await count(`outcome = 'wrong'`)], [1, 0]);
      await forgetLessons();
    }
    const body = { question: TITLE, customer: { phone: '+34611650000' } };
    assert.equal((await refusing('recognitions', () => shop.post('/ask', body))).status, 500);
  });

  it('answers at the same moment judge each its own question', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 12; n += 1) ids.push(await raise());
    const replies = await Promise.all(ids.map((id, n) => shop.answer(id, n % 3 === 0 ? 'No.' : BODY)));
    assert.ok(replies.every(({ status }) => status === 200));
    assert.deepEqual([await count(`outcome = 'right'`), await count(`outcome = 'wrong'`)], [8, 4]);
    assert.deepEqual(await evidence(), [8, 4]);
  });
});
