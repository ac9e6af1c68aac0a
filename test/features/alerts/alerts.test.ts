import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { followForAlerts } from '../../../src/alerts/dispatch.ts';
import { startJobs } from '../../../src/jobs/runner.ts';
import { createLogger } from '../../../src/log.ts';
import { type Merchant, newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, type Deskbell, login, logout, onEachEngine, type Reply } from '../../support/server.ts';
import { type Browser, type PushService, startPushService } from '../../support/stand-ins/push.ts';

// The clock moves by hours.
const SETTINGS = { PUSH_ALLOW_PRIVATE: 'true', ACCESS_TOKEN_TTL_SECONDS: '86400' };
const refuses = (reply: Reply, field: string) => assertError(reply, 422, 'VALIDATION_ERROR', field);
const TEXT = 'Do you have decaf beans?';

onEachEngine('alerts on a device', (engine) => {
  const first = useMerchant(engine, SETTINGS);
  let deskbell: Deskbell;
  let service: PushService;
  let shop: Merchant;
  let olga: string;
  let teo: Awaited<ReturnType<Merchant['colleague']>>;
  before(async () => {
    ({ deskbell } = first);
    service = await startPushService();
  });
  after(() => service?.close());
  beforeEach(async () => {
    shop = await newMerchant(deskbell);
    olga = await shop.token();
    teo = await shop.colleague('Teo Vidal');
    await deskbell.allSent();
    service.requests.length = 0;
    service.accepted.length = 0;
    answers(201);
  });

  const subscribe = async (token = olga, more: object = {}): Promise<Browser> => {
    const browser = service.browser();
    const { status, text } = await shop.put('/alerts/subscriptions', { ...browser, ...more }, { token });
    assert.equal(status, 200, text);
    return browser;
  };
  const settings = (token: string, change: object) => shop.patch('/alerts/settings', change, { token });
  const devices = async (token = olga) => (await shop.get('/alerts/settings', { token })).json.devices;
  const shown = () => service.accepted.map(({ endpoint, message }) => ({ endpoint, ...message }));
  const answers = (status: number, headers = {}) => {
    service.answer = (response) => response.writeHead(status, headers).end();
  };
  const pass = async (seconds: number) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
  };
  /** Raises a question and returns its id when everybody has been told. */
  const ask = async (context: object = { question: TEXT }, of = shop) => {
    const id = await of.raise({ context });
    await deskbell.allSent();
    return id;
  };

  it('show who asks what, once on every device, encrypted and signed with the server’s key', async () => {
    const [first, second] = [await subscribe(), await subscribe(teo.token, { language: 'es' })];
    const notification_id = await ask();
    const { tag } = service.accepted[0]!.message;
    const message = { kind: 'question', notification_id, customer: 'Lucía', text: TEXT, tag };
    assert.deepEqual(
      new Set(shown()),
      new Set([
        { endpoint: first.endpoint, ...message, language: 'en' },
        { endpoint: second.endpoint, ...message, language: 'es' },
      ]),
    );
    const { public_key } = (await shop.get('/alerts/key')).json;
    for (const { headers, applicationServerKey } of service.accepted)
      assert.deepEqual([applicationServerKey, headers.urgency, headers.topic], [public_key, 'high', tag]);
    assert.ok(!deskbell.logged.join('').includes(first.endpoint));
  });

  it('are not sent for what was answered meanwhile', async () => {
    await subscribe();
    // It is sent again after two seconds.
    deskbell.clock.stop();
    answers(503);
    const id = await ask();
    assert.equal(service.requests.length, 1);
    await shop.answer(id, { resolve_only: true });
    answers(201);
    await pass(3600);
    deskbell.clock.go();
    assert.equal(service.requests.length, 1);
  });

  it('tell a person what was assigned to them or mentions them, and nobody what they did themselves', async () => {
    const [hers, his] = [await subscribe(), await subscribe(teo.token)];
    for (const token of [olga, teo.token]) await settings(token, { what: 'assigned' });
    const notification_id = await shop.raise({ context: { question: TEXT } });
    const path = `/notification/${notification_id}`;
    for (const user_id of [shop.owner.id, teo.id]) await shop.put(`${path}/assignee`, { user_id });
    const text = '@Teo and @Olga, it is back on Monday.';
    await shop.post(`${path}/notes`, { text }, { token: teo.token });
    await deskbell.allSent();
    const about = { notification_id, customer: 'Lucía', language: 'en' };
    assert.deepEqual(
      new Set(shown().map(({ tag, ...rest }) => rest)),
      new Set([
        { endpoint: his.endpoint, kind: 'assigned', by: 'Olga Owner', text: TEXT, ...about },
        { endpoint: hers.endpoint, kind: 'mentioned', by: 'Teo Vidal', text, ...about },
      ]),
    );
  });

  it('have no text and no name if the person hides them, and are off if they are turned off', async () => {
    const { endpoint } = await subscribe();
    await subscribe(teo.token);
    assert.equal((await settings(olga, { hide_text: true })).status, 200);
    await settings(teo.token, { push: false });
    const notification_id = await ask();
    const { tag } = service.accepted[0]!.message;
    assert.deepEqual(shown(), [{ endpoint, kind: 'question', notification_id, tag, language: 'en' }]);
  });

  it('wait until the quiet hours are over', async () => {
    await subscribe();
    const hour = (shift: number) =>
      `${String((deskbell.clock.now().getUTCHours() + shift + 24) % 24).padStart(2, '0')}:00`;
    const quiet_hours = { from: hour(-1), to: hour(2), time_zone: 'UTC' };
    assert.equal((await settings(olga, { quiet_hours })).status, 200);
    const answered = await ask();
    const id = await ask();
    assert.deepEqual(shown(), []);
    await shop.answer(answered, { resolve_only: true });
    await pass(2 * 3600);
    assert.deepEqual(
      shown().map(({ notification_id }) => notification_id),
      [id],
    );
  });

  it('about an assignment are only for whoever still has it', async () => {
    const [hers, his] = [await subscribe(), await subscribe(teo.token)];
    for (const token of [olga, teo.token]) await settings(token, { what: 'assigned' });
    answers(429, { 'retry-after': '600' });
    const path = `/notification/${await ask()}/assignee`;
    await shop.put(path, { user_id: teo.id });
    await deskbell.allSent();
    assert.deepEqual([service.requests.length, service.accepted.length], [1, 0]);
    await shop.put(path, { user_id: shop.owner.id }, { token: teo.token });
    await deskbell.allSent();
    answers(201);
    await pass(700);
    assert.deepEqual(
      shown().map(({ endpoint }) => endpoint === his.endpoint),
      [false],
    );
    assert.equal(shown()[0]!.endpoint, hers.endpoint);
  });

  it('are retried when the push service says, with the same name, and shown once', async () => {
    await subscribe();
    answers(429, { 'retry-after': '600' });
    await ask();
    answers(201);
    await pass(500);
    assert.equal(service.requests.length, 1);
    await pass(120);
    assert.equal(service.accepted.length, 1);
    assert.equal(new Set(service.requests.map(({ headers }) => headers.topic)).size, 1);
  });

  it('end when the browser says so, and one that is refused is not sent again', async () => {
    await subscribe();
    answers(413);
    await ask();
    await pass(3600);
    assert.deepEqual([service.requests.length, await devices()], [1, 1]);
    for (const status of [404, 410]) {
      answers(status);
      await ask();
      assert.equal(await devices(), 0);
      await subscribe();
    }
    const left = await deskbell.database.all(
      `select id from deliveries where merchant_id = $1 and state in ('queued', 'sending', 'waiting')`,
      [shop.id],
    );
    assert.deepEqual(left, []);
  });

  it('end with the session, with the account, and when somebody else uses the browser', async () => {
    const other = await newMerchant(deskbell);
    const session = (await login(deskbell, shop.owner)).json;
    await subscribe(session.access_token);
    const former = await shop.colleague('Former Colleague');
    await subscribe(former.token);
    const shared = await subscribe(teo.token);
    assert.equal((await other.put('/alerts/subscriptions', shared)).status, 200);
    await logout(deskbell, session.refresh_token);
    await deskbell.database.run('update users set disabled_at = $1 where id = $2', [
      deskbell.clock.now().toISOString(),
      former.id,
    ]);
    await ask();
    assert.deepEqual(shown(), []);
    const own = 'select id from push_subscriptions where merchant_id = $1';
    assert.deepEqual(await deskbell.database.all(own, [shop.id]), []);
    await ask(undefined, other);
    assert.equal(shown()[0]?.endpoint, shared.endpoint);
  });

  it('are turned off in one browser, and tested in all of a person', async () => {
    const test = () => shop.post('/alerts/test', undefined, { token: teo.token });
    assertError(await test(), 409, 'CONFLICT');
    const [one, two] = [await subscribe(teo.token), await subscribe(teo.token)];
    await subscribe();
    assert.equal((await test()).status, 200);
    await deskbell.allSent();
    assert.deepEqual(new Set(shown().map(({ endpoint }) => endpoint)), new Set([one.endpoint, two.endpoint]));
    // The second time it is not there any more, and somebody else's browser stays.
    for (const [{ endpoint }, token] of [
      [one, teo.token],
      [one, teo.token],
      [two, olga],
    ] as const)
      assert.equal((await shop.delete('/alerts/subscriptions', { body: { endpoint }, token })).status, 200);
    assert.equal(await devices(teo.token), 1);
  });

  it('go to ten browsers of a person at most', async () => {
    for (let n = 0; n < 10; n += 1) await subscribe(teo.token);
    const known = await subscribe();
    const { token } = teo;
    assertError(await shop.put('/alerts/subscriptions', service.browser(), { token }), 409, 'CONFLICT');
    // The same browser again is no further one.
    assert.equal((await shop.put('/alerts/subscriptions', known)).status, 200);
    assert.equal(await devices(), 1);
  });

  it('have settings for each person, and go to no address that is none', async () => {
    const defaults = {
      push: true,
      hide_text: false,
      email_after_minutes: null,
      quiet_hours: 'shop',
      what: 'all',
    };
    const state = { devices: 0, mail_available: false };
    const { json } = await shop.get('/alerts/settings', { token: teo.token });
    assert.deepEqual(json, { ...defaults, ...state });
    const quiet_hours = { from: '22:00', to: '07:00', time_zone: 'Europe/Madrid' };
    const change = { what: 'mentions', quiet_hours, email_after_minutes: 1440 };
    await settings(teo.token, change);
    const changed = await shop.get('/alerts/settings', { token: teo.token });
    assert.deepEqual(changed.json, { ...defaults, ...change, ...state });
    assert.equal((await settings(teo.token, { quiet_hours: null })).json.quiet_hours, null);
    assert.deepEqual((await shop.get('/alerts/settings')).json, { ...defaults, ...state });
    for (const [wrong, field] of [
      [{ what: 'nothing' }, 'what'],
      [{ email_after_minutes: 0 }, 'email_after_minutes'],
      [{ email_after_minutes: 1441 }, 'email_after_minutes'],
      [{ push: 'yes' }, 'push'],
      [{ quiet_hours: { ...quiet_hours, time_zone: 'Mars/Base' } }, 'quiet_hours'],
      [{ quiet_hours: { ...quiet_hours, to: '22:00' } }, 'quiet_hours'],
    ] as const)
      refuses(await settings(teo.token, wrong), field);
    const good = service.browser();
    for (const [more, field] of [
      [{ endpoint: 'no address' }, 'endpoint'],
      [{ endpoint: 'ftp://push.example/1' }, 'endpoint'],
      [{ endpoint: 'https://me:secret@push.example/1' }, 'endpoint'],
      [{ endpoint: `https://push.example/${'x'.repeat(2048)}` }, 'endpoint'],
      [{ keys: { ...good.keys, auth: 'c2hvcnQ' } }, 'keys'],
      [{ keys: { ...good.keys, p256dh: Buffer.alloc(65, 4).toString('base64url') } }, 'keys'],
    ] as const)
      refuses(await shop.put('/alerts/subscriptions', { ...good, ...more }), field);
  });
});

onEachEngine('alerts that two workers make of the same events', (engine) => {
  // Nothing but this test makes alerts of them.
  const shop = useMerchant(engine, { ...SETTINGS, WORKER: 'false' });

  it('come once', async () => {
    const service = await startPushService();
    await shop.put('/alerts/subscriptions', service.browser());
    await service.close();
    for (let n = 0; n < 3; n += 1) await shop.raise();
    const { database, clock } = shop.deskbell;
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const worker = () => startJobs([followForAlerts(database, clock.now)], { database, log, now: clock.now });
    const workers = [1, 2, 3, 4].map(worker);
    await Promise.all(workers.map((each) => each.idle()));
    await Promise.all(workers.map((each) => each.stop()));
    const alerts = await database.all<{ reference: string }>(
      'select reference from deliveries where merchant_id = $1 and endpoint_id > 1000000',
      [shop.id],
    );
    assert.deepEqual([alerts.length, new Set(alerts.map(({ reference }) => reference)).size], [3, 3]);
  });
});

describe('a server on the Internet', () => {
  const shop = useMerchant('sqlite');

  it('sends alerts to no address in a private network', async () => {
    const service = await startPushService();
    const { keys } = service.browser();
    await service.close();
    for (const host of ['http://push.example', 'https://127.0.0.1', 'https://[::1]', 'https://localhost'])
      refuses(await shop.put('/alerts/subscriptions', { endpoint: `${host}/1`, keys }), 'endpoint');
  });
});
