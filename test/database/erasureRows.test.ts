import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { SERVER } from '../../src/audit/record.ts';
import { openVault } from '../../src/auth/vault.ts';
import { WHATSAPP } from '../../src/delivery/channels/registry.ts';
import { setOwnChannel } from '../../src/delivery/channels/settings.ts';
import { addAssistantMessage } from '../../src/delivery/channels/simulator/messages.ts';
import { deleteUser } from '../../src/erasure/colleague.ts';
import { tablesWith } from '../support/canaries.ts';
import { addColleague } from '../support/colleagues.ts';
import { CANARIES, callsOf, erased, NAME, PHONE, WORDS } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { assertError, BOREALIS, onEachEngine, useDeskbell } from '../support/server.ts';
import { AURORA_ID, BOREALIS_ID, until } from '../support/shops.ts';
import { META } from '../support/stand-ins/meta.ts';

onEachEngine('an erasure', (engine) => {
  const deskbell = useDeskbell(engine, { WEBHOOK_ALLOW_PRIVATE: 'true' });
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());
  const leaves = async (...patterns: RegExp[]) =>
    assert.deepEqual(await tablesWith(deskbell.database, patterns), []);

  it('keeps what a customer writes again at once, and removes what was before', async () => {
    const { ok, answered, conversation, erase } = callsOf(deskbell);
    const { database, clock } = deskbell;
    const id = await conversation('zqx-before');
    await answered(id, { question: 'zqxbefore?' }, { answer: 'zqxanswer', only_send_campaign: true });
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

    await leaves(WORDS);
    const texts = await database.all<{ content: string }>(
      'select content from simulator_messages where phone = $1',
      [PHONE],
    );
    assert.deepEqual(
      texts.map(({ content }) => content),
      ['Welcome back.'],
    );
    assert.deepEqual(await database.all('select * from customer_windows where phone = $1', [PHONE]), []);
    assert.deepEqual(await database.all('select * from reached_customers where recipient = $1', [PHONE]), []);
    const repeated = await ok('POST', '/conversation/', person, key);
    assert.equal(repeated.headers.get('idempotency-replayed'), 'true');
    assert.equal((await ok('GET', `/conversation/${again}`)).json.customer_phone, PHONE);
    await erase(again);
    await leaves(...CANARIES);
  });

  it('removes stored responses and known answers that do not name the conversation', async () => {
    const { ok, raise, conversation, erase } = callsOf(deskbell);
    const { database } = deskbell;
    const token = await createKey(deskbell);
    const [document] = (await ok('GET', '/knowledge/')).json;
    // Before they have a conversation.
    for (const phone of [PHONE, '+34611007001', '+34611007002']) {
      const body = { question: document.title, customer: { phone } };
      assert.equal((await deskbell.call('POST', '/api/v1/ask', { token, body })).json.status, 'known');
    }
    const [old, other, own] = (
      await database.all<{ id: number }>(
        `select id from recognitions where merchant_id = 1 and kind = 'known' order by id desc limit 3`,
      )
    ).map((row) => row.id) as [number, number, number];
    const change = 'update recognitions set';
    await database.run(`${change} question = concat('zqx', id) where id in ($1, $2)`, [old, own]);
    // As a server of the version before has written it.
    await database.run(`${change} customer_key = null where id = $1`, [old]);

    const id = await conversation('zqx-responses');
    const note = (of: number, text: string, key: string) =>
      ok('POST', `/notification/${of}/notes`, { text }, { 'Idempotency-Key': key });
    await note(await raise(id, { question: 'zqxopen?' }), 'zqxnote', 'note-1');
    const theirs = await raise(1, { question: 'Open?' });
    await note(theirs, 'Of another customer', 'note-2');
    await erase(id);
    await leaves(...CANARIES);
    const questions = await database.all<{ id: number; question: string }>(
      'select id, question from recognitions where id in ($1, $2, $3) order by id',
      [old, other, own],
    );
    assert.deepEqual(
      questions.map(({ question }) => question),
      ['…', document.title, '…'],
    );
    const again = await note(theirs, 'Of another customer', 'note-2');
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
  });

  it('finds name and number however they are written', async () => {
    const { ok, conversation, erase } = callsOf(deskbell);
    const write = (title: string, body: string) => ok('POST', '/knowledge/', { title, body });
    await write(NAME, `Ask ${NAME.replace(' ', '  ')} or ${NAME.replace(' ', '\u00a0')}.`);
    await write('Zqxbrin, Zqxella', 'Opens at nine.');
    await write('The number', '699–12–39–87, ٦٩٩ ١٢٣ ٩٨٧ or 699\u00a0123\u00a0987');
    await write('请问王小明先生', '王小明是我们的顾客。');
    await erase(await conversation('zqx-written'));
    await erase(await conversation('zqx-chinese', '+34611007003', '王小明'));
    await leaves(...CANARIES, /٦٩٩|699–12|王小明/);
  });

  it('is for owners only: colleagues and keys change nothing', async () => {
    const { conversation, call } = callsOf(deskbell);
    const path = `/conversation/${await conversation('theirs', '+34611000001', 'Ana Prado')}`;
    const { token } = await addColleague(deskbell, 'Teo Vidal');
    const remove = (token: string) => deskbell.call('DELETE', `/api/v1${path}`, { token });
    assertError(await remove(token), 403, 'FORBIDDEN');
    assertError(await remove(await createKey(deskbell)), 403, 'INSUFFICIENT_SCOPE');
    const foreign = await callsOf(deskbell, BOREALIS).call('DELETE', path);
    assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assert.equal((await call('GET', path)).json.customer_name, 'Ana Prado');
  });

  it('leaves no name of a colleague who was deleted, in notes and stored responses', async () => {
    const { database, clock } = deskbell;
    const { ok, raise } = callsOf(deskbell);
    const gone = await addColleague(deskbell, 'Zoilo Vidal');
    const notes = `/notification/${await raise(1, { question: 'Who knows?' })}/notes`;
    await ok('POST', notes, { text: 'Ask @Zoilo Vidal, or @zoilo!' }, { 'Idempotency-Key': 'note-zoilo' });
    assert.equal(
      (await deskbell.call('PUT', '/api/v1/conversation/1/takeover', { token: gone.token })).status,
      200,
    );
    await deskbell.call('POST', '/api/v1/ask', {
      ...{ token: await createKey(deskbell), headers: { 'Idempotency-Key': 'ask-zoilo' } },
      body: { question: 'Do you sell tea from Nepal?', conversation_id: 1 },
    });
    assert.ok((await tablesWith(database, [/Zoilo/])).some((place) => place.startsWith('idempotency_keys')));
    await database.transaction((tx) => deleteUser(tx, gone.id, { who: SERVER, at: clock.now() }));
    await erased(deskbell);
    await leaves(/Zoilo|@zoilo/);
    const [note] = (await ok('GET', notes)).json.notes;
    assert.equal(note.text, 'Ask @A former colleague, or @A former colleague!');
  });

  it('leaves the merchant’s own texts, whatever the customer is called and whatever number a question names', async () => {
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

  it('leaves the repeated requests of others: nobody gets a message twice', async () => {
    const { ok, call, conversation, erase } = callsOf(deskbell);
    const own = { reference: 'own-1', customer_name: 'Ona Vila', customer_phone: '+34611009101' };
    const created = { 'Idempotency-Key': 'create-ona' };
    const id = (await ok('POST', '/conversation/', own, created)).json.id;
    const other = await conversation('other-1', '+34611009102', 'Pau Vila');
    // The key names the customer who is erased.
    const key = { 'Idempotency-Key': 'after-34611009101' };
    const send = () => ok('POST', `/conversation/${other}/send`, { text: 'It is here.' }, key);
    const first = await send();
    await erase(id);
    const again = await send();
    assert.deepEqual([again.json, again.headers.get('idempotency-replayed')], [first.json, 'true']);
    const repeated = await call('POST', '/conversation/', own, created);
    assertError(repeated, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    await leaves(/Ona Vila/);
  });

  it('leaves the events of others, whatever the assistant writes into its metadata', async () => {
    const { ok, conversation, erase } = callsOf(deskbell);
    await ok('POST', '/webhooks', { url: receiver.url, include_content: true });
    const id = await conversation('event-1', '+34611009201', 'Iu Font');
    const other = await conversation('event-2', '+34611009202', 'Mar Font');
    const metadata = { conversation_id: id, conversationId: id, customer_phone: '', id };
    const body = { question: 'Is it open on Sunday in May?', conversation_id: other, metadata };
    await deskbell.call('POST', '/api/v1/ask', { token: await createKey(deskbell), body });
    const isOther = (text: string) => JSON.parse(text).data?.conversation_id === other;
    await until('the event is sent', () => receiver.received.some(({ body }) => isOther(body)));
    const left = async () => {
      const rows = await deskbell.database.all<{ content: string }>(
        'select content from deliveries where merchant_id = 1 and endpoint_id > 0',
      );
      return rows.filter(({ content }) => isOther(content)).length;
    };
    const count = await left();
    assert.ok(count > 0);
    await erase(id);
    assert.equal(await left(), count);
  });

  it('leaves a neighbour’s rows of the same customer', async () => {
    const [own, neighbour] = [callsOf(deskbell), callsOf(deskbell, BOREALIS)];
    const [phone, another] = ['+34611000002', '+34611000003'];
    const id = await own.conversation('c', phone, 'Eva Luna');
    const kept = await neighbour.conversation('c', phone, 'Eva Luna');
    const other = await own.conversation('d', another, 'Eva Luna');
    const context = { question: 'Is it Eva Luna again?' };
    for (const conversationId of [id, other])
      await own.answered(conversationId, context, { only_send_campaign: true });
    await neighbour.answered(kept, context, { only_send_campaign: true });
    await deskbell.allSent();
    // The daily limit still counts who was reached, without the number.
    const reached = async () =>
      (
        await deskbell.database.all(
          `select 1 from reached_customers where merchant_id = 1 and recipient like 'erased %'`,
        )
      ).length;
    const before = await reached();
    await own.erase(id);
    assert.equal(await reached(), before + 1);
    for (const [table, column] of [
      ['conversations', 'customer_phone'],
      ['deliveries', 'recipient'],
      ['simulator_messages', 'phone'],
      ['reached_customers', 'recipient'],
    ] as const) {
      const rows = await deskbell.database.all<{ merchant_id: number }>(
        `select merchant_id from ${table} where ${column} in ($1, $2) order by merchant_id`,
        [phone, another],
      );
      assert.deepEqual(
        rows.map(({ merchant_id }) => merchant_id),
        [1, 2],
        table,
      );
    }
  });

  it('of a customer without a number leaves the others without one', async () => {
    const { ok, erase } = callsOf(deskbell);
    const token = await createKey(deskbell);
    const asked = async (reference: string) => {
      const body = { question: `Is ${reference} open?`, customer: { reference }, deliver: 'assistant' };
      return (await deskbell.call('POST', '/api/v1/ask', { token, body })).json.conversation_id;
    };
    const [id, other] = [await asked('silent-1'), await asked('silent-2')];
    assert.deepEqual((await erase(id)).json.conversation_ids, [id]);
    assert.equal((await ok('GET', `/conversation/${other}`)).json.reference, 'silent-2');
  });

  it('leaves the window of another merchant’s customer on the channel that both use', async () => {
    const { database, clock } = deskbell;
    const [own, neighbour] = [callsOf(deskbell), callsOf(deskbell, BOREALIS)];
    const phones = ['+34611008101', '+34611008102'] as const;
    for (const phone of phones)
      await database.run(
        `insert into customer_windows (channel_id, phone, opened_at) values ('simulator', $1, $2)`,
        [phone, clock.now().toISOString()],
      );
    await neighbour.conversation('shared', phones[0], 'Eva Shared');
    for (const phone of phones)
      await own.ok('DELETE', `/conversation/${await own.conversation(phone, phone, 'Eva Shared')}`);
    await erased(deskbell);
    const left = await database.all<{ phone: string }>(
      'select phone from customer_windows where phone in ($1, $2)',
      [...phones],
    );
    assert.deepEqual(
      left.map(({ phone }) => phone),
      [phones[0]],
    );
  });

  it('leaves the windows of other merchants’ channels', async () => {
    const { database, config, clock } = deskbell;
    const [own, neighbour] = [callsOf(deskbell), callsOf(deskbell, BOREALIS)];
    const numbers = ['111111111', '222222222', '333333333'];
    for (const [index, merchantId] of [AURORA_ID, BOREALIS_ID].entries()) {
      const settings = {
        ...{ baseUrl: 'http://127.0.0.1:9', version: 'v23.0', phoneNumberId: numbers[index]! },
        ...{ token: META.token, appSecret: META.appSecret, verifyToken: META.verifyToken },
        ...{ template: undefined, templateLanguage: 'en' },
      };
      const channel = { type: WHATSAPP, settings } as const;
      await database.transaction((tx) =>
        setOwnChannel(tx, openVault(config), merchantId, channel, clock.now()),
      );
    }
    const phones = ['+34611008001', '+34611008002'] as const;
    for (const number of numbers)
      for (const phone of phones)
        await database.run(
          'insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)',
          [`whatsapp:${number}`, phone, clock.now().toISOString()],
        );
    await neighbour.conversation('both', phones[0], 'Eva Both');
    for (const phone of phones)
      await own.ok('DELETE', `/conversation/${await own.conversation(phone, phone, 'Eva Window')}`);
    await erased(deskbell);
    const left = await database.all<{ channel_id: string; phone: string }>(
      'select channel_id, phone from customer_windows where phone in ($1, $2) order by channel_id, phone',
      [...phones],
    );
    assert.deepEqual(
      left.map(({ channel_id, phone }) => [channel_id, phone]),
      numbers.slice(1).flatMap((number) => phones.map((phone) => [`whatsapp:${number}`, phone])),
    );
  });
});
