import assert from 'node:assert/strict';
import { it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import type { Event } from '../../../src/contract/events.ts';
import { numberUnread } from '../../../src/events/log.ts';
import { createLogger } from '../../../src/log.ts';
import { waitsArrive } from '../../support/arrivals.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

onEachEngine('the log of events', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const logOf = async (
    after: number,
    { token, more = '' }: { token?: string; more?: string } = {},
  ): Promise<{ events: Event[]; last_id: number; more: boolean }> =>
    (await shop.get(`/events/log?after=${after}&limit=500${more}`, token ? { token } : {})).json;
  /** Where a test's own events begin. What earlier tests answered may still be on its way. */
  const lastId = async () => {
    await shop.deskbell.allSent();
    return (await logOf(0)).last_id;
  };
  let customers = 0;
  const ask = async (token: string, more: object = {}) => {
    const customer = { phone: `+34611770${String(++customers).padStart(3, '0')}`, name: 'Lucía' };
    return (await shop.post('/ask', { question: `Which way, ${customers}?`, customer, ...more }, { token }))
      .json;
  };

  it('tells an ask’s whole story, with its reference and metadata', async () => {
    const key = await shop.key();
    const from = await lastId();
    const about = { reference: 'run-9', metadata: { thread: 't-1' } };
    const { id, conversation_id } = await ask(key, about);
    await shop.answer(id, 'Yes, we do.');
    await shop.deskbell.allSent();
    await shop.get(`/simulator/${conversation_id}`);
    const { events } = await logOf(from, { token: key });
    // What one transaction writes has no order.
    const types = events.map(({ type }) => type);
    assert.deepEqual(
      [types.shift(), types.splice(0, 2).sort(), types],
      [
        'notification.requested',
        ['knowledge.updated', 'notification.answered'],
        ['delivery.delivered', 'delivery.read'],
      ],
    );
    assert.deepEqual(
      events.map((event) => event.id),
      events.map((_, index) => from + 1 + index),
    );
    for (const { type, data } of events) {
      if (type === 'knowledge.updated') continue;
      const { notification_id, reference, metadata } = data;
      assert.deepEqual([notification_id, { reference, metadata }], [id, about]);
    }
    const { data } = events.find(({ type }) => type === 'notification.answered')!;
    assert.deepEqual(
      [data.status, data.answer, data.answered_by, data.deliver],
      ['answered', 'Yes, we do.', 'Olga Owner', 'deskbell'],
    );
  });

  it('tells of every way a notification ends', async () => {
    const key = await shop.key();
    const from = await lastId();
    const { id: resolved } = await ask(key);
    const token = await shop.key('answer');
    await shop.post(`/notification/${resolved}/answer`, { resolve_only: true }, { token });
    const { id: deleted } = await ask(key);
    await shop.delete(`/notification/${deleted}`);
    const { id: cancelled } = await ask(key);
    await shop.delete(`/ask/${cancelled}`, { token: key });
    const { id: expired } = await ask(key, { expires_in_seconds: 60 });
    await shop.deskbell.clock.advance(61);
    let events: Event[] = [];
    await until('it expires', async () => {
      ({ events } = await logOf(from, { token: key }));
      return events.some(({ type }) => type === 'notification.expired');
    });
    assert.deepEqual(
      events.flatMap(({ type, data }) =>
        type === 'notification.requested'
          ? []
          : [[type, data.notification_id, data.status, data.answered_by]],
      ),
      [
        ['notification.resolved', resolved, 'resolved', 'Test key'],
        ['notification.deleted', deleted, 'deleted', undefined],
        ['notification.cancelled', cancelled, 'cancelled', undefined],
        ['notification.expired', expired, 'expired', undefined],
      ],
    );
  });

  it('shows a key only what its scopes allow, and texts only to those that may read them', async () => {
    const reader = await shop.key('notifications:read');
    const librarian = await shop.key('knowledge:read');
    const hooks = await shop.key('webhooks');
    const from = await lastId();
    await shop.answer(await shop.raise(), 'A secret text.');
    await shop.deskbell.allSent();
    const seen = async (token: string) => (await logOf(from, { token })).events;
    const types = async (token: string) =>
      [...new Set((await seen(token)).map(({ type }) => type.split('.')[0]))].sort();
    assert.deepEqual(await types(reader), ['delivery', 'notification']);
    assert.deepEqual(await types(librarian), ['knowledge']);
    assert.deepEqual(await types(hooks), ['delivery', 'knowledge', 'notification']);
    assert.ok(JSON.stringify(await seen(reader)).includes('A secret text.'));
    assert.ok(!JSON.stringify(await seen(hooks)).includes('A secret text.'));
    const refused = await shop.get('/events/log', { token: await shop.key('answer') });
    assertError(refused, 403, 'INSUFFICIENT_SCOPE');
    assert.equal((await logOf(from, { token: librarian })).last_id, await lastId());
  });

  it('has an own numbering for each merchant, and shows nobody another’s events', async () => {
    const token = await other.key('notifications:read');
    await shop.raise();
    assert.deepEqual(await logOf(0, { token }), { events: [], last_id: 0, more: false });
    await other.raise();
    const { events, last_id } = await logOf(0, { token });
    assert.deepEqual([events.length, last_id], [1, 1]);
  });

  it('is read in pages, and a reader may wait for the next event', async () => {
    const from = await lastId();
    for (let n = 0; n < 3; n += 1) await shop.raise();
    const page = (await shop.get(`/events/log?after=${from}&limit=2`)).json;
    assert.deepEqual([page.events.length, page.last_id, page.more], [2, from + 2, true]);
    const rest = await logOf(page.last_id);
    assert.deepEqual([rest.events.length, rest.last_id, rest.more], [1, from + 3, false]);
    const arrived = waitsArrive();
    const waiting = logOf(rest.last_id, { more: '&wait=30' });
    await arrived;
    await shop.raise();
    assert.equal((await waiting).events[0]!.type, 'notification.requested');
  });

  it('refuses bad parameters by field', async () => {
    for (const query of ['after=-1', 'after=x', 'limit=0', 'limit=501', 'wait=46']) {
      const reply = await shop.get(`/events/log?${query}`);
      assertError(reply, 422, 'VALIDATION_ERROR', query.split('=')[0]);
    }
    assertError(await shop.get('/events?after=x'), 422, 'VALIDATION_ERROR', 'after');
  });

  it('misses nothing of many writers at once', async () => {
    const from = await lastId();
    const read: Event[] = [];
    let done = false;
    const reading = (async () => {
      for (let after = from; ; ) {
        const finished = done;
        const page = await logOf(after);
        read.push(...page.events);
        after = page.last_id;
        if (finished && page.events.length === 0) return;
      }
    })();
    const ids = await Promise.all(Array.from({ length: 80 }, () => shop.raise()));
    done = true;
    await reading;
    assert.deepEqual(read.map(({ data }) => data.notification_id).sort(), ids.sort());
    assert.deepEqual(
      read.map(({ id }) => id),
      read.map((_, index) => from + 1 + index),
    );
  });

  it('is kept for 30 days, or as the setting says, also if nobody reads it', async () => {
    const { database, config, clock } = shop.deskbell;
    const from = await lastId();
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const count = async () => (await logOf(from)).events.length;
    /** What the server does regularly, so many days later. */
    const later = async (days: number, events = config.retentionDays.events) => {
      const at = new Date(clock.now().getTime() + days * 24 * 60 * 60_000);
      const retentionDays = { ...config.retentionDays, events };
      await numberUnread(database, [shop.id], at);
      await cleanUp(database, { ...config, retentionDays }, log, at);
    };
    await shop.raise();
    await later(29);
    assert.equal(await count(), 1);
    await shop.raise();
    await later(31);
    assert.equal(await count(), 0);
    await shop.raise();
    await later(31, 40);
    assert.equal(await count(), 1);
  });
});
