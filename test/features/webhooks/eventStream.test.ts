// Server-sent events for dashboards and assistants. What they say is in the tests of the event log.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventSource } from 'eventsource';
import { EVENTS, type Listener, listen } from '../../support/listening.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine, raise, useDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const idIn = ({ data }: { data: string }): number => JSON.parse(data).data.notification_id;
const namesIn = ({ events }: Listener) => events.map(({ event }) => event);

onEachEngine('the event stream', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  /** Runs `work` while the owner listens with these headers. */
  const listening = async (
    headers: Record<string, string>[],
    work: (...listeners: Listener[]) => Promise<void>,
    of = shop,
  ) => {
    const token = await of.token();
    const listeners = await Promise.all(headers.map((one) => listen(of.deskbell, token, one)));
    await work(...listeners).finally(() => listeners.map((listener) => listener.stop()));
  };

  it('two windows get an event as soon as a notification or a document changes', async () => {
    let id = 0;
    const document = (await shop.post('/knowledge', { title: 'Shipping', body: 'Two days.' })).json.id;
    await listening([{}, {}], async (one, two) => {
      for (const [event, change] of [
        ['inbox', async () => (id = await shop.raise())],
        ['inbox', () => shop.answer(id, { resolve_only: true })],
        ['inbox', () => shop.delete(`/notification/${id}`)],
        ['knowledge', () => shop.patch(`/knowledge/${document}`, { title: 'Delivery' })],
        ['knowledge', () => shop.post(`/knowledge/${document}/revert`)],
        ['knowledge', () => shop.delete(`/knowledge/${document}`)],
      ] as const) {
        await change();
        const [first, second] = await Promise.all([one!.next(event), two!.next(event)]);
        assert.deepEqual(first, second);
        assert.deepEqual([first.data, first.id], ['{}', '']);
        if (event === 'knowledge') await one!.next('knowledge.updated');
      }
    });
  });

  it('the delivery of an answer is reported until the customer has read it', async () => {
    const id = await shop.raise();
    await listening([{}], async (one) => {
      await shop.answer(id);
      for (const event of ['inbox', 'knowledge', 'deliveries']) await one!.next(event);
      await shop.deskbell.allSent();
      await one!.next('delivery.delivered');
      await shop.get(`/simulator/${shop.conversationId}`);
      for (const event of ['delivery.read', 'deliveries']) await one!.next(event);
    });
  });

  it('nobody receives another merchant’s changes', async () => {
    await listening(
      [{}],
      async (theirs) => {
        await shop.answer(await shop.raise());
        await shop.deskbell.allSent();
        const own = await other.raise();
        assert.equal(idIn(await theirs!.next('notification.requested')), own);
        await theirs!.next('inbox');
        assert.deepEqual(namesIn(theirs!).sort(), ['connected', 'inbox', 'notification.requested']);
      },
      other,
    );
  });

  it('a client that reconnects with the last id gets every event that it missed, in order and once', async () => {
    let id = '';
    await listening([{}], async (one) => {
      const { id: begin, data } = await one!.next('connected');
      assert.deepEqual(JSON.parse(data), { id: Number(begin) });
      await shop.raise();
      const event = await one!.next('notification.requested');
      ({ id } = event);
      const { json } = await shop.get(`/events/log?after=${begin}`);
      assert.deepEqual(json, { events: [JSON.parse(event.data)], last_id: Number(id), more: false });
    });
    const missed = await shop.raise();
    await shop.delete(`/notification/${missed}`);
    await listening([{ 'last-event-id': id }], async (late) => {
      await late!.next('inbox');
      const requested = await late!.next('notification.requested');
      const deleted = await late!.next('notification.deleted');
      assert.deepEqual([Number(requested.id), Number(deleted.id)], [Number(id) + 1, Number(id) + 2]);
      assert.equal(idIn(requested), missed);
      const newest = await shop.raise();
      assert.equal(idIn(await late!.next('notification.requested')), newest);
      assert.equal(namesIn(late!).filter((event) => event.startsWith('notification')).length, 3);
    });
    // An id from before an upgrade was a version, not a number.
    await listening([{ 'last-event-id': '3f0c6a51d2' }], async (old) => {
      assert.equal(Number((await old!.next('connected')).id), Number(id) + 3);
    });
  });

  it('a change without a signal is found by polling', async () => {
    const id = await shop.raise();
    await listening([{}], async (one) => {
      await shop.deskbell.database.run('delete from notifications where merchant_id = $1 and id = $2', [
        shop.id,
        id,
      ]);
      await one!.next('inbox', 20_000);
    });
  });

  it('goes on when its token expires, as long as the session does', async () => {
    const { deskbell } = shop;
    const token = await shop.token();
    const listener = await listen(deskbell, token);
    await deskbell.clock.advance(901);
    assertError(await deskbell.call('GET', EVENTS, { token }), 401, 'TOKEN_EXPIRED');
    await shop.raise();
    await listener.next('notification.requested');
    listener.stop();
  });

  it('of a key ends when the key is revoked, and has no events without content', async () => {
    const { id, key } = (await shop.post('/keys', { name: 'Listener' })).json;
    const listener = await listen(shop.deskbell, key);
    await shop.raise();
    await listener.next('notification.requested');
    await shop.delete(`/keys/${id}`);
    await until('the stream ends', listener.hasEnded);
    assert.deepEqual(namesIn(listener), ['connected', 'notification.requested']);
  });

  it('ends when the session has ended, also if nobody signalled it', async () => {
    const { deskbell } = shop;
    const { token, id } = await shop.colleague();
    const listener = await listen(deskbell, token);
    await listener.next('connected');
    await deskbell.database.run('update sessions set expires_at = $1 where user_id = $2', [
      new Date(0).toISOString(),
      id,
    ]);
    await deskbell.clock.advance(901);
    await shop.raise();
    await until('the stream ends', listener.hasEnded);
    assert.deepEqual(namesIn(listener), ['connected']);
  });

  it('the eventsource package gets what happened while it was disconnected', async () => {
    const key = await shop.key();
    const told: number[] = [];
    let connections = 0;
    let cut = () => {};
    const source = new EventSource(shop.deskbell.url + EVENTS, {
      async fetch(url, init) {
        connections += 1;
        const headers = { ...init.headers, authorization: `Bearer ${key}` };
        const response = await fetch(url, { ...init, headers } as RequestInit);
        const { readable, writable } = new TransformStream();
        const lost = new AbortController();
        // As if the network were gone: the package itself did not end the connection.
        response.body!.pipeTo(writable, { signal: lost.signal }).catch(() => {});
        cut = () => lost.abort(new TypeError('connection lost'));
        return new Response(readable, response);
      },
    });
    try {
      source.addEventListener('notification.requested', (event) => told.push(idIn(event)));
      await new Promise((resolve) => source.addEventListener('connected', resolve, { once: true }));
      // Nothing has happened since it connected.
      cut();
      const id = await shop.raise();
      await until('it hears of it', () => told.length > 0);
      assert.ok(connections >= 2);
      assert.deepEqual(told, [id]);
    } finally {
      source.close();
    }
  });
});

describe('the HTTP of the event stream', () => {
  const STREAMS = 20;
  // A server that stops ends the streams.
  const deskbell = useDeskbell('sqlite', {
    ...{ RATE_LIMIT_PER_MINUTE: '1000', EVENT_STREAMS_PER_USER: String(STREAMS) },
  });

  it('lets proxies forward it at once, counts as one request, is in the metrics, and ends when the server stops', async () => {
    const token = await deskbell.signIn();
    const open = async () => {
      const { text } = await deskbell.call('GET', '/metrics');
      assert.doesNotMatch(text, /request_seconds_count\{method="GET",route="\/api\/v1\/events"/);
      return Number(/^deskbell_event_streams (\d+)/m.exec(text)?.[1]);
    };
    const listeners = await Promise.all(
      Array.from({ length: STREAMS }, () => listen(deskbell, token, { 'accept-encoding': 'gzip, br' })),
    );
    const { headers } = listeners[0]!;
    assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(headers.get('x-accel-buffering'), 'no');
    assert.equal(headers.get('content-encoding'), null);
    assert.match(headers.get('cache-control')!, /no-cache/);
    assert.equal(await open(), STREAMS);
    await raise(deskbell, token);
    await Promise.all(listeners.map((one) => one.next('inbox')));
    const me = await deskbell.call('GET', '/api/v1/auth/me', { token });
    assert.equal(me.headers.get('ratelimit-remaining'), String(1000 - STREAMS - 2));
    listeners.pop()!.stop();
    await until('it is closed', async () => (await open()) === STREAMS - 1);
    await deskbell.close();
    await Promise.all(listeners.map(({ ended }) => ended));
  });
});
