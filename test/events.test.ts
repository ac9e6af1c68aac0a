import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { engines } from './databases.ts';
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
} from './harness.ts';
import { EVENTS, type Listener, listen } from './listening.ts';

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
        assert.equal(first.data, '{}');
        const list = await deskbell.call('GET', `${NOTIFICATIONS}/`, { token });
        assert.equal(list.headers.get('etag'), `W/"1-${first.id}"`);
      }
    });
  });

  it('the delivery of an answer is reported until the customer has read it', async () => {
    const token = await deskbell.signIn();
    const address = await raise(deskbell, token);
    await withListeners([listen(deskbell, token)], async (one) => {
      await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes.' } });
      await one!.next('inbox');
      await one!.next('knowledge');
      await one!.next('deliveries');
      await deskbell.allSent();
      /** The event of a new notification comes after the events of all earlier changes. */
      const eventsSoFar = async () => {
        await raise(deskbell, token);
        await one!.next('inbox');
        return one!.events.length;
      };
      const before = await eventsSoFar();
      await deskbell.call('GET', '/api/v1/simulator/1', { token });
      const events = one!.events.slice(before, await eventsSoFar()).map(({ event }) => event);
      assert.deepEqual(
        events.filter((event) => event !== 'inbox'),
        ['deliveries'],
      );
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
      assert.deepEqual([...new Set(one!.events.map(({ event }) => event))], ['knowledge']);
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
      assert.deepEqual(other!.events, []);
    });
  });

  it('a client that reconnects with the last id gets an event at once if the inbox has changed, and none if not', async () => {
    const token = await deskbell.signIn();
    const id = await withListeners([listen(deskbell, token)], async (one) => {
      await raise(deskbell, token);
      return (await one!.next('inbox')).id;
    });
    await withListeners([listen(deskbell, token, { 'last-event-id': id })], async (same) => {
      await sleep(WAIT_MS);
      assert.ok(!same!.events.some(({ event }) => event === 'inbox'));
    });
    await raise(deskbell, token);
    for (const stale of [id, 'unknown-id']) {
      await withListeners([listen(deskbell, token, { 'last-event-id': stale })], async (late) => {
        assert.notEqual((await late!.next('inbox')).id, stale);
      });
    }
  });

  it('a stream starts with the version that the client needs to reconnect', async () => {
    const token = await deskbell.signIn();
    await withListeners([listen(deskbell, token)], async (one) => {
      const list = await deskbell.call('GET', `${NOTIFICATIONS}/`, { token });
      while (!/^id: \w+$/m.test(one!.text())) await sleep(10);
      assert.equal(list.headers.get('etag'), `W/"1-${/^id: (\w+)$/m.exec(one!.text())![1]}"`);
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
      await Promise.all(Array.from({ length: 100 }, () => raise(deskbell, token)));
      const list = await deskbell.call('GET', `${NOTIFICATIONS}/`, { token });
      while ((await one!.next('inbox')).id !== /"1-(\w+)"/.exec(list.headers.get('etag')!)![1]);
      // At most one every 20 ms, no matter how many writes there are.
      assert.ok(one!.events.length <= (performance.now() - began) / 20 + 1, `${one!.events.length} events`);
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
  it('comes when its token expires, and a new token opens the next stream', async () => {
    const deskbell = await startDeskbell(engine, { ACCESS_TOKEN_TTL_SECONDS: '10' });
    try {
      const token = await deskbell.signIn();
      deskbell.clock.advance(6);
      const listener = await listen(deskbell, token);
      const began = Date.now();
      await listener.ended;
      assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`);
      deskbell.clock.advance(1);
      assertError(await deskbell.call('GET', EVENTS, { token }), 401, 'TOKEN_EXPIRED');
      (await listen(deskbell, await deskbell.signIn())).stop();
    } finally {
      await deskbell.close();
    }
  });

  it('an expired token receives nothing more, even if the clock jumps ahead', async () => {
    const deskbell = await startDeskbell(engine);
    try {
      const listener = await listen(deskbell, await deskbell.signIn());
      deskbell.clock.advance(901);
      await raise(deskbell, await deskbell.signIn());
      await listener.ended;
      assert.deepEqual(listener.events, []);
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
      const listeners = await Promise.all(Array.from({ length: 100 }, () => listen(deskbell, token)));
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
