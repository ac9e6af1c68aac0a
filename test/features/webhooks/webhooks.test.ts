import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { ANSWERED, useHooks } from '../../support/hooks.ts';
import { type ReceivedCall, startReceiver } from '../../support/receiver.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { accept, until } from '../../support/shops.ts';

const DAY = 86_400;

const isVerified = ({ body, headers }: ReceivedCall, secret: string): boolean => {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};
const typesOf = (calls: readonly ReceivedCall[]) => calls.map(({ json }) => json.type).sort();
const textsOf = (calls: readonly ReceivedCall[]) => calls.map(({ json }) => json.data.answer).sort();
const bodiesOf = (calls: readonly ReceivedCall[]) => calls.map(({ body }) => body).sort();
const idOf = ({ headers }: ReceivedCall) => headers['webhook-id'];

onEachEngine('webhook endpoints', (engine) => {
  const hooks = useHooks(engine);
  const { shop, deskbell, call, add, change, read, answer, sent, responds } = hooks;
  const attempts = async (id: number) => (await read(id, '/attempts')).attempts;
  afterEach(() => deskbell.clock.go());

  it('receive every event once, signed, with its id from the log', async () => {
    const { secret } = await add();
    await answer('Yes, a Colombian one.');
    const received = await sent();
    assert.deepEqual(typesOf(received), [
      'delivery.delivered',
      'knowledge.updated',
      'notification.answered',
      'notification.requested',
    ]);
    for (const one of received) {
      assert.ok(isVerified(one, secret));
      assert.ok(!isVerified({ ...one, body: one.body.replace('"', ' "') }, secret));
      assert.equal(idOf(one), `evt_${shop.id}_${one.json.data.event_id}`);
      assert.deepEqual(Object.keys(one.json), ['type', 'timestamp', 'data']);
      assert.equal(one.headers['content-type'], 'application/json');
    }
    assert.deepEqual(textsOf(received).at(0), 'Yes, a Colombian one.');
    assert.equal(new Set(received.map(idOf)).size, 4);
  });

  it('receive only the types that they ask for, and only what happens after they were added', async () => {
    await answer('Before.');
    const { id } = await add(ANSWERED);
    await answer('After.');
    assert.deepEqual(textsOf(await sent()), ['After.']);
    await change(id, { events: null });
    await shop.raise();
    assert.deepEqual(typesOf(await sent()), ['notification.requested']);
  });

  it('get the same bytes and the same id again after an error, and the log of attempts shows it', async () => {
    deskbell.clock.stop();
    const { id } = await add(ANSWERED);
    responds(500);
    await answer();
    const [first] = await sent();
    const [failing] = await attempts(id);
    assert.deepEqual(
      [failing.state, failing.attempts, failing.last_code, failing.type],
      ['queued', 1, 'HTTP_500', 'notification.answered'],
    );
    assert.ok(failing.next_attempt_at > failing.updated_at);
    assert.notEqual((await read(id)).failing_since, null);
    responds(200);
    await deskbell.clock.advance(6);
    const repeated = (await sent()).map((one) => [one.body, idOf(one)]);
    assert.deepEqual(repeated, [[first!.body, idOf(first!)]]);
    const [one] = await attempts(id);
    assert.deepEqual(
      [one.state, one.attempts, one.last_code, one.webhook_id, one.event_id],
      ['sent', 2, null, idOf(first!), first!.json.data.event_id],
    );
    assert.deepEqual(
      one.history.map(({ state, code }: { state: string; code: string | null }) => [state, code]),
      [
        ['queued', null],
        ['queued', 'HTTP_500'],
        ['sent', null],
      ],
    );
    assert.equal((await read(id)).failing_since, null);
    assertError(await call('GET', `/${id}/attempts?cursor=x`), 422, 'VALIDATION_ERROR', 'cursor');
  });

  it('are signed with both secrets until the overlap ends', async () => {
    const { id, secret: old } = await add(ANSWERED);
    const { secret } = (await call('POST', `/${id}/rotate`, { body: { overlap_seconds: 60 } })).json;
    const verified = async () => {
      await answer();
      const [one] = await sent();
      return [old, secret].map((known) => isVerified(one!, known));
    };
    assert.deepEqual(await verified(), [true, true]);
    assert.notEqual((await read(id)).previous_secret_until, null);
    await deskbell.clock.advance(61);
    assert.deepEqual(await verified(), [false, true]);
    assert.equal((await read(id)).previous_secret_until, null);
    assert.equal((await call('POST', `/${id}/rotate`)).status, 200);
    // Nothing shows the secret again.
    for (const path of ['', `/${id}`]) assert.doesNotMatch((await call('GET', path)).text, /whsec_/);
    const stored = await deskbell.database.one<{ sealed_settings: string }>(
      'select sealed_settings from webhook_endpoints where id = $1',
      [id],
    );
    assert.ok(!stored!.sealed_settings.includes(secret) && !stored!.sealed_settings.includes('hooks'));
  });

  it('can be tested, and get one event or all since a time again, with the same bytes', async () => {
    const { id, secret } = await add(ANSWERED);
    const test = (await call('POST', `/${id}/test`)).json;
    const [first] = await sent();
    assert.deepEqual([first!.json.type, idOf(first!)], ['webhook.test', test.webhook_id]);
    assert.ok(isVerified(first!, secret));

    const original: ReceivedCall[] = [];
    for (const text of ['One.', 'Two.', 'Three.']) {
      await answer(text);
      original.push(...(await sent()));
      await deskbell.clock.advance(120);
    }
    const replay = (body: object) => call('POST', `/${id}/replay`, { body });
    const { timestamp: since, data } = original[1]!.json;
    assert.equal((await replay({ event_id: data.event_id })).json.webhook_id, idOf(original[1]!));
    assert.deepEqual(bodiesOf(await sent()), bodiesOf([original[1]!]));
    assert.equal((await replay({ since })).status, 200);
    assert.deepEqual(bodiesOf(await sent()), bodiesOf(original.slice(1)));
    assert.equal((await read(id)).replaying, false);

    assertError(await replay({ event_id: 1e9 }), 404, 'EVENT_NOT_FOUND');
    assertError(await replay({}), 422, 'VALIDATION_ERROR', 'event_id');
    assertError(await replay({ since: '2026-01-15T09:30' }), 422, 'VALIDATION_ERROR', 'since');
  });

  it('are stopped by a 410, and continue where they stopped when they are turned on', async () => {
    const { id } = await add(ANSWERED);
    responds(410);
    await answer('One.');
    await sent();
    const stopped = await read(id);
    assert.deepEqual([stopped.enabled, stopped.stopped_at === null], [false, false]);
    assert.match(stopped.stop_reason, /410/);
    assert.ok(deskbell.logged.some((line) => /"level":"error".*the channel is stopped/.test(line)));
    const audit = await shop.get('/audit?what=webhook.stopped');
    assert.match(audit.text, new RegExp(`"webhook_id":${id}\\b`));
    assertError(await call('POST', `/${id}/test`), 409, 'CONFLICT');

    responds(204);
    await answer('Two.');
    assert.deepEqual(await sent(), []);
    const { enabled, stopped_at, stop_reason } = (await change(id, { enabled: true })).json;
    assert.deepEqual([enabled, stopped_at, stop_reason], [true, null, null]);
    assert.deepEqual(textsOf(await sent()), ['One.', 'Two.']);
  });

  it('that do not answer delay neither messages to customers nor other endpoints', async () => {
    const hanging = await startReceiver();
    const open: (() => void)[] = [];
    hanging.answer = (response) => {
      open.push(() => response.writeHead(204).end());
    };
    try {
      await add({ url: hanging.url });
      await add(ANSWERED);
      for (let n = 0; n < 4; n += 1) await answer();
      const waiting = `select 1 from deliveries where merchant_id = $1 and endpoint_id = 0 and state = 'queued'`;
      await until('the others have everything', async () => {
        const left = await deskbell.database.all(waiting, [shop.id]);
        return hooks.receiver.received.length === 4 && left.length === 0;
      });
      await until('the one that does not answer is called', () => open.length > 0);
      hanging.answer = accept;
      for (const finish of open) finish();
      await deskbell.allSent();
      assert.equal(new Set(hanging.received.map(idOf)).size, 16);
    } finally {
      await hanging.close();
    }
  });

  it('that only fail are stopped after 5 days, but not if one call succeeds', async () => {
    const { id } = await add(ANSWERED);
    const after = async (days: number) => {
      await deskbell.clock.advance(days * DAY);
      await answer();
      await sent();
      return read(id);
    };
    responds(500);
    await after(0);
    assert.equal((await after(4)).enabled, true);
    responds(200);
    assert.equal((await after(0)).failing_since, null);
    responds(500);
    assert.equal((await after(2)).enabled, true);
    assert.equal((await after(5.1)).enabled, false);
  });

  /** An endpoint whose events wait for at least five minutes. The clock stands still, so that only a repair sends them. */
  async function failing(texts: readonly string[]): Promise<{ id: number; since: string }> {
    responds(500);
    const { id } = await add(ANSWERED);
    await deskbell.clock.advance(1);
    deskbell.clock.stop();
    const since = deskbell.clock.now().toISOString();
    for (const text of texts) await answer(text);
    await sent();
    await deskbell.clock.advance(6);
    await sent();
    for (const one of await attempts(id)) assert.equal(one.attempts, 2);
    responds(204);
    return { id, since };
  }
  const moved = () => ({ url: `${hooks.receiver.url}/new` });

  it('get what waits at once when they have a new address or are turned off and on, not after another change', async () => {
    for (const repair of [moved(), { enabled: true }]) {
      const { id } = await failing(['One.', 'Two.']);
      const others = [{ description: 'Ours' }, { url: hooks.receiver.url }];
      for (const body of 'url' in repair ? others : [{ enabled: false }])
        assert.equal((await change(id, body)).status, 200);
      assert.deepEqual(await sent(), []);
      assert.equal((await change(id, repair)).status, 200);
      assert.deepEqual(textsOf(await sent()), ['One.', 'Two.']);
      for (const one of await attempts(id)) assert.deepEqual([one.state, one.attempts], ['sent', 3]);
      responds(500);
      await answer();
      await sent();
      // Removed, it gets nothing any more.
      assert.equal((await call('DELETE', `/${id}`)).status, 200);
      await deskbell.clock.advance(400);
      await answer();
      assert.deepEqual(await sent(), []);
    }
  });

  it('get one waiting event at once with its id, and all since a time, each once', async () => {
    const { id, since } = await failing(['One.', 'Two.', 'Three.']);
    const [{ event_id }] = await attempts(id);
    await call('POST', `/${id}/replay`, { body: { event_id } });
    assert.deepEqual(textsOf(await sent()), ['Three.']);
    assert.equal((await call('POST', `/${id}/replay`, { body: { since } })).status, 200);
    await until('the replay is finished', async () => !(await read(id)).replaying);
    // The third one was sent before, so it is sent again.
    assert.deepEqual(textsOf(await sent()), ['One.', 'Three.', 'Two.']);
    assert.equal((await attempts(id)).length, 4);
  });

  it('get the event at once whose attempt at the old address was still running', async () => {
    let finish = () => {};
    hooks.receiver.answer = (response) => {
      finish = () => response.writeHead(410).end();
    };
    const { id } = await add(ANSWERED);
    await answer('One.');
    await until('the old address is called', () => hooks.receiver.received.length === 1);
    hooks.receiver.received = [];
    responds(204);
    assert.equal((await change(id, moved())).status, 200);
    finish();
    assert.deepEqual(
      (await sent()).map(({ path }) => path),
      ['/hooks/deskbell/new'],
    );
    const { enabled, failing_since } = await read(id);
    assert.deepEqual([enabled, failing_since], [true, null]);
  });
});
