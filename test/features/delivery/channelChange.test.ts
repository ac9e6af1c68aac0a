import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { WEBHOOK } from '../../../src/delivery/channels/registry.ts';
import { removeOwnChannel, setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { refusedStop, resumeChannels, stopChannel } from '../../../src/delivery/worker/stops.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';
import { AURORA_ID, putAll, until } from '../../support/shops.ts';
import { META, type Meta, metaEnv, ownNumber, startMeta } from '../../support/stand-ins/meta.ts';
import { newPhone } from '../../support/whatsapp.ts';

const NUMBER_B = '206540352242922';
const CHANNEL_B = `whatsapp:${NUMBER_B}`;
const FAILURE = { errors: [{ code: 131026 }] };

onEachEngine('a merchant that changes its channel', (engine) => {
  let deskbell: Deskbell;
  /** The merchant's first number, from the settings. */
  let a: Meta;
  let b: Meta;
  let receiver: Receiver;
  /** Also writes to the new number. */
  let customer: string | undefined;
  before(async () => {
    const time = { now: () => deskbell?.clock.now() ?? new Date() };
    a = await startMeta(time);
    b = await startMeta({ ...time, phoneNumberId: NUMBER_B });
    receiver = await startReceiver();
    deskbell = await startDeskbell(engine, metaEnv(a));
    deskbell.clock.stop();
    for (const meta of [a, b]) meta.webhookUrl = `${deskbell.url}/webhooks/whatsapp`;
  });
  after(async () => {
    await deskbell?.close();
    for (const part of [a, b, receiver]) await part?.close();
  });
  beforeEach(async () => {
    for (const meta of [a, b]) meta.statuses = [];
    await to('a');
  });

  const later = async (seconds: number) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
  };
  /** Changes the channel, and waits until the workers use it. */
  async function to(name: 'a' | 'b' | 'webhook'): Promise<void> {
    const { database, config, clock } = deskbell;
    const webhook = { url: receiver.url, secret: `whsec_${'A'.repeat(32)}`, allowPrivate: true };
    const own = name === 'b' ? ownNumber(NUMBER_B, b) : { type: WEBHOOK, settings: webhook };
    if (name === 'a') await removeOwnChannel(database, AURORA_ID, clock.now());
    else await setOwnChannel(database, openVault(config), AURORA_ID, own, clock.now());
    // Settings are read again after five seconds.
    await later(6);
    if (name === 'b' && customer) await b.customerWrites(customer);
  }
  /** Queues a message to a new customer, who has just written. */
  const put = async () => {
    customer = newPhone();
    await a.customerWrites(customer);
    return (await putAll(deskbell, [{ merchantId: AURORA_ID, recipient: customer }]))[0]!;
  };
  /** Like `put`, but the old number accepts it and its answer is lost. */
  const putCut = async () => {
    a.next({ cut: 'after' });
    const id = await put();
    await assertState(id, 'sending');
    return { id, message: a.accepted.at(-1)! };
  };
  const row = async (id: number) =>
    (await deskbell.database.one<{ state: string; channel_id: string; channel_message_id: string | null }>(
      'select state, channel_id, channel_message_id from deliveries where id = $1',
      [id],
    ))!;
  const stateOf = async (id: number) => (await row(id)).state;
  const assertState = async (id: number, state: string) => {
    await deskbell.allSent();
    assert.equal(await stateOf(id), state);
  };
  const stop = (channelId: string) => {
    const at = deskbell.clock.now();
    return stopChannel(deskbell.database, refusedStop(channelId, '190', at), at);
  };
  const resume = () => deskbell.database.transaction((tx) => resumeChannels(tx, deskbell.clock.now()));

  it('still gets the statuses of messages that the old number sent, and none from another number', async () => {
    const id = await put();
    await assertState(id, 'sent');
    const message = a.accepted.at(-1)!;
    await to('b');
    await b.report(message, 'delivered');
    await b.report(message, 'failed', FAILURE);
    await assertState(id, 'sent');
    await a.report(message, 'delivered');
    await assertState(id, 'delivered');
    await to('webhook');
    await a.report(message, 'read');
    await assertState(id, 'read');
    assert.equal(b.accepted.length + receiver.received.length, 0);
  });

  it('resends a message once through the new number, if the old one does not report it as sent within a minute', async () => {
    const sent = await putCut();
    await to('b');
    await a.report(sent.message, 'sent');
    await assertState(sent.id, 'sent');
    await later(3600);
    assert.deepEqual([await stateOf(sent.id), b.accepted.length], ['sent', 0]);

    await to('a');
    const { id, message } = await putCut();
    await to('b');
    await later(53);
    assert.deepEqual([await stateOf(id), b.accepted.length], ['sending', 0]);
    await later(2);
    await later(3600);
    assert.deepEqual([b.tally().get(message.key), a.tally().get(message.key)], [1, 1]);
    const { state, channel_id, channel_message_id } = await row(id);
    assert.deepEqual([state, channel_id, channel_message_id], ['sent', CHANNEL_B, b.accepted.at(-1)!.wamid]);
    // It did arrive through the old number. That counts, even this late.
    await a.report(message, 'delivered');
    await assertState(id, 'delivered');
  });

  it('sends messages without any attempt through the new channel', async () => {
    // One waits for the customer, one for the number that WhatsApp has stopped.
    const silent = newPhone();
    const [waiting] = await putAll(deskbell, [{ merchantId: AURORA_ID, recipient: silent }]);
    await assertState(waiting!, 'waiting');
    await stop(`whatsapp:${META.phoneNumberId}`);
    const queued = await put();
    await assertState(queued, 'queued');
    const before = { a: a.accepted.length, receiver: receiver.received.length };
    await to('webhook');
    assert.deepEqual([await stateOf(waiting!), await stateOf(queued)], ['sent', 'sent']);
    assert.equal(receiver.received.length, before.receiver + 2);
    assert.equal(a.accepted.length, before.a);
    await resume();
  });

  it('does not change a newer attempt if an older one is reported as failed', async () => {
    const { id, message } = await putCut();
    await to('b');
    const answered = Promise.withResolvers<void>();
    b.next({ answersAfter: answered.promise });
    const before = b.accepted.length;
    await deskbell.clock.advance(61);
    await until('the new attempt is under way', () => b.accepted.length === before + 1);
    await a.report(message, 'failed', FAILURE);
    await until('the status is processed', async () =>
      deskbell.database.one(`select 1 as done where not exists (
        select 1 from inbound_updates where done_at is null)`),
    );
    assert.equal(await stateOf(id), 'sending');
    answered.resolve();
    await deskbell.allSent();
    assert.equal((await row(id)).channel_message_id, b.accepted.at(-1)!.wamid);
    // It fails again. Now the message id of the newer attempt is known.
    await a.report({ ...message, wamid: 'wamid.another-old-one' }, 'failed', FAILURE);
    await assertState(id, 'sent');
    assert.equal(b.accepted.length, before + 1);
  });
});
