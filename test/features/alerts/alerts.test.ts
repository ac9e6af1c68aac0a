import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { dispatchAlerts } from '../../../src/alerts/dispatch.ts';
import { createLogger } from '../../../src/log.ts';
import { addColleague, type Colleague, disable } from '../../support/colleagues.ts';
import {
  AURORA,
  assertError,
  login,
  logout,
  onEachEngine,
  QUESTION,
  type Reply,
  raise,
  startDeskbell,
  startSecondServer,
  useDeskbell,
  useOwners,
} from '../../support/server.ts';
import { type Browser, type PushService, startPushService } from '../../support/stand-ins/push.ts';

const ALERTS = '/api/v1/alerts';
// The clock moves by hours.
const SETTINGS = { PUSH_ALLOW_PRIVATE: 'true', ACCESS_TOKEN_TTL_SECONDS: '86400' };
const refuses = (reply: Reply, field: string) => assertError(reply, 422, 'VALIDATION_ERROR', field);

onEachEngine('alerts on a device', (engine) => {
  const deskbell = useDeskbell(engine, SETTINGS);
  const tokens = useOwners(deskbell);
  let service: PushService;
  let teo: Colleague;
  before(async () => {
    service = await startPushService();
    teo = await addColleague(deskbell, 'Teo Vidal');
  });
  after(() => service?.close());
  beforeEach(async () => {
    await deskbell.database.run('delete from alert_settings');
    await deskbell.database.run('delete from push_subscriptions');
    await deskbell.allSent();
    service.requests.length = 0;
    service.accepted.length = 0;
    answers(201);
  });

  const call = (token: string, method: string, path: string, body?: unknown) =>
    deskbell.call(method, ALERTS + path, { token, ...(body === undefined ? {} : { body }) });
  async function subscribe(token: string, more: object = {}): Promise<Browser> {
    const browser = service.browser();
    const { status, text } = await call(token, 'PUT', '/subscriptions', { ...browser, ...more });
    assert.equal(status, 200, text);
    return browser;
  }
  const settings = (token: string, change: object) => call(token, 'PATCH', '/settings', change);
  const idOf = (address: string) => Number(address.split('/').at(-1));
  const shown = () => service.accepted.map(({ endpoint, message }) => ({ endpoint, ...message }));
  const answers = (status: number, headers = {}) => {
    service.answer = (response) => response.writeHead(status, headers).end();
  };
  const pass = async (seconds: number) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
  };
  /** Raises a question and returns its id when everybody has been told. */
  const ask = async (body: object = QUESTION, token = tokens.aurora) => {
    const id = idOf(await raise(deskbell, token, body));
    await deskbell.allSent();
    return id;
  };
  const resolve = (id: number) =>
    deskbell.call('POST', `/api/v1/notification/${id}/answer`, {
      token: teo.token,
      body: { resolve_only: true },
    });

  it('show who asks what, once on every device, encrypted and signed with the server’s key', async () => {
    const [first, second] = [await subscribe(tokens.aurora), await subscribe(teo.token, { language: 'es' })];
    const id = await ask();
    const text = QUESTION.context.question;
    const message = { kind: 'question', notification_id: id, customer: 'Lucía Fernández', text };
    const tag = service.accepted[0]!.message.tag;
    assert.deepEqual(
      shown().sort((a) => (a.endpoint === first.endpoint ? -1 : 1)),
      [
        { endpoint: first.endpoint, ...message, tag, language: 'en' },
        { endpoint: second.endpoint, ...message, tag, language: 'es' },
      ],
    );
    const { public_key } = (await call(teo.token, 'GET', '/key')).json;
    for (const { headers, applicationServerKey } of service.accepted) {
      assert.equal(applicationServerKey, public_key);
      assert.equal(headers.urgency, 'high');
      assert.equal(headers.topic, tag);
    }
    assert.ok(!deskbell.logged.join('').includes(first.endpoint));
  });

  it('are not sent for what was answered meanwhile', async () => {
    await subscribe(tokens.aurora);
    // It is sent again after two seconds.
    deskbell.clock.stop();
    answers(503);
    const id = await ask();
    assert.equal(service.requests.length, 1);
    await resolve(id);
    answers(201);
    await pass(3600);
    deskbell.clock.go();
    assert.equal(service.requests.length, 1);
  });

  it('tell a person what was assigned to them or mentions them, and nobody what they did themselves', async () => {
    const [alma, her] = [await subscribe(tokens.aurora), await subscribe(teo.token)];
    for (const token of [tokens.aurora, teo.token]) await settings(token, { what: 'assigned' });
    const address = await raise(deskbell, tokens.aurora);
    const id = idOf(address);
    const put = (token: string, user_id: number) =>
      deskbell.call('PUT', `${address}/assignee`, { token, body: { user_id } });
    await put(tokens.aurora, 1);
    await put(tokens.aurora, teo.id);
    const text = '@Teo and @Alma, it is back on Monday.';
    await deskbell.call('POST', `${address}/notes`, { token: teo.token, body: { text } });
    await deskbell.allSent();
    const about = { notification_id: id, customer: 'Lucía Fernández', language: 'en' };
    assert.deepEqual(
      shown()
        .map(({ tag, ...rest }) => rest)
        .sort((a, b) => a.kind.localeCompare(b.kind)),
      [
        {
          ...{ endpoint: her.endpoint, kind: 'assigned', by: 'Alma Reyes', text: QUESTION.context.question },
          ...about,
        },
        { endpoint: alma.endpoint, kind: 'mentioned', by: 'Teo Vidal', text, ...about },
      ],
    );
  });

  it('tell of a message that was not delivered', async () => {
    await subscribe(teo.token);
    const id = await ask({ ...QUESTION, context: { question: 'Q?', lead_phone: 'unknown' } });
    const path = `/api/v1/notification/${id}/answer`;
    await deskbell.call('POST', path, { token: tokens.aurora, body: { answer: 'Yes.' } });
    await deskbell.allSent();
    assert.deepEqual(
      shown().map(({ kind, notification_id }) => [kind, notification_id]),
      [
        ['question', id],
        ['failed', id],
      ],
    );
  });

  it('have no text and no name if the person hides them, and are off if they are turned off', async () => {
    const browser = await subscribe(tokens.aurora);
    await subscribe(teo.token);
    assert.equal((await settings(tokens.aurora, { hide_text: true })).status, 200);
    await settings(teo.token, { push: false });
    const id = await ask();
    const { tag } = service.accepted[0]!.message;
    const language = 'en';
    assert.deepEqual(shown(), [
      { endpoint: browser.endpoint, kind: 'question', notification_id: id, tag, language },
    ]);
  });

  it('wait until the quiet hours are over', async () => {
    await subscribe(tokens.aurora);
    const hour = (shift: number) =>
      `${String((deskbell.clock.now().getUTCHours() + shift + 24) % 24).padStart(2, '0')}:00`;
    const quiet_hours = { from: hour(-1), to: hour(2), time_zone: 'UTC' };
    assert.equal((await settings(tokens.aurora, { quiet_hours })).status, 200);
    const answered = await ask();
    const id = await ask();
    assert.deepEqual(shown(), []);
    await resolve(answered);
    await pass(2 * 3600);
    assert.deepEqual(
      shown().map(({ notification_id }) => notification_id),
      [id],
    );
  });

  it('are retried when the push service says, with the same name, and shown once', async () => {
    await subscribe(tokens.aurora);
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
    await subscribe(tokens.aurora);
    const devices = async () => (await call(tokens.aurora, 'GET', '/settings')).json.devices;
    answers(413);
    await ask();
    await pass(3600);
    assert.equal(service.requests.length, 1);
    assert.equal(await devices(), 1);
    for (const status of [404, 410]) {
      answers(status);
      await ask();
      assert.equal(await devices(), 0);
      await subscribe(tokens.aurora);
    }
    const left = await deskbell.database.all(
      `select id from deliveries where endpoint_id > 1000000 and state in ('queued', 'sending', 'waiting')`,
    );
    assert.deepEqual(left, []);
  });

  it('end with the session, with the account, and when somebody else uses the browser', async () => {
    const session = (await login(deskbell, AURORA)).json;
    await subscribe(session.access_token);
    const former = await addColleague(deskbell, 'Former Colleague');
    await subscribe(former.token);
    const shared = await subscribe(teo.token);
    const borealis = await call(tokens.borealis, 'PUT', '/subscriptions', shared);
    assert.equal(borealis.status, 200, borealis.text);
    await logout(deskbell, session.refresh_token);
    await disable(deskbell, former);
    await ask();
    assert.deepEqual(shown(), []);
    const left = await deskbell.database.all<{ merchant_id: number }>(
      'select merchant_id from push_subscriptions order by id',
    );
    assert.deepEqual(
      left.map(({ merchant_id }) => merchant_id),
      [2],
    );
    await ask({ ...QUESTION, conversation_id: 4 }, tokens.borealis);
    assert.equal(shown()[0]?.endpoint, shared.endpoint);
  });

  it('are turned off in one browser, and tested in all of a person', async () => {
    assertError(await call(teo.token, 'POST', '/test'), 409, 'CONFLICT');
    const [one, two] = [await subscribe(teo.token), await subscribe(teo.token)];
    await subscribe(tokens.aurora);
    assert.equal((await call(teo.token, 'POST', '/test')).status, 200);
    await deskbell.allSent();
    assert.deepEqual(
      shown()
        .map(({ endpoint }) => endpoint)
        .sort(),
      [one.endpoint, two.endpoint].sort(),
    );
    for (let n = 0; n < 2; n += 1) {
      const { status } = await call(teo.token, 'DELETE', '/subscriptions', { endpoint: one.endpoint });
      assert.equal(status, 200);
    }
    assert.equal((await call(teo.token, 'GET', '/settings')).json.devices, 1);
    // Somebody else's browser stays.
    await call(tokens.aurora, 'DELETE', '/subscriptions', { endpoint: two.endpoint });
    assert.equal((await call(teo.token, 'GET', '/settings')).json.devices, 1);
  });

  it('go to ten browsers of a person at most', async () => {
    for (let n = 0; n < 10; n += 1) await subscribe(teo.token);
    const known = await subscribe(tokens.aurora);
    assertError(await call(teo.token, 'PUT', '/subscriptions', service.browser()), 409, 'CONFLICT');
    // The same browser again is no further one.
    assert.equal((await call(tokens.aurora, 'PUT', '/subscriptions', known)).status, 200);
    assert.equal((await call(tokens.aurora, 'GET', '/settings')).json.devices, 1);
  });

  it('have settings for each person, which are checked', async () => {
    const defaults = {
      push: true,
      hide_text: false,
      email_after_minutes: null,
      quiet_hours: 'shop',
      what: 'all',
    };
    const { json } = await call(teo.token, 'GET', '/settings');
    assert.deepEqual(json, { ...defaults, devices: 0, mail_available: false });
    const quiet_hours = { from: '22:00', to: '07:00', time_zone: 'Europe/Madrid' };
    const changed = await settings(teo.token, { what: 'mentions', quiet_hours, email_after_minutes: 1440 });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual((await call(teo.token, 'GET', '/settings')).json, changed.json);
    assert.deepEqual(
      [changed.json.what, changed.json.quiet_hours, changed.json.push],
      ['mentions', quiet_hours, true],
    );
    assert.deepEqual((await settings(teo.token, { quiet_hours: null })).json.quiet_hours, null);
    for (const [change, field] of [
      [{ what: 'nothing' }, 'what'],
      [{ email_after_minutes: 0 }, 'email_after_minutes'],
      [{ email_after_minutes: 1441 }, 'email_after_minutes'],
      [{ push: 'yes' }, 'push'],
      [{ quiet_hours: { ...quiet_hours, time_zone: 'Mars/Base' } }, 'quiet_hours'],
      [{ quiet_hours: { ...quiet_hours, to: '22:00' } }, 'quiet_hours'],
    ] as const)
      refuses(await settings(teo.token, change), field);
  });

  it('go to no address that is none', async () => {
    const good = service.browser();
    for (const [more, field] of [
      [{ endpoint: 'no address' }, 'endpoint'],
      [{ endpoint: 'ftp://push.example/1' }, 'endpoint'],
      [{ endpoint: 'https://me:secret@push.example/1' }, 'endpoint'],
      [{ endpoint: `https://push.example/${'x'.repeat(2048)}` }, 'endpoint'],
      [{ keys: { ...good.keys, auth: 'c2hvcnQ' } }, 'keys'],
      [{ keys: { ...good.keys, p256dh: Buffer.alloc(65, 4).toString('base64url') } }, 'keys'],
    ] as const)
      refuses(await call(teo.token, 'PUT', '/subscriptions', { ...good, ...more }), field);
  });

  it('come once, with one key, from several servers', { skip: engine === 'sqlite' }, async () => {
    const second = await startSecondServer(deskbell, SETTINGS);
    try {
      const servers = [deskbell, second];
      const token = tokens.aurora;
      const keys = await Promise.all(servers.map((server) => server.call('GET', `${ALERTS}/key`, { token })));
      assert.equal(new Set(keys.map(({ text }) => text)).size, 1);
      await subscribe(token);
      for (let n = 0; n < 10; n += 1) await raise(servers[n % 2]!, token);
      for (const server of [...servers, ...servers]) await server.allSent();
      const ids = service.requests.map(({ message }) => message.notification_id);
      assert.deepEqual([ids.length, new Set(ids).size], [10, 10]);
    } finally {
      await second.close();
    }
  });

  it('come once if two workers look at the same events', async () => {
    // Nothing but this test makes alerts of them.
    const idle = await startDeskbell(engine, { ...SETTINGS, WORKER: 'false' });
    try {
      const { database, clock } = idle;
      const token = await idle.signIn();
      const body = service.browser();
      await idle.call('PUT', `${ALERTS}/subscriptions`, { token, body });
      for (let n = 0; n < 3; n += 1) await raise(idle, token);
      const log = createLogger({ logLevel: 'silent', logPretty: false });
      const look = () => dispatchAlerts({ database, log, now: clock.now });
      await Promise.all(Array.from({ length: 4 }, look));
      const alerts = await database.all<{ reference: string }>(
        'select reference from deliveries where merchant_id = 1 and endpoint_id > 1000000',
      );
      assert.deepEqual([alerts.length, new Set(alerts.map(({ reference }) => reference)).size], [3, 3]);
    } finally {
      await idle.close();
    }
  });
});

describe('a server on the Internet', () => {
  const deskbell = useDeskbell('sqlite');

  it('sends alerts to no address in a private network', async () => {
    const token = await deskbell.signIn();
    const service = await startPushService();
    const { keys } = service.browser();
    await service.close();
    const hosts = ['http://push.example', 'https://127.0.0.1', 'https://[::1]', 'https://localhost'];
    for (const host of hosts) {
      const body = { endpoint: `${host}/1`, keys };
      refuses(await deskbell.call('PUT', `${ALERTS}/subscriptions`, { token, body }), 'endpoint');
    }
  });
});
