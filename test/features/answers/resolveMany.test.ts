import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { useHeld } from '../../support/holding.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

const RESOLVED = 'Notification resolved without a reply.';

onEachEngine('many notifications', (engine) => {
  const held = useHeld(engine);
  const { deskbell, tokens, call, ask, answer, hold, show, release } = held;
  const { count, messagesOf, documentsWith, eventsOf } = held;
  const askMany = async (count: number) => {
    const ids: number[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await ask(`Number ${'x'.repeat(n)}?`));
    return ids;
  };
  const many = (what: string, body: object, options = {}) => call('POST', what, { body, ...options });

  it('are resolved without a reply, each by itself', async () => {
    const [first, second, third] = await askMany(3);
    await answer(second!);
    const { status, json } = await many('resolve-many', { ids: [first, second, 987_654_321, third] });
    assert.equal(status, 200);
    assert.deepEqual(json.results, [
      { id: first, status: 'resolved', message: RESOLVED },
      {
        id: second,
        status: 'refused',
        message: 'This notification has already been answered and cannot be answered again.',
        code: 'ALREADY_ANSWERED',
      },
      {
        id: 987_654_321,
        status: 'refused',
        message: 'Notification not found.',
        code: 'NOTIFICATION_NOT_FOUND',
      },
      { id: third, status: 'resolved', message: RESOLVED },
    ]);
    const shown = await show(first!);
    assert.deepEqual(
      [shown.outcome, shown.answered_by, await messagesOf(first!)],
      ['resolved', 'Alma Reyes', 0],
    );
    assert.deepEqual(await eventsOf(first!), ['notification.requested', 'notification.resolved']);
  });

  it('can be undone for some seconds, and are reopened together', async () => {
    const ids = await askMany(3);
    const { json } = await many('resolve-many', { ids, undo_seconds: 5 });
    assert.equal(json.results[0].message, `${RESOLVED} This can be undone for 5 seconds.`);
    const reopened = await many('reopen-many', { ids: [...ids.slice(0, 2), 987_654_321] });
    assert.deepEqual(reopened.json.results, [
      ...ids.slice(0, 2).map((id) => ({ id, status: 'reopened', message: 'Notification reopened.' })),
      {
        id: 987_654_321,
        status: 'refused',
        message: 'Notification not found.',
        code: 'NOTIFICATION_NOT_FOUND',
      },
    ]);
    await release(ids[2]!);
    assert.deepEqual(await Promise.all(ids.map(eventsOf)), [
      ['notification.requested'],
      ['notification.requested'],
      ['notification.requested', 'notification.resolved'],
    ]);
    const again = await many('reopen-many', { ids });
    assert.deepEqual(
      again.json.results.map(({ status }: { status: string }) => status),
      ['refused', 'refused', 'reopened'],
    );
  });

  it('get one answer that can be undone: each customer gets it once, and one document learns it', async () => {
    const ids = await askMany(4);
    const { json } = await many('answer-many', { ids, answer: 'All of them.', undo_seconds: 5 });
    assert.equal(json.document_id, null);
    assert.equal(json.results[0].message, 'Notification answered. The message will be sent in 5 seconds.');
    await many('reopen-many', { ids: ids.slice(0, 1) });
    assert.equal(await documentsWith('All of them.'), 0);
    await release(...ids);
    assert.deepEqual(await Promise.all(ids.map(messagesOf)), [0, 1, 1, 1]);
    assert.equal(await documentsWith('All of them.'), 1);
    const lessons = await Promise.all(ids.slice(1).map(async (id) => (await show(id)).lesson));
    assert.deepEqual(lessons.map((lesson) => lesson.do).sort(), ['new', 'wording', 'wording']);
    assert.equal(new Set(lessons.map((lesson) => lesson.document_id)).size, 1);
  });

  it('are replayed for the same Idempotency-Key', async () => {
    const ids = await askMany(2);
    const options = { headers: { 'idempotency-key': randomUUID() } };
    const first = await many('resolve-many', { ids }, options);
    const again = await many('resolve-many', { ids }, options);
    assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [first.text, 'true']);
    const other = { headers: { 'idempotency-key': randomUUID() } };
    const reopened = await many('reopen-many', { ids }, other);
    assert.equal((await many('reopen-many', { ids }, other)).text, reopened.text);
  });

  it('are deleted, each by itself, with what was not sent yet, and it is written down who did it', async () => {
    const [first, second, third] = await askMany(3);
    await hold(first!);
    await answer(second!);
    const { status, json } = await many('delete-many', { ids: [first, 987_654_321, second] });
    assert.equal(status, 200);
    assert.deepEqual(json.results, [
      { id: first, status: 'deleted', message: 'Notification deleted.' },
      {
        id: 987_654_321,
        status: 'refused',
        message: 'Notification not found.',
        code: 'NOTIFICATION_NOT_FOUND',
      },
      { id: second, status: 'deleted', message: 'Notification deleted.' },
    ]);
    for (const id of [first, second]) assertError(await call('GET', `${id}`), 404, 'NOTIFICATION_NOT_FOUND');
    assert.equal((await show(third!)).status, 'requested');
    await hold(third!);
    await release(third!);
    assert.deepEqual(await Promise.all([first!, third!].map(messagesOf)), [0, 1]);
    assert.deepEqual(await eventsOf(first!), ['notification.requested', 'notification.deleted']);
    for (const id of [first, second])
      assert.equal(
        await count("audit_events where what = 'notification.deleted' and about like $1", `%:${id}}`),
        1,
      );
  });

  it('are 1 to 100 different ids', async () => {
    for (const what of ['resolve-many', 'reopen-many', 'delete-many']) {
      for (const ids of [
        undefined,
        null,
        [],
        'x',
        [1, 1],
        ['1'],
        [0],
        Array.from({ length: 101 }, (_, n) => n + 1),
      ])
        assertError(await many(what, { ids }), 422, 'VALIDATION_ERROR', 'ids');
      assertError(await call('POST', what, { body: '[]' }), 422, 'VALIDATION_ERROR', 'body');
    }
    for (const what of ['resolve-many', 'answer-many'])
      for (const undo_seconds of [-1, 61, '5', 1.5]) {
        const body = { ids: [1], answer: 'Yes.', undo_seconds };
        assertError(await many(what, body), 422, 'VALIDATION_ERROR', 'undo_seconds');
      }
  });

  it('need the scope to answer, and belong to the caller’s merchant', async () => {
    const [id] = await askMany(1);
    const reader = await createKey(deskbell, ['notifications:read']);
    for (const what of ['resolve-many', 'reopen-many', 'delete-many'])
      assertError(await many(what, { ids: [id] }, { token: reader }), 403, 'INSUFFICIENT_SCOPE');
    const foreign = await many('resolve-many', { ids: [id] }, { token: tokens.borealis });
    assert.equal(foreign.json.results[0].code, 'NOTIFICATION_NOT_FOUND');
    const deleted = await many('delete-many', { ids: [id] }, { token: tokens.borealis });
    assert.equal(deleted.text, foreign.text);
    assert.equal((await show(id!)).status, 'requested');
  });
});
