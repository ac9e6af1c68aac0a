// Server-sent events for dashboards and assistants. What they say is in the tests of the event log.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventSource } from 'eventsource';
import type { Engine } from '../../../src/database/database.ts';
import { EVENTS, type Listener, listen } from '../../support/listening.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine, startDeskbell, startSecondServer } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

/** A merchant whose owner listens. */
function useListening(engine: Engine) {
  const shop = useMerchant(engine);
  /** Runs `work` with listeners with these headers, then stops them. */
  const listening = async (
    headers: Record<string, string>[],
    work: (...listeners: Listener[]) => Promise<void>,
    of = shop,
  ) => {
    const token = await of.token();
    const listeners = await Promise.all(headers.map((one) => listen(of.deskbell, token, one)));
    try {
      await work(...listeners);
    } finally {
      for (const listener of listeners) listener.stop();
    }
  };
  return { shop, listening };
}
const idIn = ({ data }: { data: string }): number => JSON.parse(data).data.notification_id;
const namesIn = ({ events }: Listener) => events.map(({ event }) => event);

onEachEngine('the event stream', (engine) => {
  const { shop, listening } = useListening(engine);
  const other = useMerchant(engine);

  it('two windows get an event as soon as a notification is raised, answered or deleted', async () => {
    await listening([{}, {}], async (one, two) => {
      let id = 0;
      for (const change of [
        async () => (id = await shop.raise()),
        () => shop.answer(id, { resolve_only: true }),
        () => shop.delete(`/notification/${id}`),
      ]) {
        await change();
        const [first, second] = await Promise.all([one!.next('inbox'), two!.next('inbox')]);
        assert.deepEqual(first, second);
        assert.deepEqual([first.data, first.id], ['{}', '']);
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

  it('a changed or deleted document is reported', async () => {
    const { id } = (await shop.post('/knowledge', { title: 'Shipping', body: 'Two days.' })).json;
    await listening([{}], async (one) => {
      for (const change of [
        () => shop.patch(`/knowledge/${id}`, { title: 'Delivery' }),
        () => shop.post(`/knowledge/${id}/revert`),
        () => shop.delete(`/knowledge/${id}`),
      ]) {
        await change();
        await one!.next('knowledge');
        await one!.next('knowledge.updated');
      }
      assert.deepEqual([...new Set(namesIn(one!))].sort(), ['connected', 'knowledge', 'knowledge.updated']);
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
      await shop.raise();
      ({ id } = await one!.next('notification.requested'));
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

  it('begins with the current id, and the log has the same events', async () => {
    await listening([{}], async (one) => {
      const { id, data } = await one!.next('connected');
      assert.deepEqual(JSON.parse(data), { id: Number(id) });
      await shop.raise();
      const event = await one!.next('notification.requested');
      const { json } = await shop.get(`/events/log?after=${id}`);
      assert.deepEqual(json, { events: [JSON.parse(event.data)], last_id: Number(event.id), more: false });
      const { timestamp, data: content, ...rest } = JSON.parse(event.data);
      assert.deepEqual(rest, { id: Number(id) + 1, type: 'notification.requested' });
      assert.equal(new Date(timestamp).toISOString(), timestamp);
      assert.deepEqual([content.status, content.reference, content.metadata], ['requested', null, null]);
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

  it('many writes in a row are reported together, including the last one', async () => {
    await listening([{}], async (one) => {
      const began = performance.now();
      const ids = await Promise.all(Array.from({ length: 40 }, () => shop.raise()));
      const told = new Set<number>();
      while (told.size < ids.length) told.add(idIn(await one!.next('notification.requested')));
      assert.deepEqual([...told].sort(), ids.sort());
      // At most one every 20 ms, no matter how many writes there are.
      const changes = namesIn(one!).filter((event) => event === 'inbox').length;
      assert.ok(changes <= (performance.now() - began) / 20 + 1, `${changes} changes`);
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

  it('ends when the session has ended, also if nobody signalled it', async () => {
    const { deskbell } = shop;
    const { token, id } = await shop.colleague();
    const listener = await listen(deskbell, token);
    const seen = listener.events.length;
    await deskbell.database.run('update sessions set expires_at = $1 where user_id = $2', [
      new Date(0).toISOString(),
      id,
    ]);
    await deskbell.clock.advance(901);
    await shop.raise();
    await until('the stream ends', listener.hasEnded);
    assert.deepEqual(
      namesIn(listener)
        .slice(seen)
        .filter((event) => event !== 'connected'),
      [],
    );
  });

  it('of a key has no events without content, and ends when the key is revoked', async () => {
    const { id, key } = (await shop.post('/keys', { name: 'Listener' })).json;
    const listener = await listen(shop.deskbell, key);
    await shop.raise();
    await listener.next('notification.requested');
    await shop.delete(`/keys/${id}`);
    await until('the stream ends', listener.hasEnded);
    assert.deepEqual(namesIn(listener), ['connected', 'notification.requested']);
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

  it('reports a change in another process at once', { skip: engine === 'sqlite' }, async () => {
    const second = await startSecondServer(shop.deskbell);
    try {
      const token = await shop.token();
      const listener = await listen(second, token);
      await shop.raise();
      await listener.next('inbox');
      listener.stop();
    } finally {
      await second.close();
    }
  });
});

describe('the HTTP of the event stream', () => {
  const { shop, listening } = useListening('sqlite');

  it('lets proxies forward it at once: it has no compression, no buffering and no caching', async () => {
    await listening([{ 'accept-encoding': 'gzip, br' }], async (one) => {
      const { headers } = one!;
      assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8');
      assert.equal(headers.get('x-accel-buffering'), 'no');
      assert.equal(headers.get('content-encoding'), null);
      assert.match(headers.get('cache-control')!, /no-cache/);
      assert.match(headers.get('x-request-id')!, /\S/);
    });
  });

  it('counts in the metrics while it is open, without its duration', async () => {
    const metrics = async () => (await shop.deskbell.call('GET', '/metrics')).text;
    const open = async () => Number(/^deskbell_event_streams (\d+)/m.exec(await metrics())?.[1]);
    await until('earlier ones are closed', async () => (await open()) === 0);
    await listening([{}, {}], async () => assert.equal(await open(), 2));
    await until('they are closed', async () => (await open()) === 0);
    const measured = /^deskbell_http_request_seconds_count\{method="GET",route="([^"]+)"/gm;
    const routes = [...(await metrics()).matchAll(measured)].map(([, route]) => route);
    assert.ok(routes.length > 0 && !routes.includes(EVENTS));
  });

  it('counts as one request, no matter how many events it has; a server that stops ends it', async () => {
    const streams = 20;
    const deskbell = await startDeskbell('sqlite', {
      ...{ RATE_LIMIT_PER_MINUTE: '1000', EVENT_STREAMS_PER_USER: String(streams) },
    });
    try {
      const token = await deskbell.signIn();
      const listeners = await Promise.all(Array.from({ length: streams }, () => listen(deskbell, token)));
      const body = {
        notification_type: 'user_question_request',
        conversation_id: 1,
        context: { question: 'Q?' },
      };
      await deskbell.call('POST', '/api/v1/notification/request', { token, body });
      await Promise.all(listeners.map((one) => one.next('inbox')));
      const { headers } = await deskbell.call('GET', '/api/v1/auth/me', { token });
      assert.equal(headers.get('ratelimit-remaining'), String(1000 - streams - 2));
      await deskbell.close();
      await Promise.all(listeners.map(({ ended }) => ended));
    } finally {
      await deskbell.close();
    }
  });
});
