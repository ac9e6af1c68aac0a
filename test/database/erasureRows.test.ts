import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openVault } from '../../src/auth/vault.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import { WHATSAPP } from '../../src/delivery/channels/registry.ts';
import { setOwnChannel } from '../../src/delivery/channels/settings.ts';
import { addAssistantMessage } from '../../src/delivery/channels/simulator/messages.ts';
import { tablesWith } from '../support/canaries.ts';
import { CANARIES, callsOf, erased, NAME, PHONE, WORDS } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { BOREALIS, onEachEngine, useDeskbell } from '../support/server.ts';
import { AURORA_ID, BOREALIS_ID } from '../support/shops.ts';
import { META } from '../support/stand-ins/meta.ts';

onEachEngine('an erasure', (engine) => {
  const deskbell = useDeskbell(engine);

  it('keeps what a customer writes again at once, and removes what was before', async () => {
    const { ok, raise, conversation } = callsOf(deskbell);
    const { database, clock } = deskbell;
    const id = await conversation('zqx-before');
    const notification = await raise(id, { question: 'zqxbefore?' });
    await ok('POST', `/notification/${notification}/answer`, {
      ...{ answer: 'zqxanswer', only_send_campaign: true },
    });
    await addAssistantMessage(database, AURORA_ID, { phone: PHONE, text: 'zqxdemo', at: clock.now() });
    await database.run(
      `insert into customer_windows (channel_id, phone, opened_at) values ('simulator', $1, $2)`,
      [PHONE, clock.now().toISOString()],
    );
    await deskbell.allSent();
    clock.jump(1);
    await ok('DELETE', `/conversation/${id}`);
    clock.jump(1);
    const key = { 'Idempotency-Key': 'again-1' };
    const person = { reference: 'again', customer_name: 'Somebody New', customer_phone: PHONE };
    const again = (await ok('POST', '/conversation/', person, key)).json.id;
    await ok('POST', `/conversation/${again}/send`, { text: 'Welcome back.' });
    await deskbell.allSent();
    await erased(deskbell);

    assert.deepEqual(await tablesWith(database, [WORDS]), []);
    const texts = await database.all<{ content: string }>(
      'select content from simulator_messages where phone = $1',
      [PHONE],
    );
    assert.deepEqual(
      texts.map(({ content }) => content),
      ['Welcome back.'],
    );
    for (const [table, column] of [
      ['customer_windows', 'phone'],
      ['reached_customers', 'recipient'],
    ] as const)
      assert.deepEqual(await database.all(`select * from ${table} where ${column} = $1`, [PHONE]), [], table);
    const repeated = await ok('POST', '/conversation/', person, key);
    assert.equal(repeated.headers.get('idempotency-replayed'), 'true');
    assert.equal((await ok('GET', `/conversation/${again}`)).json.customer_phone, PHONE);
    await ok('DELETE', `/conversation/${again}`);
    await erased(deskbell);
    assert.deepEqual(await tablesWith(database, CANARIES), []);
  });

  it('removes stored responses and known answers that do not name the conversation', async () => {
    const { ok, raise, conversation } = callsOf(deskbell);
    const { database } = deskbell;
    const token = await createKey(deskbell);
    const [document] = (await ok('GET', '/knowledge/')).json;
    const ask = async (question: string, customer: object) => {
      const body = { question, customer };
      const reply = await deskbell.call('POST', '/api/v1/ask', { token, body });
      assert.equal(reply.json.status, 'known', reply.text);
    };
    // Before they have a conversation.
    await ask(document.title, { phone: PHONE });
    await ask(document.title, { phone: '+34611007001' });
    await ask(document.title, { phone: '+34611007002' });
    const newest = await database.all<{ id: number }>(
      `select id from recognitions where merchant_id = 1 and kind = 'known' order by id desc limit 3`,
    );
    const [old, other, own] = newest.map((row) => row.id) as [number, number, number];
    await database.run(`update recognitions set question = concat('zqx', id) where id in ($1, $2)`, [
      old,
      own,
    ]);
    // As a server of the version before has written it.
    await database.run('update recognitions set customer_key = null where id = $1', [old]);

    const id = await conversation('zqx-responses');
    const notification = await raise(id, { question: 'zqxopen?' });
    const note = { 'Idempotency-Key': 'note-1' };
    await ok('POST', `/notification/${notification}/notes`, { text: 'zqxnote' }, note);
    const theirs = await raise(1, { question: 'Open?' });
    const kept = { 'Idempotency-Key': 'note-2' };
    await ok('POST', `/notification/${theirs}/notes`, { text: 'Of another customer' }, kept);
    await ok('DELETE', `/conversation/${id}`);
    await erased(deskbell);
    assert.deepEqual(await tablesWith(database, CANARIES), []);
    const questions = await database.all<{ id: number; question: string }>(
      'select id, question from recognitions where id in ($1, $2, $3) order by id',
      [old, other, own],
    );
    assert.deepEqual(
      questions.map((row) => [row.id, row.question]),
      [
        [own, '…'],
        [other, document.title],
        [old, '…'],
      ],
    );
    const again = await ok('POST', `/notification/${theirs}/notes`, { text: 'Of another customer' }, kept);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
  });

  it('finds name and number however they are written', async () => {
    const { ok, conversation } = callsOf(deskbell);
    const written = [
      [NAME, `Ask ${NAME.replace(' ', '  ')} or ${NAME.replace(' ', '\u00a0')}.`],
      ['Zqxbrin, Zqxella', 'Opens at nine.'],
      ['The number', '699–12–39–87, ٦٩٩ ١٢٣ ٩٨٧ or 699\u00a0123\u00a0987'],
    ] as const;
    for (const [title, body] of written) await ok('POST', '/knowledge/', { title, body });
    const id = await conversation('zqx-written');
    await ok('DELETE', `/conversation/${id}`);
    await erased(deskbell);
    assert.deepEqual(await tablesWith(deskbell.database, [...CANARIES, /٦٩٩|699–12/]), []);
    const one = await conversation('zqx-chinese', '+34611007003', '王小明');
    await ok('POST', '/knowledge/', { title: '请问王小明先生', body: '王小明是我们的顾客。' });
    await ok('DELETE', `/conversation/${one}`);
    await erased(deskbell);
    assert.deepEqual(await tablesWith(deskbell.database, [...CANARIES, /王小明/]), []);
  });

  it('touches only the merchant’s own channels', async () => {
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
