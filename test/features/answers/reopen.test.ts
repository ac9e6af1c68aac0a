import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useHeld } from '../../support/holding.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

onEachEngine('reopening a notification', (engine) => {
  const { shop, ask, answer, reopen, show, eventsOf, messagesOf } = useHeld(engine);
  const other = useMerchant(engine);
  const resolve = (id: number, more: object = {}) => shop.answer(id, { resolve_only: true, ...more });
  const resolved = async (): Promise<number> => {
    const id = await ask();
    await resolve(id);
    return id;
  };
  /** Asks like an assistant, and returns the id and a function that reads the state. */
  const asAssistant = async (question: string) => {
    const body = { question, customer: { phone: '+34611770055' } };
    const { id } = (await shop.post('/ask', body)).json as { id: number };
    return { id, state: async () => (await shop.get(`/ask/${id}`)).json };
  };

  it('works at any time if it was resolved without a reply', async () => {
    const id = await resolved();
    shop.deskbell.clock.jump(120);
    assert.deepEqual((await reopen(id)).json, { message: 'Notification reopened.' });
    const shown = await show(id);
    assert.deepEqual([shown.status, shown.answer, shown.outcome], ['requested', null, null]);
    assert.equal(shown.updated_at, shop.deskbell.clock.now().toISOString());
    assert.deepEqual(await eventsOf(id), [
      ...['notification.requested', 'notification.resolved', 'notification.reopened'],
    ]);
    assert.equal((await answer(id)).status, 200);
    assert.equal(await messagesOf(id), 1);
  });

  it('is refused for one that is pending, answered, cancelled or missing', async () => {
    const id = await ask();
    assertError(await reopen(id), 409, 'CONFLICT');
    await answer(id);
    assertError(await reopen(id), 409, 'TOO_LATE');
    assertError(await reopen(987_654_321), 404, 'NOTIFICATION_NOT_FOUND');
    const cancelled = await asAssistant('Who cancels?');
    await shop.delete(`/ask/${cancelled.id}`);
    assertError(await reopen(cancelled.id), 409, 'CONFLICT');
    assert.equal((await show(cancelled.id)).outcome, 'resolved');
  });

  it('is not possible for another merchant: its notification is like a missing one', async () => {
    const id = await resolved();
    assertError(await other.post(`/notification/${id}/reopen`), 404, 'NOTIFICATION_NOT_FOUND');
    assertError(await other.get(`/notification/${id}/teaching`), 404, 'NOTIFICATION_NOT_FOUND');
    const many = await other.post('/notification/reopen-many', { ids: [id] });
    assert.equal(many.json.results[0].code, 'NOTIFICATION_NOT_FOUND');
    assert.equal((await show(id)).status, 'answered');
  });

  it('lets its ask wait again, which is then answered', async () => {
    const { id, state } = await asAssistant('Does the ask wait again?');
    await resolve(id);
    assert.equal((await state()).status, 'resolved');
    await reopen(id);
    assert.equal((await state()).status, 'waiting');
    await answer(id, { answer: 'It does.' });
    const ended = await state();
    assert.deepEqual([ended.status, ended.answer], ['answered', 'It does.']);
  });

  it('leaves the ask as it is if the customer has asked the same again', async () => {
    const first = await asAssistant('Is it asked twice?');
    await resolve(first.id);
    const second = await asAssistant('Is it asked twice?');
    assert.notEqual(second.id, first.id);
    assert.equal((await reopen(first.id)).status, 200);
    assert.deepEqual([(await first.state()).status, (await second.state()).status], ['resolved', 'waiting']);
    assert.equal((await show(first.id)).status, 'requested');
  });

  it('is won by one of many calls at the same time', async () => {
    for (const undo_seconds of [0, 5]) {
      const id = await ask();
      await resolve(id, { undo_seconds });
      const replies = await Promise.all(Array.from({ length: 5 }, () => reopen(id)));
      const refused = replies.filter(({ status }) => status === 409);
      assert.equal(refused.length, 4);
      for (const { json } of refused)
        assert.equal(json.detail, 'This notification is pending: there is nothing to reopen.');
      const reopened = (await eventsOf(id)).filter((type) => type === 'notification.reopened');
      assert.equal(reopened.length, undo_seconds === 0 ? 1 : 0);
    }
  });
});
