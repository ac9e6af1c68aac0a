import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { addColleague } from '../../support/colleagues.ts';
import { answer, ask } from '../../support/inbox.ts';
import {
  type Deskbell,
  onEachEngine,
  startSecondServer,
  useDeskbell,
  useOwners,
} from '../../support/server.ts';
import { type MailServer, mailSettings, startMailServer } from '../../support/stand-ins/mail.ts';
import { type PushService, startPushService } from '../../support/stand-ins/push.ts';

const MINUTE = 60;
const CAMPAIGN = { answer: 'It is back.', only_send_campaign: true };

interface Told {
  notification_id: number;
  delivery_id: number;
  kind: string;
  state: string;
}

onEachEngine('messages that begin to need attention', (engine) => {
  let mail: MailServer;
  let service: PushService;
  const settings: Record<string, string> = {
    PUSH_ALLOW_PRIVATE: 'true',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
    CHANNEL_DAILY_LIMIT: '1',
    ALLOWED_HOSTS: '127.0.0.1',
  };
  before(async () => {
    [mail, service] = [await startMailServer(), await startPushService()];
    Object.assign(settings, mailSettings(mail));
  });
  const deskbell = useDeskbell(engine, settings);
  const tokens = useOwners(deskbell);
  after(async () => {
    await service?.close();
    await mail?.close();
  });
  before(async () => {
    deskbell.clock.stop();
    for (const token of [tokens.aurora, tokens.borealis]) await subscribe(token);
    // It uses up the limit of the day.
    await write(tokens.aurora);
    await deskbell.allSent();
  });
  beforeEach(async () => {
    await deskbell.database.run('delete from channel_stops');
    await deskbell.database.run(
      `update deliveries set state = 'cancelled' where endpoint_id = 0 and state in ('queued', 'waiting')`,
    );
    await pass(MINUTE);
    service.accepted.length = 0;
  });

  let written = 0;
  /** A campaign to a customer of its own, which waits because of the limit. Returns its notification. */
  async function write(token: string, body: object = CAMPAIGN): Promise<number> {
    written += 1;
    const id = await ask(deskbell, token, `Is number ${written} back?`, {
      lead_phone: `+3461155${2000 + written}`,
    });
    await answer(deskbell, token, id, body);
    return id;
  }
  async function subscribe(token: string) {
    const body = service.browser();
    const reply = await deskbell.call('PUT', '/api/v1/alerts/subscriptions', { token, body });
    assert.equal(reply.status, 200, reply.text);
  }
  const change = (token: string, body: object) =>
    deskbell.call('PATCH', '/api/v1/alerts/settings', { token, body });
  /** Lets this time pass, and everything happen that is due then. */
  async function pass(seconds: number, ...others: readonly Deskbell[]) {
    const servers = [deskbell, ...others];
    await Promise.all(servers.map((server) => server.allSent()));
    for (const { clock } of servers) clock.jump(seconds);
    for (let n = 0; n < 3; n += 1) await Promise.all(servers.map((server) => server.allSent()));
  }
  async function eventsOf(id: number, token = tokens.aurora) {
    const { json } = await deskbell.call('GET', '/api/v1/events/log?after=0&limit=500', { token });
    assert.equal(json.more, false);
    return (json.events as { type: string; data: Told }[])
      .map(({ type, data }) => ({ type, ...data }))
      .filter((one) => one.type === 'delivery.needs_attention' && one.notification_id === id);
  }
  /** Of the alerts about messages: their kind and their notification. */
  const alerts = () =>
    service.accepted
      .map(({ message }) => message)
      .filter(({ kind }) => kind === 'waiting' || kind === 'stopped')
      .map(({ kind, notification_id }) => [kind, notification_id]);
  const stopChannel = () =>
    deskbell.database.run(
      `insert into channel_stops (channel_id, kind, code, stopped_at, until, probes)
        values ('simulator', 'refused', '190', $1, '9999-01-01T00:00:00.000Z', 0)`,
      [deskbell.clock.now().toISOString()],
    );

  it('are an event and an alert after ten minutes, once, and only those that still wait', async () => {
    const id = await write(tokens.aurora);
    await pass(9 * MINUTE);
    assert.deepEqual(await eventsOf(id), []);
    await pass(2 * MINUTE);
    const [event, ...others] = await eventsOf(id);
    assert.deepEqual([event!.kind, event!.state, others], ['waiting', 'waiting', []]);
    assert.deepEqual(alerts(), [['waiting', id]]);
    await pass(60 * MINUTE);
    assert.equal((await eventsOf(id)).length, 1);
    assert.equal(alerts().length, 1);
    assert.deepEqual(await eventsOf(id, tokens.borealis), []);
  });

  it('are an event and an alert at once if their channel is stopped, and not again when they have waited', async () => {
    await stopChannel();
    const id = await write(tokens.aurora, { answer: 'Yes.' });
    await pass(2);
    const [event] = await eventsOf(id);
    assert.deepEqual([event!.kind, event!.state], ['stopped', 'queued']);
    await pass(20 * MINUTE);
    assert.equal((await eventsOf(id)).length, 1);
    assert.deepEqual(alerts(), [['stopped', id]]);
  });

  it('are not told any more when they have been sent or cancelled', async () => {
    const id = await write(tokens.aurora);
    service.answer = (response) => response.writeHead(503).end();
    await pass(11 * MINUTE);
    const { delivery_id } = (await eventsOf(id))[0]!;
    await deskbell.call('POST', `/api/v1/delivery/${delivery_id}/cancel`, { token: tokens.aurora });
    service.answer = (response) => response.writeHead(201).end();
    await pass(60 * MINUTE);
    assert.deepEqual(alerts(), []);
  });

  it('are told again after a person has sent them again', async () => {
    const id = await write(tokens.aurora);
    await pass(11 * MINUTE);
    const { delivery_id } = (await eventsOf(id))[0]!;
    for (const action of ['cancel', 'retry']) {
      const path = `/api/v1/delivery/${delivery_id}/${action}`;
      assert.equal((await deskbell.call('POST', path, { token: tokens.aurora })).status, 200);
    }
    await pass(9 * MINUTE);
    assert.equal((await eventsOf(id)).length, 1);
    await pass(2 * MINUTE);
    assert.equal((await eventsOf(id)).length, 2);
  });

  it('follow what a person wants to hear', async () => {
    await change(tokens.aurora, { what: 'mentions' });
    const id = await write(tokens.aurora);
    await pass(11 * MINUTE);
    assert.equal((await eventsOf(id)).length, 1);
    assert.deepEqual(alerts(), []);
    await change(tokens.aurora, { what: 'assigned' });
    const [mine, other] = [await write(tokens.aurora), await write(tokens.aurora)];
    const { id: user_id } = (await deskbell.call('GET', '/api/v1/auth/me', { token: tokens.aurora })).json;
    const assignee = `/api/v1/notification/${mine}/assignee`;
    await deskbell.call('PUT', assignee, { token: tokens.aurora, body: { user_id } });
    await pass(11 * MINUTE);
    assert.equal((await eventsOf(other)).length, 1);
    assert.deepEqual(alerts(), [['waiting', mine]]);
    await change(tokens.aurora, { what: 'all' });
  });

  it('are told by e-mail if nobody looks, also those that failed', async () => {
    const teo = await addColleague(deskbell, 'Teo Vidal');
    const mails = () => mail.received.filter(({ to }) => to.includes(teo.email));
    /** Not a number: it fails at once. */
    const fail = async (lead_phone: string) => {
      const id = await ask(deskbell, tokens.aurora, 'Call me?', { lead_phone });
      await answer(deskbell, tokens.aurora, id, { answer: 'Yes.' });
    };
    await change(teo.token, { email_after_minutes: 5 });
    await pass(1);
    await write(tokens.aurora);
    await fail('call me');
    await deskbell.call('PUT', '/api/v1/alerts/looked', { token: tokens.aurora });
    await pass(1);
    await fail('me');
    await pass(6 * MINUTE);
    const [first] = mails();
    assert.match(first!.raw, /^Subject: 1 message needs attention at Aurora Coffee/m);
    // The other one waits for ten minutes now.
    await pass(5 * MINUTE);
    await pass(6 * MINUTE);
    assert.equal(mails().length, 2);
    await pass(60 * MINUTE);
    assert.equal(mails().length, 2);
    await change(teo.token, { email_after_minutes: null });
  });

  if (engine === 'postgres') {
    it('two servers tell each of them once', async () => {
      const second = await startSecondServer(deskbell, settings);
      // Servers whose clocks differ do not see each other's leases.
      second.clock.stop();
      second.clock.jump((deskbell.clock.now().getTime() - second.clock.now().getTime()) / 1000);
      try {
        const ids = [];
        for (let n = 0; n < 5; n += 1) ids.push(await write(tokens.aurora));
        await pass(11 * MINUTE, second);
        for (const id of ids) assert.equal((await eventsOf(id)).length, 1);
        const told = alerts().map(([, id]) => Number(id));
        assert.deepEqual(
          told.sort((a, b) => a - b),
          ids,
        );
      } finally {
        await second.close();
      }
    });
  }
});
