import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { upsertConversation } from '../../../src/conversations/store.ts';
import { setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { BOREALIS, onEachEngine } from '../../support/server.ts';
import { AURORA_ID, BOREALIS_ID } from '../../support/shops.ts';
import { ownNumber } from '../../support/stand-ins/meta.ts';
import { receivedIn, type ThreadMessage, textsOf, threadOf } from '../../support/threads.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

onEachEngine('a message that a customer writes on WhatsApp', (engine) => {
  const whatsapp = useWhatsApp(engine);
  const add = async (merchantId: MerchantId, phone: string) => {
    const { database, clock } = whatsapp.deskbell;
    const customer = { reference: null, name: 'Ana', phone };
    return (await upsertConversation(database, merchantId, customer, clock.now())).id;
  };
  async function read(id: number, user?: typeof BOREALIS): Promise<ThreadMessage[]> {
    const token = await whatsapp.deskbell.signIn(user?.email, user?.password);
    return (await whatsapp.deskbell.call('GET', threadOf(id), { token })).json.messages;
  }

  it('is stored once in the newest conversation, also if Meta repeats it, even after it was forgotten', async () => {
    const { deskbell } = whatsapp;
    const phone = newPhone();
    const older = await add(AURORA_ID, phone);
    const newest = await add(AURORA_ID, phone);
    const message = { id: 'wamid.once', text: { body: 'Is it organic?' } };
    const at = new Date(Math.floor(deskbell.clock.now().getTime() / 1000) * 1000).toISOString();
    await Promise.all([1, 2, 3].map(() => whatsapp.customerWrites(phone, message)));
    await whatsapp.customerWrites(phone, message);
    await deskbell.database.run('delete from inbound_updates');
    await whatsapp.customerWrites(phone, message);
    const messages = await read(newest);
    assert.deepEqual(messages, [
      {
        ...{ id: messages[0]!.id, from: 'customer', text: 'Is it organic?', at, message_id: 'wamid.once' },
        ...{ notification_id: null, delivery: null },
      },
    ]);
    assert.deepEqual(await read(older), []);
    const event = { message_id: 'wamid.once', text: 'Is it organic?' };
    assert.deepEqual(await receivedIn(deskbell, 1, newest), [event]);
    assert.deepEqual(await receivedIn(deskbell, 1, older), []);
    const kept = await deskbell.database.one(`select id from inbound_updates where payload like '%organic%'`);
    assert.equal(kept, undefined);
    assert.ok(!deskbell.logged.join('').includes('organic'));
  });

  it('is stored for each merchant whose channel received it, and for no other', async () => {
    const { deskbell } = whatsapp;
    const phone = newPhone();
    const [ours, theirs] = [await add(AURORA_ID, phone), await add(BOREALIS_ID, phone)];
    await whatsapp.customerWrites(phone, { text: { body: 'To both.' } });
    assert.deepEqual(textsOf(await read(ours)), ['To both.']);
    assert.deepEqual(textsOf(await read(theirs, BOREALIS)), ['To both.']);

    const { database, config, clock } = deskbell;
    const channel = ownNumber('7777777', { url: 'http://127.0.0.1:1' });
    await setOwnChannel(database, openVault(config), BOREALIS_ID, channel, clock.now());
    await deskbell.clock.advance(5);
    await whatsapp.customerWrites(phone, { text: { body: 'To one.' } });
    assert.deepEqual(textsOf(await read(ours)), ['To both.', 'To one.']);
    assert.deepEqual(textsOf(await read(theirs, BOREALIS)), ['To both.']);
  });

  it('is described if it is not a text, and a call is no message', async () => {
    const phone = newPhone();
    const id = await add(AURORA_ID, phone);
    const texts: string[] = [];
    for (const [message, text] of [
      [{ type: 'image', image: { id: '1', caption: 'My cup' } }, '[image] My cup'],
      [{ type: 'audio', audio: { id: '1' } }, '[audio]'],
      [{ type: 'reaction', reaction: { message_id: 'x', emoji: '👍' } }, '[reaction] 👍'],
      [{ type: 'button', button: { text: 'Yes', payload: 'y' } }, 'Yes'],
      [
        { type: 'interactive', interactive: { type: 'list_reply', list_reply: { id: '1', title: 'Two' } } },
        'Two',
      ],
      [{ type: 'something-new' }, '[message]'],
      [{ type: 'text', text: { body: 'x'.repeat(5000) } }, 'x'.repeat(4096)],
      [{ type: 'system', system: { body: 'changed number' } }, undefined],
      [{ type: undefined }, undefined],
    ] as const) {
      await whatsapp.customerWrites(phone, { text: undefined, ...message });
      if (text !== undefined) texts.push(text);
    }
    assert.deepEqual(textsOf(await read(id)), texts);
  });

  it('only opens the window if the merchant has no conversation with this customer', async () => {
    const { deskbell } = whatsapp;
    const phone = newPhone();
    await whatsapp.customerWrites(phone, { text: { body: 'Nobody knows me.' } });
    const rows = await deskbell.database.all(
      `select id from conversation_messages where text = 'Nobody knows me.'
        union all select id from conversations where customer_phone = $1`,
      [phone],
    );
    assert.deepEqual(rows, []);
  });
});
