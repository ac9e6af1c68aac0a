import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useHeld } from '../../support/holding.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

const RESOLVED = 'Notification resolved without a reply.';
const ABSENT = 987_654_321;
const MISSING = {
  ...{ id: ABSENT, status: 'refused', message: 'Notification not found.', code: 'NOTIFICATION_NOT_FOUND' },
};

onEachEngine('many notifications', (engine) => {
  const held = useHeld(engine);
  const { shop, ask, answer, hold, many, show, release } = held;
  const { count, messagesOf, documentsWith, eventsOf } = held;
  const other = useMerchant(engine);
  const askMany = async (count: number) => {
    const ids: number[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await ask(`Number ${'x'.repeat(n)}?`));
    return ids as [number, number, number, number];
  };

  it('are resolved without a reply, each by itself', async () => {
    const [first, second, third] = await askMany(3);
    await answer(second);
    const theirs = (await other.post('/notification/resolve-many', { ids: [first] })).json.results[0];
    assert.equal(theirs.code, 'NOTIFICATION_NOT_FOUND');
    const { status, json } = await many('resolve', { ids: [first, second, ABSENT, third] });
    assert.equal(status, 200);
    const message = 'This notification has already been answered and cannot be answered again.';
    assert.deepEqual(json.results, [
      { id: first, status: 'resolved', message: RESOLVED },
      { id: second, status: 'refused', message, code: 'ALREADY_ANSWERED' },
      MISSING,
      { id: third, status: 'resolved', message: RESOLVED },
    ]);
    const { outcome, answered_by } = await show(first);
    assert.deepEqual([outcome, answered_by, await messagesOf(first)], ['resolved', 'Olga Owner', 0]);
    assert.deepEqual(await eventsOf(first), ['notification.requested', 'notification.resolved']);
  });

  it('can be undone for some seconds, and are reopened together', async () => {
    const [first, second, third] = await askMany(3);
    const ids = [first, second, third];
    const { json } = await many('resolve', { ids, undo_seconds: 5 });
    assert.equal(json.results[0].message, `${RESOLVED} This can be undone for 5 seconds.`);
    const reopened = await many('reopen', { ids: [first, second, ABSENT] });
    assert.deepEqual(reopened.json.results, [
      ...[first, second].map((id) => ({ id, status: 'reopened', message: 'Notification reopened.' })),
      MISSING,
    ]);
    await release(third);
    assert.deepEqual(await Promise.all(ids.map(eventsOf)), [
      ['notification.requested'],
      ['notification.requested'],
      ['notification.requested', 'notification.resolved'],
    ]);
    const again = (await many('reopen', { ids })).json.results;
    const statuses = again.map(({ status }: { status: string }) => status);
    assert.deepEqual(statuses, ['refused', 'refused', 'reopened']);
  });

  it('get one answer that can be undone: each customer gets it once, and one document learns it', async () => {
    const ids = await askMany(4);
    const { json } = await many('answer', { ids, answer: 'All of them.', undo_seconds: 5 });
    assert.equal(json.document_id, null);
    assert.equal(json.results[0].message, 'Notification answered. The message will be sent in 5 seconds.');
    await many('reopen', { ids: ids.slice(0, 1) });
    assert.equal(await documentsWith('All of them.'), 0);
    await release(...ids);
    assert.deepEqual(await Promise.all(ids.map(messagesOf)), [0, 1, 1, 1]);
    assert.equal(await documentsWith('All of them.'), 1);
    const lessons = await Promise.all(ids.slice(1).map(async (id) => (await show(id)).lesson));
    assert.deepEqual(lessons.map((lesson) => lesson.do).sort(), ['new', 'wording', 'wording']);
    assert.equal(new Set(lessons.map((lesson) => lesson.document_id)).size, 1);
  });

  it('are deleted, each by itself, with what was not sent yet, and it is written down who did it', async () => {
    const [first, second, third] = await askMany(3);
    await hold(first);
    await answer(second);
    const { json } = await many('delete', { ids: [first, ABSENT, second] });
    const deleted = { status: 'deleted', message: 'Notification deleted.' };
    assert.deepEqual(json.results, [{ id: first, ...deleted }, MISSING, { id: second, ...deleted }]);
    for (const id of [first, second])
      assertError(await shop.get(`/notification/${id}`), 404, 'NOTIFICATION_NOT_FOUND');
    assert.equal((await show(third)).status, 'requested');
    await hold(third);
    await release(third);
    assert.deepEqual(await Promise.all([first, third].map(messagesOf)), [0, 1]);
    assert.deepEqual(await eventsOf(first), ['notification.requested', 'notification.deleted']);
    for (const id of [first, second])
      assert.equal(
        await count("audit_events where what = 'notification.deleted' and about like $1", `%:${id}}`),
        1,
      );
  });
});

describe('a request to change many', () => {
  const { many } = useHeld('sqlite');

  it('has 1 to 100 different ids', async () => {
    const all = Array.from({ length: 101 }, (_, n) => n + 1);
    const wrong = [undefined, [], 1, [1, 1], ['1'], [0], [1.5], all];
    for (const what of ['resolve', 'reopen', 'delete', 'answer', 'assign'])
      for (const ids of wrong)
        assertError(await many(what, { ids, answer: 'Yes.', user_id: null }), 422, 'VALIDATION_ERROR', 'ids');
    for (const what of ['resolve', 'reopen', 'delete', 'answer'])
      assertError(await many(what, '[]'), 422, 'VALIDATION_ERROR', 'body');
    for (const what of ['resolve', 'answer'])
      for (const undo_seconds of [-1, 61, '5', 1.5]) {
        const body = { ids: [1], answer: 'Yes.', undo_seconds };
        assertError(await many(what, body), 422, 'VALIDATION_ERROR', 'undo_seconds');
      }
  });
});
