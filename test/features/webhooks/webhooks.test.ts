import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { ANSWERED, useHooks } from '../../support/hooks.ts';
import { type ReceivedCall, startReceiver } from '../../support/receiver.ts';
import { assertError, onEachEngine, raise } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

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
const idOf = ({ headers }: ReceivedCall) => headers['webhook-id'];

onEachEngine('webhook endpoints', (engine) => {
  const hooks = useHooks(engine);
  const { deskbell, call, add, answer } = hooks;
  const attempts = async (id: number) => (await call('GET', `/${id}/attempts`)).json.attempts;

  it('receive every event once, signed, with its id from the log', async () => {
    const { secret } = await add();
    await answer();
    await deskbell.allSent();
    const { received } = hooks.receiver;
    assert.deepEqual(typesOf(received), [
      'delivery.delivered',
      'knowledge.updated',
      'notification.answered',
      'notification.requested',
    ]);
    for (const one of received) {
      assert.ok(isVerified(one, secret));
      assert.ok(!isVerified({ ...one, body: one.body.replace('"', ' "') }, secret));
      assert.equal(idOf(one), `evt_1_${one.json.data.event_id}`);
      assert.deepEqual(Object.keys(one.json), ['type', 'timestamp', 'data']);
      assert.equal(one.headers['content-type'], 'application/json');
    }
    const { json } = received.find((one) => one.json.type === 'notification.answered')!;
    assert.equal(json.data.answer, 'Yes, a Colombian one.');
    assert.equal(new Set(received.map(idOf)).size, 4);
  });

  it('receive only the types that they ask for, and only what happens after they were added', async () => {
    await answer('Before.');
    const { id } = await add(ANSWERED);
    await answer('After.');
    await deskbell.allSent();
    assert.deepEqual(
      hooks.receiver.received.map(({ json }) => json.data.answer),
      ['After.'],
    );
    await call('PATCH', `/${id}`, { body: { events: null } });
    await raise(deskbell, hooks.token);
    await deskbell.allSent();
    assert.deepEqual(typesOf(hooks.receiver.received), ['notification.answered', 'notification.requested']);
  });

  it('get the same bytes and the same id again after an error, and the log of attempts shows it', async () => {
    deskbell.clock.stop();
    const { id } = await add(ANSWERED);
    hooks.receiver.answer = (response) => response.writeHead(500).end();
    await answer();
    await deskbell.allSent();
    const [failing] = await attempts(id);
    assert.deepEqual(
      [failing.state, failing.attempts, failing.last_code, failing.type],
      ['queued', 1, 'HTTP_500', 'notification.answered'],
    );
    assert.ok(failing.next_attempt_at > failing.updated_at);
    assert.notEqual((await call('GET', `/${id}`)).json.failing_since, null);
    hooks.receiver.answer = (response) => response.writeHead(200).end();
    await deskbell.clock.advance(6);
    await deskbell.allSent();
    const [first, second, ...rest] = hooks.receiver.received;
    assert.equal(rest.length, 0);
    assert.deepEqual([first!.body, idOf(first!)], [second!.body, idOf(second!)]);
    const [sent] = await attempts(id);
    assert.deepEqual(
      [sent.state, sent.attempts, sent.last_code, sent.webhook_id, sent.event_id],
      ['sent', 2, null, idOf(first!), first!.json.data.event_id],
    );
    assert.deepEqual(
      sent.history.map(({ state, code }: { state: string; code: string | null }) => [state, code]),
      [
        ['queued', null],
        ['queued', 'HTTP_500'],
        ['sent', null],
      ],
    );
    assert.equal((await call('GET', `/${id}`)).json.failing_since, null);
    assertError(await call('GET', `/${id}/attempts?cursor=x`), 422, 'VALIDATION_ERROR', 'cursor');
    deskbell.clock.go();
  });

  it('are signed with both secrets until the overlap ends', async () => {
    const { id, secret: old } = await add(ANSWERED);
    const { secret } = (await call('POST', `/${id}/rotate`, { body: { overlap_seconds: 60 } })).json;
    assert.notEqual(secret, old);
    await answer();
    await deskbell.allSent();
    assert.deepEqual(
      [old, secret].map((one) => isVerified(hooks.receiver.received[0]!, one)),
      [true, true],
    );
    assert.notEqual((await call('GET', `/${id}`)).json.previous_secret_until, null);
    await deskbell.clock.advance(61);
    await answer();
    await deskbell.allSent();
    assert.deepEqual(
      [old, secret].map((one) => isVerified(hooks.receiver.received[1]!, one)),
      [false, true],
    );
    assert.equal((await call('GET', `/${id}`)).json.previous_secret_until, null);
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
    await deskbell.allSent();
    assert.deepEqual(typesOf(hooks.receiver.received), ['webhook.test']);
    assert.equal(idOf(hooks.receiver.received[0]!), test.webhook_id);
    assert.ok(isVerified(hooks.receiver.received[0]!, secret));
    hooks.receiver.received = [];

    for (const text of ['One.', 'Two.', 'Three.']) {
      await answer(text);
      await deskbell.clock.advance(120);
      await hooks.signIn();
    }
    const original = hooks.receiver.received;
    assert.equal(original.length, 3);
    hooks.receiver.received = [];
    const { event_id } = original[1]!.json.data;
    const replayed = await call('POST', `/${id}/replay`, { body: { event_id } });
    assert.equal(replayed.json.webhook_id, idOf(original[1]!));
    await deskbell.allSent();
    assert.deepEqual(
      hooks.receiver.received.map(({ body }) => body),
      [original[1]!.body],
    );
    hooks.receiver.received = [];
    const since = original[1]!.json.timestamp;
    assert.equal((await call('POST', `/${id}/replay`, { body: { since } })).status, 200);
    await deskbell.allSent();
    const bodies = (calls: readonly ReceivedCall[]) => calls.map(({ body }) => body).sort();
    assert.deepEqual(bodies(hooks.receiver.received), bodies(original.slice(1)));
    assert.equal((await call('GET', `/${id}`)).json.replaying, false);

    assertError(await call('POST', `/${id}/replay`, { body: { event_id: 1e9 } }), 404, 'EVENT_NOT_FOUND');
    assertError(await call('POST', `/${id}/replay`, { body: {} }), 422, 'VALIDATION_ERROR', 'event_id');
    assertError(
      await call('POST', `/${id}/replay`, { body: { since: '2026-01-15T09:30' } }),
      422,
      'VALIDATION_ERROR',
      'since',
    );
  });

  it('are stopped by a 410, and continue where they stopped when they are turned on', async () => {
    const { id } = await add(ANSWERED);
    hooks.receiver.answer = (response) => response.writeHead(410).end();
    await answer('One.');
    await deskbell.allSent();
    const stopped = (await call('GET', `/${id}`)).json;
    assert.equal(stopped.enabled, false);
    assert.match(stopped.stop_reason, /410/);
    assert.notEqual(stopped.stopped_at, null);
    assert.ok(deskbell.logged.some((line) => /"level":"error".*the channel is stopped/.test(line)));
    const audit = await deskbell.call('GET', '/api/v1/audit?what=webhook.stopped', { token: hooks.token });
    assert.equal(audit.status, 200, audit.text);
    assert.match(audit.text, new RegExp(`"webhook_id":${id}\\b`));
    assertError(await call('POST', `/${id}/test`), 409, 'CONFLICT');

    hooks.receiver.received = [];
    hooks.receiver.answer = (response) => response.writeHead(204).end();
    await answer('Two.');
    await deskbell.allSent();
    assert.equal(hooks.receiver.received.length, 0);
    const resumed = await call('PATCH', `/${id}`, { body: { enabled: true } });
    assert.deepEqual(
      [resumed.json.enabled, resumed.json.stopped_at, resumed.json.stop_reason],
      [true, null, null],
    );
    await deskbell.allSent();
    assert.deepEqual(hooks.receiver.received.map(({ json }) => json.data.answer).sort(), ['One.', 'Two.']);
  });

  it('receive nothing any more when they are removed', async () => {
    deskbell.clock.stop();
    const { id } = await add(ANSWERED);
    hooks.receiver.answer = (response) => response.writeHead(500).end();
    await answer();
    await deskbell.allSent();
    assert.equal(hooks.receiver.received.length, 1);
    assert.equal((await call('DELETE', `/${id}`)).status, 200);
    await deskbell.clock.advance(400);
    await hooks.signIn();
    await answer();
    await deskbell.allSent();
    assert.equal(hooks.receiver.received.length, 1);
    assertError(await call('GET', `/${id}`), 404, 'WEBHOOK_NOT_FOUND');
    assertError(await call('DELETE', `/${id}`), 404, 'WEBHOOK_NOT_FOUND');
    deskbell.clock.go();
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
      await until('the others have everything', async () => {
        const sent = await deskbell.database.one<{ left: number }>(
          `select count(*) as left from deliveries where endpoint_id = 0 and state = 'queued'`,
        );
        return hooks.receiver.received.length === 4 && sent!.left === 0;
      });
      await until('the one that does not answer is called', () => open.length > 0);
      hanging.answer = (response) => response.writeHead(204).end();
      for (const finish of open) finish();
      await deskbell.allSent();
      assert.equal(new Set(hanging.received.map(idOf)).size, 16);
    } finally {
      await hanging.close();
    }
  });

  it('are removed from the log of attempts after 30 days', async () => {
    const { id } = await add(ANSWERED);
    await answer();
    await deskbell.allSent();
    const log = createLogger({ logLevel: 'fatal', logPretty: false });
    await cleanUp(deskbell.database, deskbell.config, log, deskbell.clock.now());
    assert.equal((await attempts(id)).length, 1);
    const later = new Date(deskbell.clock.now().getTime() + 31 * DAY * 1000);
    await cleanUp(deskbell.database, deskbell.config, log, later);
    assert.equal((await attempts(id)).length, 0);
  });

  it('that only fail are stopped after 5 days, but not if one call succeeds', async () => {
    const { id } = await add(ANSWERED);
    const days = async (count: number) => {
      await deskbell.clock.advance(count * DAY);
      await hooks.signIn();
      await answer();
      await deskbell.allSent();
      return (await call('GET', `/${id}`)).json;
    };
    hooks.receiver.answer = (response) => response.writeHead(500).end();
    await days(0);
    assert.equal((await days(4)).enabled, true);
    hooks.receiver.answer = (response) => response.writeHead(200).end();
    assert.equal((await days(0)).failing_since, null);
    hooks.receiver.answer = (response) => response.writeHead(500).end();
    assert.equal((await days(2)).enabled, true);
    const stopped = await days(5.1);
    assert.equal(stopped.enabled, false);
    assert.equal(stopped.stop_reason, 'Every attempt has failed for 5 days.');
  });
});
