import assert from 'node:assert/strict';
import { it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { waitsArrive } from '../../support/arrivals.ts';
import { ASK, useAsks } from '../../support/asking.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  assertError,
  NOTIFICATIONS,
  onEachEngine,
  startSecondServer,
  useDeskbell,
} from '../../support/server.ts';
import { AURORA_ID, until } from '../../support/shops.ts';

onEachEngine('the end of an ask', (engine) => {
  const deskbell = useDeskbell(engine);
  const { call, ask, answer, customer, question } = useAsks(deskbell);

  it('a call that waits gets the answer as soon as there is one', async () => {
    const body = { question: question(), customer: customer(), wait_seconds: 30 };
    const waiting = ask(body);
    const token = await deskbell.signIn();
    let open: { id: number; question: string }[] = [];
    while (open.length === 0) {
      open = (await call('GET', ASK)).json.asks.filter(
        (one: { question: string }) => one.question === body.question,
      );
    }
    const polling = call('GET', `${ASK}/${open[0]!.id}?wait=30`);
    await deskbell.call('POST', `${NOTIFICATIONS}/${open[0]!.id}/answer`, {
      token,
      body: { answer: 'Now.' },
    });
    for (const { json } of await Promise.all([waiting, polling])) {
      assert.deepEqual([json.status, json.answer], ['answered', 'Now.']);
    }
    const late = await call('GET', `${ASK}/${open[0]!.id}?wait=30`);
    assert.equal(late.json.status, 'answered');
  });

  it('resolved, deleted and cancelled are different ends, and the outcome stays when the notification is gone', async () => {
    const token = await deskbell.signIn();
    const ids = await Promise.all(
      [1, 2, 3].map(
        async () => (await ask({ question: question(), customer: customer() })).json.id as number,
      ),
    );
    const arrived = waitsArrive(ids.length);
    const waiting = ids.map((id) => call('GET', `${ASK}/${id}?wait=30`));
    await arrived;
    await answer(ids[0]!, { resolve_only: true });
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${ids[1]}`, { token });
    const cancelled = await call('DELETE', `${ASK}/${ids[2]}`);
    assert.deepEqual([cancelled.status, cancelled.json.status], [200, 'cancelled']);
    assert.equal((await call('DELETE', `${ASK}/${ids[2]}`)).status, 200);
    const ends = (await Promise.all(waiting)).map(({ json }) => json);
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['resolved', 'deleted', 'cancelled'],
    );
    assert.deepEqual([ends[0].resolved_by, typeof ends[1].deleted_at], ['Alma Reyes', 'string']);
    assertError(await call('DELETE', `${ASK}/${ids[0]}`), 409, 'CONFLICT');
    assertError(await call('DELETE', `${ASK}/${ids[1]}`), 409, 'CONFLICT');
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${ids[2]}`, { token });
    assert.equal((await call('GET', `${ASK}/${ids[2]}`)).json.status, 'cancelled');

    // The merchant sees why it is gone.
    const cancelledId = (await ask({ question: question(), customer: customer() })).json.id;
    await call('DELETE', `${ASK}/${cancelledId}`);
    const shown = (await deskbell.call('GET', `${NOTIFICATIONS}/${cancelledId}`, { token })).json;
    assert.deepEqual([shown.status, shown.answer, shown.delivery], ['answered', { cancelled: true }, null]);
    const [event] = (await deskbell.call('GET', '/api/v1/audit?what=notification.cancelled', { token })).json;
    assert.deepEqual([event.who.name, event.about.notification_id], ['Test key', cancelledId]);
  });

  it('an ask expires at its time, stays in the inbox, and a late answer still reaches the customer', async () => {
    const { json } = await ask({ question: question(), customer: customer(), expires_in_seconds: 600 });
    const arrived = waitsArrive();
    const waiting = call('GET', `${ASK}/${json.id}?wait=30`);
    await arrived;
    await deskbell.clock.advance(601);
    const expired = (await waiting).json;
    assert.deepEqual([expired.status, expired.expired_at], ['expired', json.expires_at]);
    const token = await deskbell.signIn();
    const pending = (await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token })).json;
    assert.ok(pending.some(({ id }: { id: number }) => id === json.id));

    await answer(json.id);
    await deskbell.allSent();
    const late = (await call('GET', `${ASK}/${json.id}`)).json;
    assert.deepEqual([late.status, late.late, late.delivery.state !== 'failed'], ['answered', true, true]);
  });

  it('an ask that many look at when it expires does so once', async () => {
    const asks = await Promise.all(
      [1, 2, 3, 4, 5].map(() =>
        ask({ question: question(), customer: customer(), expires_in_seconds: 60 }).then(
          ({ json }) => json.id,
        ),
      ),
    );
    // Not with the clock, at whose change the server expires them itself.
    const { database } = deskbell;
    for (const id of asks)
      await database.run(
        `update asks set expires_at = '2020-01-01T00:00:00.000Z' where merchant_id = $1 and id = $2`,
        [AURORA_ID, id],
      );
    const looks = asks.flatMap((id) => Array.from({ length: 6 }, () => call('GET', `${ASK}/${id}`)));
    for (const { json } of await Promise.all(looks)) assert.equal(json.status, 'expired');
    const token = await deskbell.signIn();
    const { events } = (await deskbell.call('GET', '/api/v1/events/log?after=0&limit=500', { token })).json;
    const expired = (events as { type: string; data: { notification_id: number } }[])
      .filter(({ type, data }) => type === 'notification.expired' && asks.includes(data.notification_id))
      .map(({ data }) => data.notification_id);
    assert.deepEqual(expired.sort(), asks.sort());
  });

  it('an ask does not expire if it is asked again at that moment', async () => {
    const { database, clock } = deskbell;
    const { id } = (await ask({ question: question(), customer: customer(), expires_in_seconds: 60 })).json;
    await deskbell.allSent();
    let looking: Promise<unknown> | undefined;
    await database.transaction(async (tx) => {
      await tx.run(
        `update asks set expires_at = '2099-01-01T00:00:00.000Z' where merchant_id = $1 and id = $2`,
        [AURORA_ID, id],
      );
      // Not before its row is locked: the server looks every second, and would expire it.
      clock.jump(61);
      looking = call('GET', `${ASK}/${id}`);
      if (engine === 'postgres')
        await until('the other waits', async () => {
          const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
          return (await database.all(waiting)).length > 0;
        });
    });
    await looking;
    assert.equal((await call('GET', `${ASK}/${id}`)).json.status, 'waiting');
    const token = await deskbell.signIn();
    const { events } = (await deskbell.call('GET', '/api/v1/events/log?after=0&limit=500', { token })).json;
    const types = (events as { type: string; data: { notification_id: number } }[])
      .filter(({ data }) => data.notification_id === id)
      .map(({ type }) => type);
    assert.deepEqual(types, ['notification.requested']);
  });

  it('asking again after the expiry waits again for the same notification', async () => {
    const body = { question: question(), customer: customer(), expires_in_seconds: 60 };
    const first = (await ask(body)).json;
    await deskbell.clock.advance(61);
    assert.equal((await call('GET', `${ASK}/${first.id}`)).json.status, 'expired');
    const second = (await ask(body)).json;
    assert.deepEqual([second.status, second.id, second.duplicate], ['asked', first.id, true]);
    assert.ok(second.expires_at > first.expires_at);
    const token = await deskbell.signIn();
    const { updated_at } = (await deskbell.call('GET', `${NOTIFICATIONS}/${first.id}`, { token })).json;
    assert.ok(updated_at > first.expires_at, 'the inbox has to show that it waits again');
  });

  it('a wait ends when its key is revoked', async () => {
    const token = await deskbell.signIn();
    const created = (await deskbell.call('POST', '/api/v1/keys', { token, body: { name: 'Soon gone' } }))
      .json;
    const { id } = (await ask({ question: question(), customer: customer() })).json;
    const arrived = waitsArrive();
    const waiting = call('GET', `${ASK}/${id}?wait=40`, { token: created.key });
    await arrived;
    // When this is read, the other has been read, too.
    await call('GET', `${ASK}/${id}`, { token: created.key });
    await deskbell.call('DELETE', `/api/v1/keys/${created.id}`, { token });
    const ended = await waiting;
    assertError(ended, 401, 'INVALID_TOKEN');
    assert.equal(ended.json.detail, 'This key is wrong or was revoked.');
  });

  it('an outcome is kept for 30 days, also if the notification is gone; what waits is kept longer', async () => {
    const { database, clock } = deskbell;
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const config = {
      ...deskbell.config,
      retentionDays: { ...deskbell.config.retentionDays, notifications: 1, deliveries: 1 },
    };
    const cleanUpAfter = (days: number) =>
      cleanUp(database, config, log, new Date(clock.now().getTime() + days * 24 * 60 * 60_000));
    const waiting = (await ask({ question: question(), customer: customer() })).json.id;
    const deleted = (await ask({ question: question(), customer: customer() })).json.id;
    const expiring = (await ask({ question: question(), customer: customer() })).json.id;
    await answer(deleted);
    await answer(expiring);
    await deskbell.allSent();
    const token = await deskbell.signIn();
    const notification = (method: string, id: number) =>
      deskbell.call(method, `${NOTIFICATIONS}/${id}`, { token });
    assert.equal((await notification('DELETE', deleted)).status, 200);

    await cleanUpAfter(29);
    assert.equal((await notification('GET', expiring)).status, 404);
    for (const id of [deleted, expiring]) {
      const kept = (await call('GET', `${ASK}/${id}`)).json;
      assert.deepEqual([kept.status, kept.answer], ['answered', 'Yes, on Fridays.']);
    }
    await cleanUpAfter(31);
    for (const id of [deleted, expiring])
      assertError(await call('GET', `${ASK}/${id}`), 404, 'ASK_NOT_FOUND');
    assert.equal((await call('GET', `${ASK}/${waiting}`)).json.status, 'waiting');
  });

  it('an expired one is kept until its notification ends: the assistant relays a very late answer', async () => {
    const { database, config, clock } = deskbell;
    const body = { question: question(), customer: { reference: `late-${engine}` }, deliver: 'assistant' };
    const { id } = (await ask({ ...body, expires_in_seconds: 60 })).json;
    await clock.advance(61);
    assert.equal((await call('GET', `${ASK}/${id}`)).json.status, 'expired');
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    await cleanUp(database, config, log, new Date(clock.now().getTime() + 40 * 24 * 60 * 60_000));
    await answer(id);
    const late = (await call('GET', `${ASK}/${id}`)).json;
    assert.deepEqual([late.status, late.late, late.delivery], ['answered', true, null]);
    assert.deepEqual(await database.all('select id from deliveries where notification_id = $1', [id]), []);
  });
});

onEachEngine('waiting for an answer', (engine) => {
  const deskbell = useDeskbell(engine);

  it('the merchant may answer at another server', {
    skip: engine === 'sqlite' && 'SQLite has one server',
  }, async () => {
    const key = await createKey(deskbell);
    const second = await startSecondServer(deskbell);
    try {
      const body = { question: 'At which server?', customer: { phone: '+34611660001' } };
      const { id } = (await deskbell.call('POST', ASK, { token: key, body })).json;
      const arrived = waitsArrive();
      const waiting = deskbell.call('GET', `${ASK}/${id}?wait=30`, { token: key });
      await arrived;
      const token = await second.signIn();
      await second.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body: { answer: 'At this one.' } });
      assert.equal((await waiting).json.answer, 'At this one.');
    } finally {
      await second.close();
    }
  });

  it('a server that stops answers those who wait', async () => {
    const key = await createKey(deskbell);
    const body = { question: 'Will you stop?', customer: { phone: '+34611660002' } };
    const { id } = (await deskbell.call('POST', ASK, { token: key, body })).json;
    const arrived = waitsArrive();
    const waiting = deskbell.call('GET', `${ASK}/${id}?wait=30`, { token: key });
    await arrived;
    await deskbell.close();
    assert.deepEqual([(await waiting).status, (await waiting).json.status], [200, 'waiting']);
  });
});
