import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EventSource } from 'eventsource';
import { cleanUp } from '../../../src/cleanUp.ts';
import type { Event } from '../../../src/contract/events.ts';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { numberUnread } from '../../../src/events/log.ts';
import { createLogger } from '../../../src/log.ts';
import { waitsArrive } from '../../support/arrivals.ts';
import { EVENTS, listen } from '../../support/listening.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  assertError,
  BOREALIS,
  NOTIFICATIONS,
  onEachEngine,
  raise,
  useDeskbell,
} from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const LOG = `${EVENTS}/log`;

onEachEngine('the log of events', (engine) => {
  const deskbell = useDeskbell(engine);
  const logOf = async (
    token: string,
    after = 0,
    more = '',
  ): Promise<{ events: Event[]; last_id: number; more: boolean }> =>
    (await deskbell.call('GET', `${LOG}?after=${after}&limit=500${more}`, { token })).json;
  /** Where a test's own events begin. What earlier tests answered may still be on its way. */
  const lastId = async (token: string) => {
    await deskbell.allSent();
    return (await logOf(token)).last_id;
  };

  it('tells an ask’s whole story, with its reference and metadata', async () => {
    const token = await deskbell.signIn();
    const key = await createKey(deskbell);
    const from = await lastId(key);
    const body = {
      question: 'Do you engrave the mugs?',
      customer: { phone: '+34611770001', name: 'Lucía' },
      reference: 'run-9',
      metadata: { thread: 't-1' },
    };
    const { id, conversation_id } = (await deskbell.call('POST', '/api/v1/ask', { token: key, body })).json;
    await deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body: { answer: 'Yes, we do.' } });
    await deskbell.allSent();
    await deskbell.call('GET', `/api/v1/simulator/${conversation_id}`, { token });
    const { events } = await logOf(key, from);
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
      assert.deepEqual(
        [data.notification_id, data.reference, data.metadata],
        [id, 'run-9', { thread: 't-1' }],
      );
    }
    const answered = events.find(({ type }) => type === 'notification.answered')!;
    assert.deepEqual(
      [answered.data.status, answered.data.answer, answered.data.answered_by, answered.data.deliver],
      ['answered', 'Yes, we do.', 'Alma Reyes', 'deskbell'],
    );
  });

  it('tells who answered or resolved a notification that was not asked by an assistant', async () => {
    const token = await deskbell.signIn();
    const from = await lastId(token);
    const key = await createKey(deskbell, ['answer']);
    const answer = async (by: string, body: object) => {
      const reply = await deskbell.call('POST', `${await raise(deskbell, token)}/answer`, {
        token: by,
        body,
      });
      assert.equal(reply.status, 200, reply.text);
    };
    await answer(token, { answer: 'Yes, "we" do.' });
    await answer(token, { resolve_only: true });
    await answer(key, { answer: 'Yes.' });
    const ended = (await logOf(token, from)).events.filter(({ data }) => 'answered_by' in data);
    assert.deepEqual(
      ended.map(({ type, data }) => [type, data.answer, data.answered_by]),
      [
        ['notification.answered', 'Yes, "we" do.', 'Alma Reyes'],
        ['notification.resolved', undefined, 'Alma Reyes'],
        ['notification.answered', 'Yes.', 'Test key'],
      ],
    );
  });

  it('tells of every way a notification ends', async () => {
    const token = await deskbell.signIn();
    const key = await createKey(deskbell);
    const from = await lastId(key);
    const ask = async (phone: string, more: object = {}) => {
      const body = { question: `Which way, ${phone}?`, customer: { phone }, ...more };
      return (await deskbell.call('POST', '/api/v1/ask', { token: key, body })).json.id as number;
    };
    const resolved = await ask('+34611770011');
    await deskbell.call('POST', `${NOTIFICATIONS}/${resolved}/answer`, {
      token,
      body: { resolve_only: true },
    });
    const deleted = await ask('+34611770012');
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${deleted}`, { token });
    const cancelled = await ask('+34611770013');
    await deskbell.call('DELETE', `/api/v1/ask/${cancelled}`, { token: key });
    const expired = await ask('+34611770014', { expires_in_seconds: 60 });
    await deskbell.clock.advance(61);
    const notification_type = 'user_question_request';
    const told = (notification_id: number, status: string) => ({
      notification_id,
      notification_type,
      status,
    });
    let events: Event[] = [];
    await until('it expires', async () => {
      ({ events } = await logOf(key, from));
      return events.some(({ type }) => type === 'notification.expired');
    });
    assert.deepEqual(
      events
        .filter(({ type }) => type !== 'notification.requested')
        .map(({ type, data: { conversation_id, reference, metadata, ...data } }) => [type, data]),
      [
        [
          'notification.resolved',
          { ...told(resolved, 'resolved'), deliver: 'deskbell', late: false, answered_by: 'Alma Reyes' },
        ],
        ['notification.deleted', told(deleted, 'deleted')],
        ['notification.cancelled', told(cancelled, 'cancelled')],
        ['notification.expired', told(expired, 'expired')],
      ],
    );
  });

  it('shows a key only what its scopes allow, and texts only to those that may read them', async () => {
    const token = await deskbell.signIn();
    const keys = {
      reader: await createKey(deskbell, ['notifications:read']),
      librarian: await createKey(deskbell, ['knowledge:read']),
      hooks: await createKey(deskbell, ['webhooks']),
      answerer: await createKey(deskbell, ['answer']),
    };
    const from = await lastId(token);
    const path = await raise(deskbell, token);
    await deskbell.call('POST', `${path}/answer`, { token, body: { answer: 'A secret text.' } });
    await deskbell.allSent();
    const seen = async (key: string) => (await logOf(key, from)).events;
    const types = async (key: string) => [
      ...new Set((await seen(key)).map(({ type }) => type.split('.')[0])),
    ];
    assert.deepEqual(await types(keys.reader), ['notification', 'delivery']);
    assert.deepEqual(await types(keys.librarian), ['knowledge']);
    assert.deepEqual((await types(keys.hooks)).sort(), ['delivery', 'knowledge', 'notification']);
    assert.ok(JSON.stringify(await seen(keys.reader)).includes('A secret text.'));
    assert.ok(!JSON.stringify(await seen(keys.hooks)).includes('A secret text.'));
    assertError(await deskbell.call('GET', LOG, { token: keys.answerer }), 403, 'INSUFFICIENT_SCOPE');
    const { last_id } = await logOf(keys.librarian, from);
    assert.equal(last_id, (await logOf(token)).last_id);
  });

  it('has an own numbering for each merchant, and shows nobody another’s events', async () => {
    const other = await createKey(deskbell, ['notifications:read'], BOREALIS);
    const from = await lastId(other);
    await raise(deskbell, await deskbell.signIn());
    assert.deepEqual(await logOf(other, from), { events: [], last_id: from, more: false });
  });

  it('is read in pages, and a reader may wait for the next event', async () => {
    const token = await deskbell.signIn();
    const from = await lastId(token);
    await Promise.all([1, 2, 3].map(() => raise(deskbell, token)));
    const page = (await deskbell.call('GET', `${LOG}?after=${from}&limit=2`, { token })).json;
    assert.deepEqual([page.events.length, page.last_id, page.more], [2, from + 2, true]);
    const rest = await logOf(token, page.last_id);
    assert.deepEqual([rest.events.length, rest.last_id, rest.more], [1, from + 3, false]);
    const arrived = waitsArrive();
    const waiting = logOf(token, rest.last_id, '&wait=30');
    await arrived;
    await raise(deskbell, token);
    assert.equal((await waiting).events[0]!.type, 'notification.requested');
  });

  it('refuses bad parameters by field', async () => {
    const token = await deskbell.signIn();
    for (const [field, query] of [
      ['after', 'after=-1'],
      ['after', 'after=x'],
      ['limit', 'limit=0'],
      ['limit', 'limit=501'],
      ['wait', 'wait=46'],
    ] as const) {
      assertError(await deskbell.call('GET', `${LOG}?${query}`, { token }), 422, 'VALIDATION_ERROR', field);
    }
    assertError(await deskbell.call('GET', `${EVENTS}?after=x`, { token }), 422, 'VALIDATION_ERROR', 'after');
  });

  it('misses nothing of many writers at once', async () => {
    const token = await deskbell.signIn();
    const from = await lastId(token);
    const read: Event[] = [];
    let done = false;
    const reading = (async () => {
      for (let after = from; ; ) {
        const finished = done;
        const page = await logOf(token, after);
        read.push(...page.events);
        after = page.last_id;
        if (finished && page.events.length === 0) return;
      }
    })();
    const paths = await Promise.all(Array.from({ length: 120 }, () => raise(deskbell, token)));
    done = true;
    await reading;
    const ids = read
      .filter(({ type }) => type === 'notification.requested')
      .map(({ data }) => data.notification_id);
    assert.deepEqual(ids.map((id) => `${NOTIFICATIONS}/${id}`).sort(), paths.sort());
    assert.deepEqual(
      read.map(({ id }) => id),
      read.map((_, index) => from + 1 + index),
    );
  });

  it('the eventsource package gets what happened while it was disconnected', async () => {
    const token = await deskbell.signIn();
    const key = await createKey(deskbell);
    const told: { id: string; data: Event }[] = [];
    let connections = 0;
    let cut = () => {};
    const source = new EventSource(deskbell.url + EVENTS, {
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
      source.addEventListener('notification.requested', ({ lastEventId, data }) =>
        told.push({ id: lastEventId, data: JSON.parse(data) }),
      );
      await new Promise((resolve) => source.addEventListener('connected', resolve, { once: true }));
      // Nothing has happened since it connected.
      cut();
      const path = await raise(deskbell, token);
      await until('it hears of it', () => told.length > 0);
      assert.ok(connections >= 2);
      assert.deepEqual(
        told.map(({ data }) => `${NOTIFICATIONS}/${data.data.notification_id}`),
        [path],
      );
    } finally {
      source.close();
    }
  });

  it('a key’s stream has no events without content, and ends when the key is revoked', async () => {
    const token = await deskbell.signIn();
    const { id, key } = (await deskbell.call('POST', '/api/v1/keys', { token, body: { name: 'Listener' } }))
      .json;
    const listener = await listen(deskbell, key);
    await raise(deskbell, token);
    await listener.next('notification.requested');
    await deskbell.call('DELETE', `/api/v1/keys/${id}`, { token });
    await until('the stream ends', listener.hasEnded);
    assert.deepEqual(
      listener.events.map(({ event }) => event),
      ['connected', 'notification.requested'],
    );
  });

  it('is kept for 30 days, or as the setting says, also if nobody reads it', async () => {
    const { database, config, clock } = deskbell;
    const token = await deskbell.signIn();
    const from = await lastId(token);
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    /** What the server does regularly, so many days later. */
    const later = async (days: number, events = config.retentionDays.events) => {
      const at = new Date(clock.now().getTime() + days * 24 * 60 * 60_000);
      const retentionDays = { ...config.retentionDays, events };
      await numberUnread(database, [1 as MerchantId], at);
      await cleanUp(database, { ...config, retentionDays }, log, at);
    };
    await raise(deskbell, token);
    await later(29);
    assert.equal((await logOf(token, from)).events.length, 1);
    await raise(deskbell, token);
    await later(31);
    assert.deepEqual((await logOf(token, from)).events, []);
    await raise(deskbell, token);
    await later(31, 40);
    assert.equal((await logOf(token, from)).events.length, 1);
  });
});
