import assert from 'node:assert/strict';
import { it } from 'node:test';
import { enqueueEvents } from '../../../src/delivery/queue/endpointEvents.ts';
import { ANSWERED, useHooks } from '../../support/hooks.ts';
import { createKey } from '../../support/machineKeys.ts';
import type { ReceivedCall } from '../../support/receiver.ts';
import { AURORA, assertError, onEachEngine } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const textsOf = (calls: readonly ReceivedCall[]) => calls.map(({ json }) => json.data.answer).sort();

onEachEngine('a webhook endpoint that is repaired', (engine) => {
  const hooks = useHooks(engine);
  const { deskbell, call, add, answer } = hooks;
  const attempts = async (id: number) => (await call('GET', `/${id}/attempts`)).json.attempts;
  const works = () => {
    hooks.receiver.received = [];
    hooks.receiver.answer = (response) => response.writeHead(204).end();
  };

  /** An endpoint whose events wait for at least five minutes. The clock stands still, so that only a repair sends them. */
  async function failing(texts: readonly string[]): Promise<{ id: number; since: string }> {
    hooks.receiver.answer = (response) => response.writeHead(500).end();
    const { id } = await add(ANSWERED);
    await deskbell.clock.advance(1);
    deskbell.clock.stop();
    const since = deskbell.clock.now().toISOString();
    for (const text of texts) await answer(text);
    await deskbell.allSent();
    await deskbell.clock.advance(6);
    await deskbell.allSent();
    const now = deskbell.clock.now().toISOString();
    for (const one of await attempts(id))
      assert.deepEqual([one.attempts, one.next_attempt_at > now], [2, true]);
    works();
    return { id, since };
  }

  for (const [title, changes] of [
    ['gets what waits at once, at its new address', [{ url: 'new' }]],
    ['gets what waits at once when it is turned off and on', [{ enabled: false }, { enabled: true }]],
  ] as const) {
    it(title, async () => {
      const { id } = await failing(['One.', 'Two.']);
      try {
        for (const change of changes) {
          const body = 'url' in change ? { url: `${hooks.receiver.url}/new` } : change;
          assert.equal((await call('PATCH', `/${id}`, { body })).status, 200);
        }
        await deskbell.allSent();
        assert.deepEqual(textsOf(hooks.receiver.received), ['One.', 'Two.']);
        for (const one of await attempts(id)) assert.deepEqual([one.state, one.attempts], ['sent', 3]);
      } finally {
        deskbell.clock.go();
      }
    });
  }

  it('gets no event earlier because of another change', async () => {
    const { id } = await failing(['One.']);
    try {
      for (const body of [{ description: 'Ours' }, { url: hooks.receiver.url }, { enabled: false }])
        await call('PATCH', `/${id}`, { body });
      await deskbell.allSent();
      assert.equal(hooks.receiver.received.length, 0);
    } finally {
      deskbell.clock.go();
    }
  });

  it('gets one waiting event at once with its id, and all since a time, each once', async () => {
    const { id, since } = await failing(['One.', 'Two.', 'Three.']);
    try {
      const [waiting] = await attempts(id);
      const one = await call('POST', `/${id}/replay`, { body: { event_id: waiting.event_id } });
      assert.equal(one.json.message, 'The event was already in the queue. It is sent now.');
      await deskbell.allSent();
      assert.deepEqual(textsOf(hooks.receiver.received), ['Three.']);
      hooks.receiver.received = [];
      assert.equal((await call('POST', `/${id}/replay`, { body: { since } })).status, 200);
      await until('the replay is finished', async () => !(await call('GET', `/${id}`)).json.replaying);
      await deskbell.allSent();
      // The third one was sent before, so it is sent again.
      assert.deepEqual(textsOf(hooks.receiver.received), ['One.', 'Three.', 'Two.']);
      assert.equal((await attempts(id)).length, 4);
    } finally {
      deskbell.clock.go();
    }
  });

  it('gets what waits although its queue is full, in parts if it is much', async () => {
    const { id, since } = await failing(['One.']);
    try {
      const [{ event_id }] = await attempts(id);
      const merchantId = await merchantOf();
      const later = new Date(deskbell.clock.now().getTime() + 3_600_000);
      for (let batch = 0; batch < 11; batch += 1) {
        const events = Array.from({ length: 100 }, (_, n) => ({
          ...{
            endpointId: id,
            webhookId: `evt_${merchantId}_many_${batch}_${n}`,
            eventId: null,
            type: 'webhook.test',
          },
          body: JSON.stringify({ type: 'webhook.test', timestamp: since, data: {} }),
        }));
        await deskbell.database.transaction((tx) => enqueueEvents(tx, merchantId, events, later));
      }
      assertError(await call('POST', `/${id}/test`), 409, 'CONFLICT');
      assert.equal((await call('POST', `/${id}/replay`, { body: { event_id } })).status, 200);
      await deskbell.allSent();
      assert.deepEqual(textsOf(hooks.receiver.received), ['One.']);

      // The first answer turns it off, so that the others stay in the queue.
      hooks.receiver.answer = (response) => response.writeHead(410).end();
      const countDue = async () => {
        await deskbell.allSent();
        const row = await deskbell.database.one<{ due: number }>(
          `select count(*) as due from deliveries where endpoint_id = $1 and state = 'queued' and due_at <= $2`,
          [id, deskbell.clock.now().toISOString()],
        );
        return row!.due;
      };
      assert.equal((await call('POST', `/${id}/replay`, { body: { since } })).status, 200);
      assert.equal(await countDue(), 1000);
      assert.equal((await call('PATCH', `/${id}`, { body: { enabled: true } })).status, 200);
      assert.equal(await countDue(), 1100);
    } finally {
      deskbell.clock.go();
    }
  });

  it('gets the event at once whose attempt at the old address was still running', async () => {
    let finish = () => {};
    hooks.receiver.answer = (response) => {
      finish = () => response.writeHead(410).end();
    };
    const { id } = await add(ANSWERED);
    await answer('One.');
    await until('the old address is called', async () => hooks.receiver.received.length === 1);
    works();
    const url = `${hooks.receiver.url}/new`;
    assert.equal((await call('PATCH', `/${id}`, { body: { url } })).status, 200);
    finish();
    await deskbell.allSent();
    assert.deepEqual(
      hooks.receiver.received.map(({ path }) => path),
      ['/hooks/deskbell/new'],
    );
    const { enabled, failing_since } = (await call('GET', `/${id}`)).json;
    assert.deepEqual([enabled, failing_since], [true, null]);
  });

  it('shows no time for an event that is held behind a copy of it', async () => {
    const { id } = await failing(['One.']);
    try {
      const [first] = await attempts(id);
      const { webhook_id: webhookId, event_id: eventId, type } = first;
      const copy = { endpointId: id, webhookId, eventId, type, body: '{}' };
      const merchantId = await merchantOf();
      const at = deskbell.clock.now();
      await deskbell.database.transaction((tx) => enqueueEvents(tx, merchantId, [copy], at));
      // Wakes the worker, which finds that it is held.
      await call('PATCH', `/${id}`, { body: { description: 'Ours' } });
      await deskbell.allSent();
      const times = (await attempts(id)).map((one: { next_attempt_at: string }) => one.next_attempt_at);
      assert.deepEqual(times, [null, first.next_attempt_at]);
    } finally {
      deskbell.clock.go();
    }
  });

  it('keeps its texts when a key sets the address that it has', async () => {
    const { id } = await add(ANSWERED);
    const key = await createKey(deskbell, ['webhooks']);
    const patch = (url: string) => call('PATCH', `/${id}`, { token: key, body: { url } });
    assert.equal((await patch(hooks.receiver.url)).json.include_content, true);
    assert.equal((await patch(`${hooks.receiver.url}/2`)).json.include_content, false);
  });

  async function merchantOf() {
    const row = await deskbell.database.one<{ merchant_id: Parameters<typeof enqueueEvents>[1] }>(
      'select merchant_id from users where email = $1',
      [AURORA.email],
    );
    return row!.merchant_id;
  }
});
