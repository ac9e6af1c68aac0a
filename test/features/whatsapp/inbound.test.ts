import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { customerMessages } from '../../../src/conversations/received.ts';
import { upsertConversation } from '../../../src/conversations/store.ts';
import { createChannels } from '../../../src/delivery/channels/merchantChannels.ts';
import { type InboundParts, processInbound } from '../../../src/delivery/channels/whatsapp/inbound.ts';
import { createLogger } from '../../../src/log.ts';
import { onEachEngine } from '../../support/server.ts';
import { AURORA_ID } from '../../support/shops.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

onEachEngine('an update from WhatsApp’s webhook', (engine) => {
  // Only this test processes updates.
  const whatsapp = useWhatsApp(engine, { WORKER: 'false' });
  const work = (messages: InboundParts['customerMessages'] = customerMessages) => {
    const { deskbell } = whatsapp;
    const { database, config, clock } = deskbell;
    const channels = createChannels({ database, vault: openVault(config), now: clock.now }, config);
    const log = createLogger(config, { write: (line) => deskbell.logged.push(line) });
    return processInbound({ database, channels, customerMessages: messages, log, now: clock.now });
  };
  const count = async (sql: string, ...params: (string | number)[]) =>
    (await whatsapp.deskbell.database.one<{ n: number }>(`select count(*) as n from ${sql}`, params))!.n;

  it('is acknowledged before it is processed, and survives if the process stops', async () => {
    const phone = newPhone();
    await whatsapp.meta.customerWrites(phone);
    // An answer right after it must find the window open.
    assert.equal(await count('customer_windows where phone = $1', phone), 1);
    assert.equal(await count('inbound_updates where done_at is null'), 1);
    assert.equal(await work(), 1);
    assert.equal(await count('inbound_updates where done_at is null'), 0);
    assert.equal(await work(), 0);
  });

  it('has one effect if several workers process it', async () => {
    const { deskbell, meta } = whatsapp;
    const id = await whatsapp.put(newPhone());
    await deskbell.database.run(
      `update deliveries set state = 'sent', attempts = 1, channel_message_id = 'wamid.1' where id = $1`,
      [id],
    );
    const { key } = await whatsapp.row(id);
    await meta.report({ wamid: 'wamid.1', key, to: '+1' }, 'failed', { errors: [{ code: 130429 }] });
    await Promise.all([work(), work(), work(), work()]);
    assert.equal(await count('inbound_updates where done_at is null'), 0);
    const { state, attempts, last_code, channel_message_id } = await whatsapp.row(id);
    assert.deepEqual([state, attempts, last_code, channel_message_id], ['queued', 1, '130429', null]);
    assert.equal(await count('delivery_events where delivery_id = $1', id), 2);
  });

  it('stores what the customer wrote together with its event and its end, or nothing of it', async () => {
    const { deskbell, meta } = whatsapp;
    const { database, clock } = deskbell;
    const phone = newPhone();
    const customer = { reference: null, name: 'Ana', phone };
    const { id } = await upsertConversation(database, AURORA_ID, customer, clock.now());
    await meta.customerWrites(phone, { text: { body: 'All or nothing.' } });
    const failing: InboundParts['customerMessages'] = {
      ...customerMessages,
      async receive(...given) {
        await customerMessages.receive(...given);
        throw new Error('interrupted');
      },
    };
    const figures = async () => [
      await count('inbound_updates where done_at is null'),
      await count('conversation_messages where conversation_id = $1', id),
      await count(`new_events where type = 'message.received'`),
    ];
    assert.equal(await work(failing), 0);
    assert.deepEqual(await figures(), [1, 0, 0]);
    await Promise.all([work(), work(), work(), work()]);
    assert.deepEqual(await figures(), [0, 1, 1]);
    assert.ok(!deskbell.logged.join('').includes('All or nothing'));
  });
});
