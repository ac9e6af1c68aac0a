import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ASK } from '../../support/asking.ts';
import { useHeld } from '../../support/holding.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, onEachEngine, startSecondServer } from '../../support/server.ts';

onEachEngine('reopening a notification', (engine) => {
  const held = useHeld(engine);
  const { deskbell, tokens, call, ask, answer, hold, reopen, show, release, eventsOf } = held;
  const resolve = (id: number, more: object = {}) =>
    call('POST', `${id}/answer`, { body: { resolve_only: true, ...more } });

  it('works at any time if it was resolved without a reply', async () => {
    const id = await ask();
    await resolve(id);
    deskbell.clock.jump(120);
    assert.deepEqual((await reopen(id)).json, { message: 'Notification reopened.' });
    const shown = await show(id);
    assert.deepEqual([shown.status, shown.answer, shown.outcome], ['requested', null, null]);
    assert.equal(shown.updated_at, deskbell.clock.now().toISOString());
    assert.deepEqual(await eventsOf(id), [
      'notification.requested',
      'notification.resolved',
      'notification.reopened',
    ]);
    assert.equal((await answer(id)).status, 200);
    assert.equal(await held.messagesOf(id), 1);
  });

  it('is refused for one that is pending, answered, cancelled or missing', async () => {
    const id = await ask();
    assertError(await reopen(id), 409, 'CONFLICT');
    await answer(id);
    assertError(await reopen(id), 409, 'TOO_LATE');
    for (const missing of ['987654321', 'abc', '0'])
      assertError(await call('POST', `${missing}/reopen`), 404, 'NOTIFICATION_NOT_FOUND');
    const key = await createKey(deskbell);
    const body = { question: 'Who cancels?', customer: { phone: '+34611770055' } };
    const asked = (await deskbell.call('POST', ASK, { token: key, body })).json.id;
    await deskbell.call('DELETE', `${ASK}/${asked}`, { token: key });
    assertError(await reopen(asked), 409, 'CONFLICT');
    assert.equal((await show(asked)).outcome, 'resolved');
  });

  it('is not possible for another merchant: its notification is like a missing one', async () => {
    const resolved = await ask();
    await resolve(resolved);
    const waiting = await ask();
    await hold(waiting);
    const missing = (await call('POST', '987654321/reopen', { token: tokens.borealis })).text;
    for (const id of [resolved, waiting]) {
      const refused = await reopen(id, { token: tokens.borealis });
      assert.deepEqual([refused.status, refused.text], [404, missing]);
      assert.equal((await show(id)).status, 'answered');
      const many = await call('POST', 'reopen-many', { token: tokens.borealis, body: { ids: [id] } });
      assert.equal(many.json.results[0].code, 'NOTIFICATION_NOT_FOUND');
      const teaching = await call('GET', `${id}/teaching`, { token: tokens.borealis });
      assert.deepEqual([teaching.status, teaching.text], [404, missing]);
    }
    await release(waiting);
    assert.equal(await held.messagesOf(waiting), 1);
  });

  it('lets its ask wait again, which is then answered', async () => {
    const key = await createKey(deskbell);
    const body = { question: 'Does the ask wait again?', customer: { phone: '+34611770066' } };
    const { id } = (await deskbell.call('POST', ASK, { token: key, body })).json;
    const state = async () => (await deskbell.call('GET', `${ASK}/${id}`, { token: key })).json;
    await resolve(id);
    assert.equal((await state()).status, 'resolved');
    await reopen(id);
    assert.equal((await state()).status, 'waiting');
    await answer(id, { answer: 'It does.' });
    const ended = await state();
    assert.deepEqual([ended.status, ended.answer], ['answered', 'It does.']);
  });

  it('leaves the ask as it is if the customer has asked the same again', async () => {
    const key = await createKey(deskbell);
    const body = { question: 'Is it asked twice?', customer: { phone: '+34611770077' } };
    const asked = async () => (await deskbell.call('POST', ASK, { token: key, body })).json.id;
    const first = await asked();
    await resolve(first);
    const second = await asked();
    assert.notEqual(second, first);
    assert.equal((await reopen(first)).status, 200);
    const state = async (id: number) =>
      (await deskbell.call('GET', `${ASK}/${id}`, { token: key })).json.status;
    assert.deepEqual([await state(first), await state(second)], ['resolved', 'waiting']);
    assert.equal((await show(first)).status, 'requested');
  });

  it('needs the scope to answer', async () => {
    const id = await ask();
    await resolve(id);
    const reader = await createKey(deskbell, ['notifications:read']);
    assertError(await reopen(id, { token: reader }), 403, 'INSUFFICIENT_SCOPE');
    const answering = await createKey(deskbell, ['answer']);
    assert.equal((await reopen(id, { token: answering })).status, 200);
  });

  it('is won by one of many calls at the same time', async () => {
    for (const undo_seconds of [0, 5]) {
      const id = await ask();
      await resolve(id, { undo_seconds });
      const replies = await Promise.all(Array.from({ length: 5 }, () => reopen(id)));
      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
      for (const { status, json } of replies)
        if (status === 409)
          assert.equal(json.detail, 'This notification is pending: there is nothing to reopen.');
      const reopened = (await eventsOf(id)).filter((type) => type === 'notification.reopened');
      assert.equal(reopened.length, undo_seconds === 0 ? 1 : 0);
    }
  });

  it('tells answered and resolved notifications apart in the statistics, and counts neither after it', async () => {
    const read = async () => {
      const { json } = await deskbell.call('GET', '/api/v1/overview?days=1', { token: tokens.aurora });
      const { answered_per_day: a, resolved_per_day: r, resolved, by_type } = json;
      return [a[0].count, by_type.user_question_request, r[0].count, resolved];
    };
    const [answered, questions, day, all] = await read();
    const ids = [await ask(), await ask(), await ask()];
    await resolve(ids[0]!);
    await resolve(ids[1]!, { undo_seconds: 5 });
    await hold(ids[2]!);
    assert.deepEqual(await read(), [answered + 1, questions + 1, day + 2, all + 2]);
    for (const id of ids) await reopen(id);
    assert.deepEqual(await read(), [answered, questions, day, all]);
  });

  if (engine === 'postgres') {
    it('and sending are one or the other, with several servers on one database', async () => {
      const second = await startSecondServer(deskbell);
      try {
        second.clock.stop();
        const ids: number[] = [];
        for (let n = 0; n < 20; n += 1) ids.push(await ask(`On two servers ${n}?`));
        for (const id of ids) await hold(id, { answer: `From one of two ${id}.` });
        deskbell.clock.jump(6);
        second.clock.jump(600);
        const replies = await Promise.all(ids.map((id) => reopen(id)));
        await release(...ids);
        for (const [n, id] of ids.entries()) {
          const expected = replies[n]!.status === 200 ? [0, 0] : [1, 1];
          const documents = await held.documentsWith(`From one of two ${id}.`);
          assert.deepEqual([await held.messagesOf(id), documents], expected);
        }
      } finally {
        await second.close();
      }
    });
  }
});
