import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { engines } from '../../support/databases.ts';
import { EVENTS, type Listener, listen } from '../../support/listening.ts';
import {
  assertError,
  BOREALIS,
  type Deskbell,
  NOTIFICATIONS,
  OPERATOR,
  onEachEngine,
  raise,
  startDeskbell,
  startSecondServer,
  useDeskbell,
} from '../../support/server.ts';
import { until } from '../../support/shops.ts';

/** Long enough for every signalled change; polling takes five seconds. */
const WAIT_MS = 300;

onEachEngine('live events', (engine) => {
  const deskbell = useDeskbell(engine);

  /** Runs `work` with these listeners, then stops them. */
  const withListeners = async <T>(
    opened: Promise<Listener>[],
    work: (...listeners: Listener[]) => Promise<T>,
  ) => {
    const listeners = await Promise.all(opened);
    try {
      return await work(...listeners);
    } finally {
      for (const listener of listeners) listener.stop();
    }
  };

  it('proxies forward a stream at once: it has no compression, no buffering and no caching', async () => {
    const token = await deskbell.signIn();
    await withListeners([listen(deskbell, token, { 'accept-encoding': 'gzip, br' })], async ({ headers }) => {
      assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8');
      assert.equal(headers.get('x-accel-buffering'), 'no');
      assert.equal(headers.get('content-encoding'), null);
      assert.match(headers.get('cache-control')!, /no-cache/);
      assert.match(headers.get('x-request-id')!, /\S/);
    });
  });

  it('two windows get an event as soon as a notification is raised, answered or deleted', async () => {
    const token = await deskbell.signIn();
    const both = [listen(deskbell, token), listen(deskbell, await deskbell.signIn())];
    await withListeners(both, async (one, other) => {
      const changes = [
        async () => {
          address = await raise(deskbell, token);
        },
        () => deskbell.call('POST', `${address}/answer`, { token, body: { resolve_only: true } }),
        () => deskbell.call('DELETE', address, { token }),
      ];
      let address = '';
      for (const change of changes) {
        await change();
        const [first, second] = await Promise.all([one!.next('inbox'), other!.next('inbox')]);
        assert.deepEqual(first, second);
        assert.deepEqual([first.data, first.id], ['{}', '']);
      }
    });
  });

  it('the delivery of an answer is reported until the customer has read it', async () => {
    const token = await deskbell.signIn();
    const address = await raise(deskbell, token);
    await withListeners([listen(deskbell, token)], async (one) => {
      await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes, on Sundays too.' } });
      await one!.next('inbox');
      await one!.next('knowledge');
      await one!.next('deliveries');
      await deskbell.allSent();
      await one!.next('delivery.delivered');
      await deskbell.call('GET', '/api/v1/simulator/1', { token });
      await one!.next('delivery.read');
      await one!.next('deliveries');
    });
  });

  it('a changed or deleted document is reported', async () => {
    const token = await deskbell.signIn();
    await withListeners([listen(deskbell, token)], async (one) => {
      const body = { title: 'Shipping' };
      await deskbell.call('PATCH', '/api/v1/knowledge/1', { token, body });
      await one!.next('knowledge');
      await deskbell.call('POST', '/api/v1/knowledge/1/revert', { token });
      await one!.next('knowledge');
      await deskbell.call('DELETE', '/api/v1/knowledge/4', { token });
      await one!.next('knowledge');
      for (let n = 0; n < 3; n += 1) await one!.next('knowledge.updated');
      assert.deepEqual([...new Set(one!.events.map(({ event }) => event))].sort(), [
        'connected',
        'knowledge',
        'knowledge.updated',
      ]);
    });
  });

  it('nobody receives another merchant’s changes', async () => {
    const theirs = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    await withListeners([listen(deskbell, theirs)], async (other) => {
      const address = await raise(deskbell, await deskbell.signIn());
      await deskbell.call('POST', `${address}/answer`, {
        token: await deskbell.signIn(),
        body: { answer: 'Yes.' },
      });
      await deskbell.allSent();
      await sleep(WAIT_MS);
      assert.deepEqual(
        other!.events.map(({ event }) => event),
        ['connected'],
      );
    });
  });

  it('a client that reconnects with the last id gets every event that it missed, in order and once', async () => {
    const token = await deskbell.signIn();
    const id = await withListeners([listen(deskbell, token)], async (one) => {
      await raise(deskbell, token);
      return (await one!.next('notification.requested')).id;
    });
    await withListeners([listen(deskbell, token, { 'last-event-id': id })], async (same) => {
      await sleep(WAIT_MS);
      assert.ok(!same!.events.some(({ event }) => event === 'inbox' || event.startsWith('notification')));
    });
    const address = await raise(deskbell, token);
    await deskbell.call('DELETE', address, { token });
    await withListeners([listen(deskbell, token, { 'last-event-id': id })], async (late) => {
      await late!.next('inbox');
      const requested = await late!.next('notification.requested');
      const deleted = await late!.next('notification.deleted');
      assert.deepEqual([Number(requested.id), Number(deleted.id)], [Number(id) + 1, Number(id) + 2]);
      assert.ok(address.endsWith(`/${JSON.parse(requested.data).data.notification_id}`));
      await sleep(WAIT_MS);
      assert.equal(late!.events.filter(({ event }) => event.startsWith('notification')).length, 2);
    });
    // An id from before an upgrade was a version, not a number.
    await withListeners([listen(deskbell, token, { 'last-event-id': '3f0c6a51d2' })], async (old) => {
      assert.equal(Number((await old!.next('connected')).id), Number(id) + 2);
    });
  });

  it('a stream starts with an event that has the current id, and the log has the same events', async () => {
    const token = await deskbell.signIn();
    await withListeners([listen(deskbell, token)], async (one) => {
      const { id, data } = await one!.next('connected');
      assert.deepEqual(JSON.parse(data), { id: Number(id) });
      await raise(deskbell, token);
      const event = await one!.next('notification.requested');
      const { json } = await deskbell.call('GET', `${EVENTS}/log?after=${id}`, { token });
      assert.deepEqual(json, { events: [JSON.parse(event.data)], last_id: Number(event.id), more: false });
      const { timestamp, data: content, ...rest } = JSON.parse(event.data);
      assert.deepEqual(rest, { id: Number(id) + 1, type: 'notification.requested' });
      assert.equal(new Date(timestamp).toISOString(), timestamp);
      assert.deepEqual([content.status, content.reference, content.metadata], ['requested', null, null]);
    });
  });

  it('a change without a signal is found by polling', async () => {
    const token = await deskbell.signIn();
    await withListeners([listen(deskbell, token)], async (one) => {
      await deskbell.database.run('delete from notifications where merchant_id = 1 and id = 1');
      await one!.next('inbox', 20_000);
    });
  });

  it('many writes in a row are reported together, including the last one', async () => {
    const token = await deskbell.signIn();
    await withListeners([listen(deskbell, token)], async (one) => {
      const began = performance.now();
      const addresses = await Promise.all(Array.from({ length: 100 }, () => raise(deskbell, token)));
      const told = new Set<string>();
      while (told.size < 100) {
        const { data } = await one!.next('notification.requested');
        told.add(`${NOTIFICATIONS}/${JSON.parse(data).data.notification_id}`);
      }
      assert.deepEqual([...told].sort(), addresses.sort());
      // At most one every 20 ms, no matter how many writes there are.
      const changes = one!.events.filter(({ event }) => event === 'inbox').length;
      assert.ok(changes <= (performance.now() - began) / 20 + 1, `${changes} changes`);
    });
  });

  it('a merchant’s token is required', async () => {
    assertError(await deskbell.call('GET', EVENTS), 401, 'INVALID_TOKEN');
    const operator = await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    assertError(await deskbell.call('GET', EVENTS, { token: operator }), 401, 'INVALID_TOKEN');
  });

  it('only GET is supported, so HEAD gets 405', async () => {
    const token = await deskbell.signIn();
    for (const method of ['HEAD', 'POST']) {
      assert.equal((await deskbell.call(method, EVENTS, { token })).status, 405);
    }
  });

  it('a stream counts in the metrics while it is open', async () => {
    const open = async () =>
      Number(/^deskbell_event_streams (\d+)/m.exec((await deskbell.call('GET', '/metrics')).text)?.[1]);
    await until('earlier ones are closed', async () => (await open()) === 0);
    const token = await deskbell.signIn();
    await withListeners([listen(deskbell, token), listen(deskbell, token)], async () =>
      assert.equal(await open(), 2),
    );
    await until('they are closed', async () => (await open()) === 0);
  });

  it('the duration of a stream is not in the metrics', async () => {
    const { text } = await deskbell.call('GET', '/metrics');
    const seconds = [
      ...text.matchAll(/^deskbell_http_request_seconds_count\{method="GET",route="([^"]+)"/gm),
    ];
    assert.ok(seconds.length > 0);
    assert.ok(!seconds.some(([, route]) => route === EVENTS));
  });
});

onEachEngine('the end of a stream', (engine) => {
  it('does not come when its token expires, as long as the session goes on', async () => {
    const deskbell = await startDeskbell(engine);
    try {
      const token = await deskbell.signIn();
      const listener = await listen(deskbell, token);
      await deskbell.clock.advance(901);
      assertError(await deskbell.call('GET', EVENTS, { token }), 401, 'TOKEN_EXPIRED');
      await raise(deskbell, await deskbell.signIn());
      await listener.next('notification.requested');
      listener.stop();
    } finally {
      await deskbell.close();
    }
  });

  it('comes when the session has ended, also if nobody signalled it', async () => {
    const deskbell = await startDeskbell(engine);
    try {
      const listener = await listen(deskbell, await deskbell.signIn());
      const seen = listener.events.length;
      await deskbell.database.run('update sessions set expires_at = $1', [new Date(0).toISOString()]);
      await deskbell.clock.advance(901);
      await raise(deskbell, await deskbell.signIn());
      await until('the stream ends', listener.hasEnded);
      assert.deepEqual(
        listener.events.slice(seen).filter(({ event }) => event !== 'connected'),
        [],
      );
    } finally {
      await deskbell.close();
    }
  });

  it('comes when the server stops, which does not wait for its clients', async () => {
    const deskbell = await startDeskbell(engine);
    const token = await deskbell.signIn();
    const listeners = await Promise.all(Array.from({ length: 20 }, () => listen(deskbell, token)));
    const began = Date.now();
    await deskbell.close();
    assert.ok(Date.now() - began < 30_000, `${Date.now() - began} ms`);
    await Promise.all(listeners.map(({ ended }) => ended));
  });

  it('a hundred streams count as a hundred requests, no matter how many events they receive', async () => {
    const deskbell = await startDeskbell(engine, {
      RATE_LIMIT_PER_MINUTE: '1000',
      EVENT_STREAMS_PER_USER: '100',
    });
    try {
      const token = await deskbell.signIn();
      const listeners: Listener[] = [];
      // A few at a time: a hundred at once may wait too long for a connection to the database.
      while (listeners.length < 100) {
        listeners.push(...(await Promise.all(Array.from({ length: 10 }, () => listen(deskbell, token)))));
      }
      await raise(deskbell, token);
      await Promise.all(listeners.map((one) => one.next('inbox')));
      const { headers } = await deskbell.call('GET', '/api/v1/auth/me', { token });
      assert.equal(headers.get('ratelimit-remaining'), String(1000 - 102));
      for (const one of listeners) one.stop();
    } finally {
      await deskbell.close();
    }
  });
});

it('a change in one process is reported at once in another', {
  skip: engines.length === 1 && 'needs PostgreSQL',
}, async () => {
  const first: Deskbell = await startDeskbell('postgres');
  const second = await startSecondServer(first);
  try {
    const token = await first.signIn();
    const listener = await listen(second, token);
    for (const at of [first, second]) {
      await raise(at, token);
      await listener.next('inbox');
    }
    listener.stop();
  } finally {
    await second.close();
    await first.close();
  }
});
