import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { useMerchant } from '../../support/merchants.ts';
import { onEachEngine } from '../../support/server.ts';
import { type MailServer, mailSettings, startMailServer } from '../../support/stand-ins/mail.ts';
import { type PushService, startPushService } from '../../support/stand-ins/push.ts';

const MINUTE = 60;

interface Told {
  type: string;
  data: { notification_id: number; delivery_id: number; kind: string; state: string };
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
  const shop = useMerchant(engine, settings);
  const other = useMerchant(engine, settings);
  after(async () => {
    await service?.close();
    await mail?.close();
  });
  before(async () => {
    shop.deskbell.clock.stop();
    for (const { put } of [shop, other])
      assert.equal((await put('/alerts/subscriptions', service.browser())).status, 200);
    // It uses up the limit of the day.
    await write();
    await shop.deskbell.allSent();
  });
  beforeEach(async () => {
    const { database } = shop.deskbell;
    await database.run('delete from channel_stops');
    await database.run(
      `update deliveries set state = 'cancelled' where endpoint_id = 0 and state in ('queued', 'waiting')`,
    );
    await pass(MINUTE);
    service.accepted.length = 0;
  });

  /** A campaign to a customer of its own, which waits because of the limit. Returns its notification. */
  async function write(body: object = { answer: 'It is back.', only_send_campaign: true }): Promise<number> {
    const id = await shop.raise({
      conversation_id: await shop.converse(),
      context: { question: 'Is it back?' },
    });
    assert.equal((await shop.answer(id, body)).status, 200);
    return id;
  }
  const change = (body: object, options = {}) => shop.patch('/alerts/settings', body, options);
  /** Lets this time pass, and everything happen that is due then. */
  async function pass(seconds: number) {
    await shop.deskbell.allSent();
    shop.deskbell.clock.jump(seconds);
    for (let n = 0; n < 3; n += 1) await shop.deskbell.allSent();
  }
  async function eventsOf(id: number, of = shop) {
    const { json } = await of.get('/events/log?after=0&limit=500');
    assert.equal(json.more, false);
    return (json.events as Told[])
      .filter(({ type, data }) => type === 'delivery.needs_attention' && data.notification_id === id)
      .map(({ data }) => data);
  }
  /** Of the alerts about messages: their kind and their notification. */
  const alerts = () =>
    service.accepted
      .map(({ message }) => message)
      .filter(({ kind }) => kind === 'waiting' || kind === 'stopped')
      .map(({ kind, notification_id }) => `${kind} ${notification_id}`);

  it('are an event and an alert after ten minutes, once, and only those that still wait', async () => {
    const id = await write();
    await pass(9 * MINUTE);
    assert.deepEqual(await eventsOf(id), []);
    await pass(2 * MINUTE);
    const [event, ...others] = await eventsOf(id);
    assert.deepEqual([event!.kind, event!.state, others], ['waiting', 'waiting', []]);
    assert.deepEqual(alerts(), [`waiting ${id}`]);
    await pass(60 * MINUTE);
    assert.deepEqual([(await eventsOf(id)).length, alerts().length], [1, 1]);
    assert.deepEqual(await eventsOf(id, other), []);
  });

  it('are an event and an alert at once if their channel is stopped, and not again when they have waited', async () => {
    await shop.deskbell.database.run(
      `insert into channel_stops (channel_id, kind, code, stopped_at, until, probes)
        values ('simulator', 'refused', '190', $1, '9999-01-01T00:00:00.000Z', 0)`,
      [shop.deskbell.clock.now().toISOString()],
    );
    const id = await write({ answer: 'Yes.' });
    await pass(2);
    const [event] = await eventsOf(id);
    assert.deepEqual([event!.kind, event!.state], ['stopped', 'queued']);
    await pass(20 * MINUTE);
    assert.equal((await eventsOf(id)).length, 1);
    assert.deepEqual(alerts(), [`stopped ${id}`]);
  });

  it('are not told any more when they have been sent or cancelled', async () => {
    const id = await write();
    service.answer = (response) => response.writeHead(503).end();
    await pass(11 * MINUTE);
    await shop.post(`/delivery/${(await eventsOf(id))[0]!.delivery_id}/cancel`);
    service.answer = (response) => response.writeHead(201).end();
    await pass(60 * MINUTE);
    assert.deepEqual(alerts(), []);
  });

  it('are told again after a person has sent them again', async () => {
    const id = await write();
    await pass(11 * MINUTE);
    const [{ delivery_id }] = (await eventsOf(id)) as [Told['data']];
    for (const action of ['cancel', 'retry'])
      assert.equal((await shop.post(`/delivery/${delivery_id}/${action}`)).status, 200);
    await pass(9 * MINUTE);
    assert.equal((await eventsOf(id)).length, 1);
    await pass(2 * MINUTE);
    assert.equal((await eventsOf(id)).length, 2);
  });

  it('are told by e-mail if nobody looks, also those that failed', async () => {
    const teo = await shop.colleague('Teo Vidal');
    const mails = () => mail.received.filter(({ to }) => to.includes(teo.email));
    /** Not a number: it fails at once. */
    const fail = async () =>
      shop.answer(await shop.raise({ context: { question: 'Call me?', lead_phone: 'call me' } }));
    await change({ email_after_minutes: 5 }, teo);
    await pass(1);
    await write();
    await fail();
    await shop.put('/alerts/looked');
    await pass(1);
    await fail();
    await pass(6 * MINUTE);
    assert.match(mails()[0]!.raw, /^Subject: 1 message needs attention at A shop/m);
    // The other one waits for ten minutes now.
    await pass(5 * MINUTE);
    await pass(6 * MINUTE);
    assert.equal(mails().length, 2);
    await pass(60 * MINUTE);
    assert.equal(mails().length, 2);
    await change({ email_after_minutes: null }, teo);
  });
});
