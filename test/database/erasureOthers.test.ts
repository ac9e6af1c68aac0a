import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openVault } from '../../src/auth/vault.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import { WHATSAPP } from '../../src/delivery/channels/registry.ts';
import { setOwnChannel } from '../../src/delivery/channels/settings.ts';
import { tablesWith } from '../support/canaries.ts';
import { callsOf, erased } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { assertError, BOREALIS, onEachEngine, useDeskbell } from '../support/server.ts';
import { AURORA_ID, BOREALIS_ID, until } from '../support/shops.ts';
import { META } from '../support/stand-ins/meta.ts';

onEachEngine('an erasure leaves to others', (engine) => {
  const deskbell = useDeskbell(engine, { WEBHOOK_ALLOW_PRIVATE: 'true' });
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());

  it('the merchant’s own texts, whatever the customer is called and whatever number a question names', async () => {
    const { ok, raise, conversation } = callsOf(deskbell);
    const shop = '+34 911 22 33 44';
    await deskbell.database.run('update merchants set waiting_message = $1 where id = 1', [`Call ${shop}.`]);
    const other = await conversation('other', '+34611009001', 'Berta Soler');
    const body = `Send it to the shop, call ${shop} or 611 00 90 01. Since 2024, from 1.000 pieces.`;
    await ok('POST', '/knowledge/', { title: 'How to return', body });
    for (const n of [1, 2, 3, 4, 5, 6])
      await ok('POST', '/knowledge/', { title: `Step ${n}`, body: 'Look at Order Status.' });
    await ok('POST', '/saved-replies/', { title: 'return', text: `Go to the shop: ${shop}` });
    const texts = async () => [
      (await ok('GET', '/knowledge/')).json,
      (await ok('GET', '/saved-replies/')).json,
      await deskbell.database.all('select * from document_versions order by document_id, version'),
    ];
    const kept = await texts();
    deskbell.clock.jump(1);
    for (const [n, name] of ['to the', 'Order Status', 'return', 'Shop'].entries()) {
      const id = await conversation(['return', 'Step', 'shop', 'the'][n]!, `+3461100901${n + 1}`, name);
      for (const lead_phone of ['+442024', '1.000', shop, '911223344', '611 00 90 01', '9'.repeat(60_000)])
        await raise(id, { question: 'Where?', lead_phone });
      await ok('DELETE', `/conversation/${id}`);
    }
    await erased(deskbell);
    assert.deepEqual(await texts(), kept);
    assert.equal((await ok('GET', `/conversation/${other}`)).json.customer_phone, '+34611009001');
  });

  it('their repeated requests: nobody gets a message twice', async () => {
    const { ok, call, conversation } = callsOf(deskbell);
    const own = { reference: 'own-1', customer_name: 'Ona Vila', customer_phone: '+34611009101' };
    const created = { 'Idempotency-Key': 'create-ona' };
    const id = (await ok('POST', '/conversation/', own, created)).json.id;
    const other = await conversation('other-1', '+34611009102', 'Pau Vila');
    // The key names the customer who is erased.
    const key = { 'Idempotency-Key': 'after-34611009101' };
    const send = () => ok('POST', `/conversation/${other}/send`, { text: 'It is here.' }, key);
    const first = await send();
    await ok('DELETE', `/conversation/${id}`);
    await erased(deskbell);
    const again = await send();
    assert.deepEqual([again.json, again.headers.get('idempotency-replayed')], [first.json, 'true']);
    const repeated = await call('POST', '/conversation/', own, created);
    assertError(repeated, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assert.equal(repeated.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(await tablesWith(deskbell.database, [/Ona Vila/]), []);
  });

  it('their events, whatever the assistant writes into its metadata', async () => {
    const { ok, conversation } = callsOf(deskbell);
    await ok('POST', '/webhooks', { url: receiver.url, include_content: true });
    const id = await conversation('event-1', '+34611009201', 'Iu Font');
    const other = await conversation('event-2', '+34611009202', 'Mar Font');
    const token = await createKey(deskbell);
    const metadata = { conversation_id: id, conversationId: id, customer_phone: '', id };
    const body = { question: 'Is it open on Sunday in May?', conversation_id: other, metadata };
    const asked = await deskbell.call('POST', '/api/v1/ask', { token, body });
    assert.equal(asked.json.status, 'asked', asked.text);
    await until('the event is sent', () =>
      receiver.received.some(({ body }) => JSON.parse(body).data.conversation_id === other),
    );
    const left = async () => {
      const rows = await deskbell.database.all<{ content: string }>(
        'select content from deliveries where merchant_id = 1 and endpoint_id > 0',
      );
      return rows.filter(({ content }) => JSON.parse(content).data?.conversation_id === other).length;
    };
    const count = await left();
    assert.ok(count > 0);
    await ok('DELETE', `/conversation/${id}`);
    await erased(deskbell);
    assert.equal(await left(), count);
  });

  it('a neighbour’s rows of the same customer', async () => {
    const [own, neighbour] = [callsOf(deskbell), callsOf(deskbell, BOREALIS)];
    const phone = '+34611000002';
    const id = await own.conversation('c', phone, 'Eva Luna');
    const kept = await neighbour.conversation('c', phone, 'Eva Luna');
    const other = await own.conversation('d', '+34611000003', 'Eva Luna');
    for (const [calls, conversationId] of [
      [own, id],
      [neighbour, kept],
      [own, other],
    ] as const) {
      const notification = await calls.raise(conversationId, { question: 'Is it Eva Luna again?' });
      await calls.ok('POST', `/notification/${notification}/answer`, {
        answer: 'Yes.',
        only_send_campaign: true,
      });
    }
    await deskbell.allSent();
    await own.ok('DELETE', `/conversation/${id}`);
    await erased(deskbell);
    const { database } = deskbell;
    const rows = (table: string, column: string) =>
      database.all<{ merchant_id: number }>(
        `select merchant_id from ${table} where ${column} in ($1, '+34611000003') order by merchant_id`,
        [phone],
      );
    for (const [table, column] of [
      ['conversations', 'customer_phone'],
      ['deliveries', 'recipient'],
      ['simulator_messages', 'phone'],
      ['reached_customers', 'recipient'],
    ] as const)
      assert.deepEqual(
        (await rows(table, column)).map(({ merchant_id }) => merchant_id),
        [1, 2],
        table,
      );
    assert.equal((await neighbour.ok('GET', `/conversation/${kept}/timeline`)).json.items.length > 0, true);
    // The daily limit still counts who was reached, without the number.
    const reached = await database.one<{ count: number }>(
      `select count(*) as count from reached_customers where merchant_id = 1 and recipient like 'erased %'`,
    );
    assert.equal(reached?.count, 1);
  });

  it('channels of other merchants', async () => {
    const { database, config, clock } = deskbell;
    const [own, neighbour] = [callsOf(deskbell), callsOf(deskbell, BOREALIS)];
    const numbers = ['111111111', '222222222', '333333333'];
    const use = (merchantId: MerchantId, phoneNumberId: string) =>
      database.transaction((tx) => {
        const settings = {
          ...{ baseUrl: 'http://127.0.0.1:9', version: 'v23.0', phoneNumberId, token: META.token },
          ...{ appSecret: META.appSecret, verifyToken: META.verifyToken },
          ...{ template: undefined, templateLanguage: 'en' },
        };
        return setOwnChannel(tx, openVault(config), merchantId, { type: WHATSAPP, settings }, clock.now());
      });
    await use(AURORA_ID, numbers[0]!);
    await use(BOREALIS_ID, numbers[1]!);
    const [both, onlyOwn] = ['+34611008001', '+34611008002'];
    for (const number of numbers)
      for (const phone of [both, onlyOwn])
        await database.run(
          'insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)',
          [`whatsapp:${number}`, phone, clock.now().toISOString()],
        );
    await neighbour.conversation('both', both, 'Eva Both');
    for (const phone of [both, onlyOwn]) {
      const id = await own.conversation(phone, phone, 'Eva Window');
      await own.ok('DELETE', `/conversation/${id}`);
    }
    await erased(deskbell);
    const left = await database.all<{ channel_id: string; phone: string }>(
      'select channel_id, phone from customer_windows where phone in ($1, $2) order by channel_id, phone',
      [both, onlyOwn],
    );
    assert.deepEqual(
      left.map(({ channel_id, phone }) => [channel_id, phone]),
      numbers.slice(1).flatMap((number) => [both, onlyOwn].map((phone) => [`whatsapp:${number}`, phone])),
    );
  });
});
