import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import type { Engine } from '../../../src/database/database.ts';
import { WEBHOOK, WHATSAPP } from '../../../src/delivery/channels/registry.ts';
import { removeOwnChannel, setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { refusedStop, resumeChannels, stopChannel } from '../../../src/delivery/worker/stops.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';
import { AURORA_ID, putAll, until } from '../../support/shops.ts';
import { META, type Meta, metaEnv, startMeta } from '../../support/stand-ins/meta.ts';
import { newPhone } from '../../support/whatsapp.ts';

const NUMBER_B = '206540352242922';
const CHANNEL_B = `whatsapp:${NUMBER_B}`;

const settingsOfB = (b: Meta) => ({
  ...{ baseUrl: b.url, version: 'v23.0', phoneNumberId: NUMBER_B, token: META.token },
  ...{
    appSecret: META.appSecret,
    verifyToken: META.verifyToken,
    templateLanguage: 'en',
    template: undefined,
  },
});

interface World {
  deskbell: Deskbell;
  /** The merchant's first number, from the settings. */
  a: Meta;
  b: Meta;
  receiver: Receiver;
  /** Changes the channel, and waits until the workers use it. */
  to(channel: 'a' | 'b' | 'webhook'): Promise<void>;
  /** Queues a message to a new customer, who has just written. */
  put(): Promise<number>;
  row(id: number): Promise<{ state: string; channel_id: string; channel_message_id: string | null }>;
  later(seconds: number): Promise<void>;
}

function useTwoNumbers(engine: Engine): World {
  const world = {} as World;
  /** Also writes to the new number. */
  let customer: string | undefined;
  before(async () => {
    let now = () => new Date();
    const time = { now: () => now() };
    const [a, b] = [await startMeta(time), await startMeta({ ...time, phoneNumberId: NUMBER_B })];
    const deskbell = await startDeskbell(engine, metaEnv(a));
    now = deskbell.clock.now;
    deskbell.clock.stop();
    for (const meta of [a, b]) meta.webhookUrl = `${deskbell.url}/webhooks/whatsapp`;
    Object.assign(world, { deskbell, a, b, receiver: await startReceiver() });
  });
  after(async () => {
    await world.deskbell?.close();
    for (const part of [world.a, world.b, world.receiver]) await part?.close();
  });
  beforeEach(async () => {
    for (const meta of [world.a, world.b]) meta.statuses = [];
    await world.to('a');
  });
  world.to = async (name) => {
    const { database, config, clock } = world.deskbell;
    const vault = openVault(config);
    const webhook = { url: world.receiver.url, secret: `whsec_${'A'.repeat(32)}`, allowPrivate: true };
    await database.transaction(async (tx) => {
      if (name === 'a') return void (await removeOwnChannel(tx, AURORA_ID, clock.now()));
      const own =
        name === 'b'
          ? { type: WHATSAPP, settings: settingsOfB(world.b) }
          : { type: WEBHOOK, settings: webhook };
      await setOwnChannel(tx, vault, AURORA_ID, own as never, clock.now());
    });
    // Settings are read again after five seconds.
    await world.later(6);
    if (name === 'b' && customer) await world.b.customerWrites(customer);
  };
  world.put = async () => {
    customer = newPhone();
    await world.a.customerWrites(customer);
    return (await putAll(world.deskbell, [{ merchantId: AURORA_ID, recipient: customer }]))[0]!;
  };
  world.row = async (id) =>
    (await world.deskbell.database.one(
      'select state, channel_id, channel_message_id from deliveries where id = $1',
      [id],
    ))!;
  world.later = async (seconds) => {
    await world.deskbell.clock.advance(seconds);
    await world.deskbell.allSent();
  };
  return world;
}

onEachEngine('a merchant that changes its channel', (engine) => {
  const world = useTwoNumbers(engine);
  const { to, put, row, later } = world;
  const stateOf = async (id: number) => (await row(id)).state;
  const settled = () => later(0);

  for (const next of ['b', 'webhook'] as const) {
    it(`to ${next} still gets the statuses of messages that the old number sent`, async () => {
      const { a, b } = world;
      const id = await put();
      await settled();
      assert.equal(await stateOf(id), 'sent');
      await to(next);
      const message = a.accepted.at(-1)!;
      for (const status of ['delivered', 'read'] as const) {
        await a.report(message, status);
        await settled();
        assert.equal(await stateOf(id), status);
      }
      assert.equal(b.accepted.length + world.receiver.received.length, 0);
    });
  }

  it('gets no status for a message from a number that did not send it', async () => {
    const { a, b } = world;
    const id = await put();
    await settled();
    await to('b');
    await b.report(a.accepted.at(-1)!, 'delivered');
    await b.report(a.accepted.at(-1)!, 'failed', { errors: [{ code: 131026 }] });
    await settled();
    assert.equal(await stateOf(id), 'sent');
    await a.report(a.accepted.at(-1)!, 'delivered');
    await settled();
    assert.equal(await stateOf(id), 'delivered');
  });

  it('does not resend a message through the new number if the old one reports it as sent', async () => {
    const { a, b } = world;
    a.next({ cut: 'after' });
    const id = await put();
    await settled();
    assert.equal(await stateOf(id), 'sending');
    await to('b');
    await a.report(a.accepted.at(-1)!, 'sent');
    await settled();
    assert.equal(await stateOf(id), 'sent');
    await later(3600);
    assert.deepEqual([await stateOf(id), b.accepted.length], ['sent', 0]);
  });

  it('resends a message once through the new number if the old one reports nothing within a minute', async () => {
    const { a, b } = world;
    a.next({ cut: 'after' });
    const id = await put();
    await settled();
    await to('b');
    await later(53);
    assert.deepEqual([await stateOf(id), b.accepted.length], ['sending', 0]);
    await later(2);
    await later(3600);
    const { key } = a.accepted.at(-1)!;
    assert.deepEqual([b.tally().get(key), a.tally().get(key)], [1, 1]);
    assert.deepEqual(
      [await stateOf(id), (await row(id)).channel_id, (await row(id)).channel_message_id],
      ['sent', CHANNEL_B, b.accepted.at(-1)!.wamid],
    );
    // It did arrive through the old number. That counts, even this late.
    await a.report(a.accepted.at(-1)!, 'delivered');
    await settled();
    assert.equal(await stateOf(id), 'delivered');
  });

  it('sends messages without any attempt through the new channel', async () => {
    const { a, deskbell } = world;
    const { database, clock } = deskbell;
    // One waits for the customer, one for the number that WhatsApp has stopped.
    const silent = newPhone();
    const [waiting] = await putAll(deskbell, [{ merchantId: AURORA_ID, recipient: silent }]);
    await settled();
    assert.equal(await stateOf(waiting!), 'waiting');
    await stopChannel(
      database,
      refusedStop(`whatsapp:${META.phoneNumberId}`, '190', clock.now()),
      clock.now(),
    );
    const queued = await put();
    await settled();
    assert.equal(await stateOf(queued), 'queued');
    const before = { a: a.accepted.length, receiver: world.receiver.received.length };
    await to('webhook');
    assert.deepEqual([await stateOf(waiting!), await stateOf(queued)], ['sent', 'sent']);
    assert.equal(world.receiver.received.length, before.receiver + 2);
    assert.equal(a.accepted.length, before.a);
    await database.transaction((tx) => resumeChannels(tx, clock.now()));
  });

  it('does not change a newer attempt if an older one is reported as failed', async () => {
    const { a, b } = world;
    const failure = { errors: [{ code: 131026 }] };
    a.next({ cut: 'after' });
    const id = await put();
    await settled();
    await to('b');
    let answer = () => {};
    const answersAfter = new Promise<void>((resolve) => {
      answer = resolve;
    });
    b.next({ answersAfter });
    const before = b.accepted.length;
    await world.deskbell.clock.advance(61);
    await until('the new attempt is under way', () => b.accepted.length === before + 1);
    await a.report(a.accepted.at(-1)!, 'failed', failure);
    await until('the status is processed', async () =>
      world.deskbell.database.one(`select 1 as done where not exists (
        select 1 from inbound_updates where done_at is null)`),
    );
    assert.equal(await stateOf(id), 'sending');
    answer();
    await settled();
    assert.deepEqual(
      [await stateOf(id), (await row(id)).channel_message_id],
      ['sent', b.accepted.at(-1)!.wamid],
    );
    // It fails again. Now the message id of the newer attempt is known.
    await a.report({ ...a.accepted.at(-1)!, wamid: 'wamid.another-old-one' }, 'failed', failure);
    await settled();
    assert.equal(await stateOf(id), 'sent');
    assert.equal(b.accepted.length, before + 1);
  });

  it('also gets the old number’s status for messages that were retried by hand', async () => {
    const { a, b, deskbell } = world;
    const id = await put();
    await settled();
    await a.report(a.accepted.at(-1)!, 'failed', { errors: [{ code: 131026 }] });
    await settled();
    assert.equal(await stateOf(id), 'failed');
    await stopChannel(
      deskbell.database,
      refusedStop(CHANNEL_B, '190', deskbell.clock.now()),
      deskbell.clock.now(),
    );
    await to('b');
    const token = await deskbell.signIn();
    assert.equal((await deskbell.call('POST', `/api/v1/delivery/${id}/retry`, { token })).status, 200);
    await settled();
    assert.equal(await stateOf(id), 'queued');
    const before = b.accepted.length;
    // Statuses come out of order: the message did arrive.
    await a.report(a.accepted.at(-1)!, 'delivered');
    await settled();
    assert.equal(await stateOf(id), 'delivered');
    await deskbell.database.transaction((tx) => resumeChannels(tx, deskbell.clock.now()));
    await later(3600);
    assert.equal(b.accepted.length, before);
  });

  it('still gets the statuses of a number that no merchant uses any more', async () => {
    const { b } = world;
    await to('b');
    const id = await put();
    // The customer writes to this number, too.
    await to('b');
    await settled();
    assert.equal(await stateOf(id), 'sent');
    await to('webhook');
    // Longer than the known numbers are cached.
    await later(10);
    await b.report(b.accepted.at(-1)!, 'delivered');
    await settled();
    assert.equal(await stateOf(id), 'delivered');
  });
});
