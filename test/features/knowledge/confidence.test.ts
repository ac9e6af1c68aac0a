import assert from 'node:assert/strict';
import { before, beforeEach, it } from 'node:test';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { CONFIDENT_DEFAULT } from '../../../src/knowledge/confidence/threshold.ts';
import { useAsks } from '../../support/asking.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  addUser,
  assertError,
  type CallOptions,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  raise as raiseOne,
} from '../../support/server.ts';
import { AURORA_ID, useKnowledge } from '../../support/teaching.ts';

const TITLE = 'Which grinder fits the blue travel kettle?';
/** A match above the floor, but below the default. */
const CLOSE = 'Which grinder fits a blue travel kettle of yours?';
const BODY = 'The  small hand grinder\nfits it.';
const BOREALIS_ID = 2 as MerchantId;

onEachEngine('confidence', (engine) => {
  const { deskbell, tokens, call, make, teach } = useKnowledge(engine);
  const { ask, answer, customer } = useAsks(deskbell);
  let documentId: number;
  let borealisKey: string;

  const confidence = async (options?: CallOptions) => (await call('GET', 'confidence', options)).json;
  const known = async (query = '', options?: CallOptions) =>
    (await call('GET', `known${query}`, options)).json;
  const judge = (id: number | string, outcome: unknown, options?: CallOptions) =>
    call('PUT', `known/${id}/outcome`, { body: { outcome }, ...options });
  const set = (confident: unknown, options: CallOptions = {}) =>
    deskbell.call('PATCH', '/api/v1/merchant', { token: tokens.aurora, body: { confident }, ...options });
  const find = async (q = TITLE) =>
    (await call('GET', `find?q=${encodeURIComponent(q)}&limit=1`)).json.candidates[0];
  const askKnown = async (count = 1, options: CallOptions = {}) => {
    for (let n = 0; n < count; n += 1) {
      const { json } = await ask({ question: TITLE, customer: customer() }, options);
      assert.equal(json.status, 'known');
    }
  };
  /** Raises the question although it is known, and gives its candidate this score. */
  const raise = async (score = 1): Promise<number> => {
    const { json } = await ask({ question: TITLE, customer: customer(), if_known: 'raise' });
    assert.equal(json.status, 'asked');
    await deskbell.database.run(
      'update recognitions set score = $2 where merchant_id = 1 and notification_id = $1',
      [json.id, score],
    );
    return json.id;
  };
  const answered = async (body: object, { count = 1, score = 1 } = {}) => {
    for (let n = 0; n < count; n += 1) {
      assert.equal((await answer(await raise(score), body)).status, 200);
      await forgetLessons();
    }
  };
  /** Each answer teaches a document with the same title, which is as good as the first. */
  const forgetLessons = () =>
    deskbell.database.run('delete from documents where merchant_id = 1 and id <> $1', [documentId]);
  const evidence = async () => {
    const { right, wrong } = (await confidence()).learned;
    return { right, wrong };
  };

  before(async () => {
    documentId = await make({ question: TITLE, answer: BODY });
    await teach({ question: TITLE, answer: BODY }, BOREALIS_ID);
    const created = await deskbell.call('POST', '/api/v1/keys', {
      token: tokens.borealis,
      body: { name: 'Theirs', scopes: ['ask', 'knowledge:read', 'knowledge:write'] },
    });
    borealisKey = created.json.key;
  });
  beforeEach(async () => {
    await set('learned');
    await forgetLessons();
    await deskbell.database.run('delete from recognitions');
    // An outcome that is gone without a new version would still count.
    await deskbell.database.run('update confidence set version = version + 1, reset_at = null');
  });

  it('begins with the default', async () => {
    assert.deepEqual(await confidence(), {
      setting: 'learned',
      threshold: CONFIDENT_DEFAULT,
      learned: { threshold: CONFIDENT_DEFAULT, earned: false, right: 0, wrong: 0 },
      default: CONFIDENT_DEFAULT,
      reset_at: null,
    });
    assert.equal((await find()).confident, true);
  });

  it('learns from answers to asks: the same text or the document is right, anything else is wrong', async () => {
    await answered({ answer: ` ${BODY.replaceAll(/\s+/g, ' ')}\n` });
    assert.deepEqual(await evidence(), { right: 1, wrong: 0 });
    await answered({ answer: 'The small one does.', document_id: documentId });
    assert.deepEqual(await evidence(), { right: 2, wrong: 0 });
    await answered({ answer: 'None does.' });
    await answered({ answer: 'Another one.', document_id: documentId + 1 });
    assert.deepEqual(await evidence(), { right: 2, wrong: 2 });
  });

  it('learns nothing from what is resolved, sent as a campaign, cancelled or deleted, or was not asked', async () => {
    await answered({ resolve_only: true });
    await answered({ answer: BODY, only_send_campaign: true });
    await deskbell.call('DELETE', `/api/v1/ask/${await raise()}`, { token: tokens.aurora });
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${await raise()}`, { token: tokens.aurora });
    const unlike = await ask({ question: 'Zxqv wjkp?', customer: customer() });
    await answer(unlike.json.id, { answer: 'What?' });
    assert.deepEqual(await evidence(), { right: 0, wrong: 0 });
  });

  it('the threshold goes down after enough right ones, and up after wrong ones', async () => {
    const inForce = async () => [(await confidence()).threshold, (await find(CLOSE)).confident];
    await answered({ answer: BODY }, { count: 17, score: 0.5 });
    assert.deepEqual(await inForce(), [CONFIDENT_DEFAULT, false]);
    await answered({ answer: BODY }, { score: 0.5 });
    assert.deepEqual(await inForce(), [0.5, true]);
    assert.equal((await ask({ question: CLOSE, customer: customer() })).json.status, 'known');

    await answered({ answer: 'No.' }, { score: 0.5 });
    assert.deepEqual(await inForce(), [CONFIDENT_DEFAULT, false]);
    await answered({ answer: 'No.' }, { count: 2, score: 1 });
    assert.deepEqual((await confidence()).learned, { threshold: null, earned: false, right: 18, wrong: 3 });
    assert.equal((await find()).confident, false);
    assert.equal((await ask({ question: TITLE, customer: customer() })).json.status, 'asked');
  });

  it('a default that is not earned holds for the same words only, and never for another number or a negation', async () => {
    const almost = `${TITLE} Anyone`;
    await set(0.5);
    for (const q of [TITLE, CLOSE, almost]) assert.equal((await find(q)).confident, true, q);
    for (const q of [`${TITLE} 2`, TITLE.replace('fits', 'never fits')]) {
      assert.equal((await find(q)).confident, false, q);
      await ask({ question: q, customer: customer() });
    }
    // What no threshold allows is no evidence.
    const rows = await deskbell.database.all('select 1 from recognitions');
    assert.equal(rows.length, 0);
    await set('learned');
    await answered({ answer: BODY }, { count: 17, score: 0.95 });
    assert.deepEqual(
      [(await confidence()).learned.earned, (await find(TITLE)).confident, (await find(almost)).confident],
      [false, true, false],
    );
    await answered({ answer: BODY }, { count: 4, score: 0.89 });
    assert.deepEqual([(await confidence()).threshold, (await confidence()).learned.earned], [0.89, true]);
  });

  it('a wording that a person confirmed is the same question, without more evidence', async () => {
    const wording = 'What should I buy to grind beans on a journey?';
    assert.notEqual((await find(wording))?.confident, true);
    const added = await call('POST', `${documentId}/wordings`, { body: { text: wording } });
    assert.equal(added.status, 200);
    assert.equal((await find(wording)).confident, true);
    await call('DELETE', `${documentId}/wordings/${added.json.id}`);
    assert.notEqual((await find(wording))?.confident, true);
  });

  it('lists what was answered without a person, newest first in pages', async () => {
    await askKnown(3);
    const all = await known();
    const [newest] = all.known;
    assert.equal(all.next_cursor, null);
    assert.deepEqual(newest, {
      id: newest.id,
      question: TITLE,
      document: { id: documentId, title: TITLE, body: BODY },
      score: 1,
      outcome: null,
      judged_by: null,
      judged_at: null,
      created_at: newest.created_at,
    });
    const first = await known('?limit=2');
    const second = await known(`?limit=2&cursor=${first.next_cursor}`);
    assert.deepEqual([...first.known, ...second.known], all.known);
    assert.deepEqual([first.known.length, second.next_cursor], [2, null]);
    assertError(await call('GET', 'known?limit=101'), 422, 'VALIDATION_ERROR', 'limit');
    assertError(await call('GET', 'known?cursor=x'), 422, 'VALIDATION_ERROR', 'cursor');
  });

  it('a call that is repeated with its Idempotency-Key is listed once', async () => {
    const body = { question: TITLE, customer: customer() };
    const headers = { 'idempotency-key': 'known-once' };
    for (let n = 0; n < 2; n += 1) assert.equal((await ask(body, { headers })).json.status, 'known');
    assert.equal((await known()).known.length, 1);
  });

  it('people judge known answers, change that and take it back', async () => {
    await askKnown();
    const { id } = (await known()).known[0];
    const wrong = await judge(id, 'wrong');
    assert.equal(wrong.status, 200);
    assert.deepEqual(
      [wrong.json.outcome, wrong.json.judged_by, wrong.json.document.id],
      ['wrong', 'Alma Reyes', documentId],
    );
    assert.deepEqual(await evidence(), { right: 0, wrong: 1 });
    const key = await createKey(deskbell, ['knowledge:write']);
    const right = await judge(id, 'right', { token: key });
    assert.deepEqual([right.json.outcome, typeof right.json.judged_by], ['right', 'string']);
    assert.notEqual(right.json.judged_by, 'Alma Reyes');
    assert.deepEqual(await evidence(), { right: 1, wrong: 0 });
    const undone = await judge(id, null);
    assert.deepEqual([undone.json.outcome, undone.json.judged_by, undone.json.judged_at], [null, null, null]);
    assert.deepEqual([await evidence(), (await known()).known], [{ right: 0, wrong: 0 }, [undone.json]]);
  });

  it('wrong known answers raise the threshold, and undoing them lowers it', async () => {
    await askKnown(2);
    const ids: number[] = (await known()).known.map(({ id }: { id: number }) => id);
    for (const id of ids) await judge(id, 'wrong');
    assert.deepEqual([(await confidence()).threshold, (await find()).confident], [null, false]);
    await judge(ids[0]!, null);
    assert.deepEqual([(await confidence()).threshold, (await find()).confident], [CONFIDENT_DEFAULT, true]);
  });

  it('refuses what is not a judgement, or not of a known answer', async () => {
    await askKnown();
    await raise();
    const { id } = (await known()).known[0];
    assertError(await judge(id, 'maybe'), 422, 'VALIDATION_ERROR', 'outcome');
    assertError(await call('PUT', `known/${id}/outcome`, { body: {} }), 422, 'VALIDATION_ERROR', 'outcome');
    const [asked] = await deskbell.database.all<{ id: number }>(
      `select id from recognitions where kind = 'asked'`,
    );
    for (const other of [asked!.id, 999_999, 'x', '1e3', -1]) {
      assertError(await judge(other, 'right'), 404, 'KNOWN_ANSWER_NOT_FOUND');
    }
    assert.deepEqual(await evidence(), { right: 0, wrong: 0 });
  });

  it('an owner switches it off or sets an own threshold', async () => {
    assert.deepEqual((await set('off')).json.confident, 'off');
    assert.deepEqual([(await confidence()).threshold, (await find()).confident], [null, false]);
    assert.equal((await ask({ question: TITLE, customer: customer() })).json.status, 'asked');

    const { score } = await find(CLOSE);
    await set(score);
    assert.deepEqual([(await confidence()).setting, (await find(CLOSE)).confident], [score, true]);
    await set(score + 0.001);
    assert.equal((await find(CLOSE)).confident, false);
    for (const wrong of [0.49, 1.01, 'on', '0.8', null, true]) {
      assertError(await set(wrong), 422, 'VALIDATION_ERROR', 'confident');
    }
    assert.equal((await confidence()).setting, score + 0.001);
  });

  it('an owner resets what was learned, and takes that back', async () => {
    await askKnown(2);
    for (const { id } of (await known()).known) await judge(id, 'wrong');
    await deskbell.clock.advance(1);
    deskbell.clock.stop();
    const reset = await call('PUT', 'confidence/reset');
    assert.deepEqual(
      [reset.status, reset.json.threshold, reset.json.learned.wrong],
      [200, CONFIDENT_DEFAULT, 0],
    );
    assert.equal(reset.json.reset_at, deskbell.clock.now().toISOString());
    assert.equal((await find()).confident, true);
    deskbell.clock.go();
    await deskbell.clock.advance(1);
    await judge((await known()).known[0].id, 'right');
    assert.deepEqual(await evidence(), { right: 1, wrong: 0 });
    const restored = await call('DELETE', 'confidence/reset');
    assert.deepEqual([restored.json.reset_at, restored.json.learned.wrong], [null, 1]);
    const audit = await deskbell.call('GET', '/api/v1/audit', { token: tokens.aurora });
    const names = audit.json.map(({ what }: { what: string }) => what);
    assert.ok(names.includes('confidence.reset') && names.includes('confidence.restored'));
  });

  it('scopes and roles decide who reads, judges and resets', async () => {
    await askKnown();
    const { id } = (await known()).known[0];
    const reader = await createKey(deskbell, ['knowledge:read']);
    assert.equal((await call('GET', 'known', { token: reader })).status, 200);
    assert.equal((await call('GET', 'confidence', { token: reader })).status, 200);
    assertError(await judge(id, 'right', { token: reader }), 403, 'INSUFFICIENT_SCOPE');
    const writer = await createKey(deskbell, ['knowledge:write']);
    assertError(await call('GET', 'known', { token: writer }), 403, 'INSUFFICIENT_SCOPE');
    const staff = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [staff.id]);
    const token = await deskbell.signIn(staff.email, staff.password);
    assert.equal((await judge(id, 'right', { token })).status, 200);
    for (const method of ['PUT', 'DELETE']) {
      assertError(await call(method, 'confidence/reset', { token }), 403, 'FORBIDDEN');
      assertError(await call(method, 'confidence/reset', { token: writer }), 403, 'INSUFFICIENT_SCOPE');
    }
    assertError(await set('off', { token }), 403, 'FORBIDDEN');
    for (const path of ['known', 'confidence']) {
      assertError(await call('GET', path, { token: undefined }), 401, 'INVALID_TOKEN');
    }
  });

  it('another merchant’s answers are neither seen, judged nor counted', async () => {
    await askKnown(2);
    const ids: number[] = (await known()).known.map(({ id }: { id: number }) => id);
    for (const token of [tokens.borealis, borealisKey]) {
      assert.deepEqual(await known('', { token }), { known: [], next_cursor: null });
      assertError(await judge(ids[0]!, 'wrong', { token }), 404, 'KNOWN_ANSWER_NOT_FOUND');
    }
    assert.ok((await known()).known.every(({ outcome }: { outcome: unknown }) => outcome === null));
    for (const id of ids) await judge(id, 'wrong');
    await askKnown(1, { token: borealisKey });
    const theirs = await known('', { token: borealisKey });
    assert.equal(theirs.known.length, 1);
    await judge(theirs.known[0].id, 'right', { token: borealisKey });
    const { threshold, learned } = await confidence({ token: borealisKey });
    assert.deepEqual([threshold, learned.right, learned.wrong], [CONFIDENT_DEFAULT, 1, 0]);
    await call('PUT', 'confidence/reset', { token: tokens.borealis });
    assert.deepEqual((await confidence()).learned, { threshold: null, earned: false, right: 0, wrong: 2 });
    await set('off');
    assert.equal((await confidence({ token: borealisKey })).setting, 'learned');
  });

  it('another process learns the same at once', async () => {
    await askKnown(2);
    const other = await import('../../../src/knowledge/confidence/confidence.ts');
    const elsewhere = other.createConfidence(deskbell.database);
    assert.equal((await elsewhere.read(AURORA_ID)).threshold, CONFIDENT_DEFAULT);
    for (const { id } of (await known()).known) await judge(id, 'wrong');
    assert.equal((await elsewhere.read(AURORA_ID)).threshold, null);
  });

  it('an answer without an ask runs no statement for it, and a find below every threshold reads none', async () => {
    const { database } = deskbell;
    const { one } = database;
    const read: string[] = [];
    database.one = (sql, params) => {
      read.push(sql);
      return one(sql, params);
    };
    try {
      const body = { ...QUESTION, context: { question: TITLE } };
      const address = await raiseOne(deskbell, tokens.aurora, body);
      const replied = await deskbell.call('POST', `${address}/answer`, {
        token: tokens.aurora,
        body: { answer: BODY },
      });
      assert.equal(replied.status, 200);
      await forgetLessons();
      await find('Zxqv wjkp?');
      assert.deepEqual(
        read.filter((sql) => /recognitions|confidence/.test(sql)),
        [],
      );
      await find();
      assert.equal(read.filter((sql) => /from confidence/.test(sql)).length, 1);
    } finally {
      database.one = one;
    }
  });

  it('a deleted document leaves its evidence and the list', async () => {
    const other = await make({ question: 'Will the red kettle whistle loudly?', answer: 'Yes.' });
    await ask({ question: 'Will the red kettle whistle loudly?', customer: customer() });
    const { id } = (await known()).known[0];
    await judge(id, 'right');
    await call('DELETE', String(other));
    assert.deepEqual((await known()).known[0].document, { id: other, title: null, body: null });
    assert.deepEqual(await evidence(), { right: 1, wrong: 0 });
  });
});
