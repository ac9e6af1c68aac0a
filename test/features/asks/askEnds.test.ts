import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { waitsArrive } from '../../support/arrivals.ts';
import { useAsksOf } from '../../support/asking.ts';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import {
  assertError,
  NOTIFICATIONS,
  onEachEngine,
  startDeskbell,
  startSecondServer,
} from '../../support/server.ts';
import { until, untilSomebodyWaits } from '../../support/shops.ts';

onEachEngine('the end of an ask', (engine) => {
  const shop = useMerchant(engine);
  const { asKey, ask, get, cancel, customer, question } = useAsksOf(shop);
  const raise = async (more: object = {}) =>
    (await ask({ question: question(), customer: customer(), ...more })).json;
  /** Calls that wait for these, as soon as all have arrived. */
  const wait = async (...ids: number[]) => {
    const arrived = waitsArrive(ids.length);
    const waiting = ids.map((id) => get(id, '?wait=30'));
    await arrived;
    return { ended: () => Promise.all(waiting).then((replies) => replies.map(({ json }) => json)) };
  };
  const eventsOf = async (ids: readonly number[]) =>
    (await shop.get('/events/log?after=0&limit=500')).json.events.filter(
      ({ data }: { data: { notification_id: number } }) => ids.includes(data.notification_id),
    ) as { type: string; data: { notification_id: number } }[];
  const cleanUpAfter = (days: number) => {
    const { database, config, clock } = shop.deskbell;
    const retentionDays = { ...config.retentionDays, notifications: 1, deliveries: 1 };
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const at = new Date(clock.now().getTime() + days * 24 * 60 * 60_000);
    return cleanUp(database, { ...config, retentionDays }, log, at);
  };

  it('a call that waits gets the answer as soon as there is one', async () => {
    const body = { question: question(), customer: customer(), wait_seconds: 30 };
    const waiting = ask(body);
    let open: { id: number; question: string }[] = [];
    await until('it is raised', async () => {
      open = (await asKey('/ask')).json.asks.filter((one: typeof body) => one.question === body.question);
      return open.length > 0;
    });
    const polling = get(open[0]!.id, '?wait=30');
    await shop.answer(open[0]!.id, 'Now.');
    for (const { json } of await Promise.all([waiting, polling]))
      assert.deepEqual([json.status, json.answer], ['answered', 'Now.']);
    assert.equal((await get(open[0]!.id, '?wait=30')).json.status, 'answered');
  });

  it('resolved, deleted and cancelled are different ends, and the outcome stays when the notification is gone', async () => {
    const [resolved, deleted, cancelled] = [(await raise()).id, (await raise()).id, (await raise()).id];
    const waiting = await wait(resolved, deleted, cancelled);
    await shop.answer(resolved, { resolve_only: true });
    await shop.delete(`/notification/${deleted}`);
    for (let times = 0; times < 2; times += 1) {
      const { status, json } = await cancel(cancelled);
      assert.deepEqual([status, json.status], [200, 'cancelled']);
    }
    const ends = await waiting.ended();
    const statuses = ends.map(({ status }) => status);
    assert.deepEqual(statuses, ['resolved', 'deleted', 'cancelled']);
    assert.deepEqual([ends[0].resolved_by, typeof ends[1].deleted_at], ['Olga Owner', 'string']);
    for (const id of [resolved, deleted]) assertError(await cancel(id), 409, 'CONFLICT');

    // The merchant sees why it is gone.
    const shown = (await shop.get(`/notification/${cancelled}`)).json;
    assert.deepEqual([shown.status, shown.answer, shown.delivery], ['answered', { cancelled: true }, null]);
    const [event] = (await shop.get('/audit?what=notification.cancelled')).json;
    assert.deepEqual([event.who.name, event.about.notification_id], ['Test key', cancelled]);
    await shop.delete(`/notification/${cancelled}`);
    assert.equal((await get(cancelled)).json.status, 'cancelled');
  });

  it('an ask expires at its time, stays in the inbox, and a late answer still reaches the customer', async () => {
    const { id, expires_at } = await raise({ expires_in_seconds: 600 });
    const waiting = await wait(id);
    await shop.deskbell.clock.advance(601);
    const [expired] = await waiting.ended();
    assert.deepEqual([expired.status, expired.expired_at], ['expired', expires_at]);
    const pending = (await shop.get('/notification/?status=requested')).json;
    assert.ok(pending.some((one: { id: number }) => one.id === id));

    await shop.answer(id);
    await shop.deskbell.allSent();
    const late = (await get(id)).json;
    assert.deepEqual([late.status, late.late, late.delivery.state], ['answered', true, 'delivered']);
  });

  it('an ask does not expire if it is asked again at that moment', async () => {
    const { database, clock } = shop.deskbell;
    const { id } = await raise({ expires_in_seconds: 60 });
    await shop.deskbell.allSent();
    let looking: Promise<unknown> | undefined;
    await database.transaction(async (tx) => {
      await tx.run(`update asks set expires_at = '2099-01-01T00:00:00.000Z' where id = $1`, [id]);
      // Not before its row is locked: the server looks every second, and would expire it.
      clock.jump(61);
      looking = get(id);
      if (engine === 'postgres') await untilSomebodyWaits(database, tx);
    });
    await looking;
    assert.equal((await get(id)).json.status, 'waiting');
    const types = (await eventsOf([id])).map(({ type }) => type);
    assert.deepEqual(types, ['notification.requested']);
  });

  it('asking again after the expiry waits again for the same notification', async () => {
    const body = { question: question(), customer: customer(), expires_in_seconds: 60 };
    const first = await raise(body);
    await shop.deskbell.clock.advance(61);
    assert.equal((await get(first.id)).json.status, 'expired');
    const second = await raise(body);
    assert.deepEqual([second.status, second.id, second.duplicate], ['asked', first.id, true]);
    assert.ok(second.expires_at > first.expires_at);
    const { updated_at } = (await shop.get(`/notification/${first.id}`)).json;
    assert.ok(updated_at > first.expires_at, 'the inbox has to show that it waits again');
  });

  it('a wait ends when its key is revoked', async () => {
    const created = (await shop.post('/keys', { name: 'Soon gone' })).json;
    const { id } = await raise();
    const arrived = waitsArrive();
    const waiting = get(id, '?wait=40', { token: created.key });
    await arrived;
    // When this is read, the other has been read, too.
    await get(id, '', { token: created.key });
    await shop.delete(`/keys/${created.id}`);
    const ended = await waiting;
    assertError(ended, 401, 'INVALID_TOKEN');
    assert.equal(ended.json.detail, 'This key is wrong or was revoked.');
  });

  it('an outcome is kept for 30 days, also if the notification is gone; what waits is kept longer', async () => {
    const [waiting, deleted, answered] = [(await raise()).id, (await raise()).id, (await raise()).id];
    const expired = (await raise({ expires_in_seconds: 60 })).id;
    for (const id of [deleted, answered]) await shop.answer(id, 'Yes, on Fridays.');
    await shop.deskbell.clock.advance(61);
    assert.equal((await shop.delete(`/notification/${deleted}`)).status, 200);
    await cleanUpAfter(29);
    assert.equal((await shop.get(`/notification/${answered}`)).status, 404);
    for (const id of [deleted, answered]) {
      const kept = (await get(id)).json;
      assert.deepEqual([kept.status, kept.answer], ['answered', 'Yes, on Fridays.']);
    }
    await cleanUpAfter(31);
    for (const id of [deleted, answered]) assertError(await get(id), 404, 'ASK_NOT_FOUND');
    for (const [id, status] of [
      [waiting, 'waiting'],
      [expired, 'expired'],
    ])
      assert.equal((await get(id)).json.status, status);
  });

  if (engine === 'postgres')
    it('the merchant may answer at another server', async () => {
      const second = await startSecondServer(shop.deskbell);
      try {
        const { id } = await raise();
        const waiting = await wait(id);
        const options = { token: await shop.token(), body: { answer: 'At this one.' } };
        await second.call('POST', `${NOTIFICATIONS}/${id}/answer`, options);
        assert.equal((await waiting.ended())[0].answer, 'At this one.');
      } finally {
        await second.close();
      }
    });
});

describe('waiting for an answer', () => {
  it('ends when the server stops', async () => {
    const deskbell = await startDeskbell('sqlite');
    try {
      const { ask, get, customer, question } = useAsksOf(await newMerchant(deskbell));
      const { id } = (await ask({ question: question(), customer: customer() })).json;
      const arrived = waitsArrive();
      const waiting = get(id, '?wait=30');
      await arrived;
      await deskbell.close();
      assert.deepEqual([(await waiting).status, (await waiting).json.status], [200, 'waiting']);
    } finally {
      await deskbell.close();
    }
  });
});
