import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { SERVER } from '../../src/audit/record.ts';
import { finishErasures } from '../../src/cli/erasure/erasures.ts';
import { beginErasure } from '../../src/erasure/begin.ts';
import { deleteUser } from '../../src/erasure/colleague.ts';
import { eraseStep } from '../../src/erasure/erase.ts';
import { LEASE_MS, takeErasure } from '../../src/erasure/store.ts';
import { tablesWith } from '../support/canaries.ts';
import { addColleague } from '../support/colleagues.ts';
import { callsOf, erased } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { assertError, onEachEngine, useDeskbell } from '../support/server.ts';
import { AURORA_ID, until } from '../support/shops.ts';

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

  it('the database: very many conversations are taken in small steps, with one audit event', async () => {
    const { database, clock } = deskbell;
    const { ok, call } = callsOf(deskbell);
    const phone = '+34611009301';
    const values = Array.from({ length: 120 }, (_, n) => `(1, 'many-${n}', 'Nil Many', $1, $2, $2)`);
    await database.run(
      `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
        values ${values.join(',')}`,
      [phone, clock.now().toISOString()],
    );
    const rows = await database.all<{ id: number }>(
      'select id from conversations where customer_phone = $1 order by id',
      [phone],
    );
    const ids = rows.map((row) => row.id);
    const asked = ids[90]!;
    const reply = await ok('DELETE', `/conversation/${asked}`);
    assert.deepEqual([reply.status, reply.json.conversation_ids], [202, ids]);
    assertError(
      await call('GET', `/conversation/${asked}`),
      404,
      'CONVERSATION_NOT_FOUND',
      'conversation_id',
    );
    await erased(deskbell);
    assert.deepEqual(await tablesWith(database, [/Nil Many/, /611009301/]), []);
    for (const what of ['conversation.erased', 'conversation.erasure_finished']) {
      const { json } = await ok('GET', `/audit?what=${what}&limit=1`);
      assert.equal(json[0].count, 120, what);
    }
    assert.equal(
      (await ok('GET', '/audit?what=conversation.erased&limit=1')).json[0].about.conversation_id,
      asked,
    );
  });

  it('no name of a colleague who was deleted, in notes and stored responses', async () => {
    const { database, clock } = deskbell;
    const { ok, raise } = callsOf(deskbell);
    const gone = await addColleague(deskbell, 'Zoilo Vidal');
    const notification = await raise(1, { question: 'Who knows?' });
    const key = { 'Idempotency-Key': 'note-zoilo' };
    await ok('POST', `/notification/${notification}/notes`, { text: 'Ask @Zoilo Vidal, or @zoilo!' }, key);
    const taken = await deskbell.call('PUT', '/api/v1/conversation/1/takeover', { token: gone.token });
    assert.equal(taken.status, 200, taken.text);
    await deskbell.call('POST', '/api/v1/ask', {
      ...{ token: await createKey(deskbell), headers: { 'Idempotency-Key': 'ask-zoilo' } },
      body: { question: 'Do you sell tea from Nepal?', conversation_id: 1 },
    });
    assert.ok((await tablesWith(database, [/Zoilo/])).some((place) => place.startsWith('idempotency_keys')));
    await database.transaction((tx) => deleteUser(tx, gone.id, { who: SERVER, at: clock.now() }));
    await erased(deskbell);
    assert.deepEqual(await tablesWith(database, [/Zoilo|@zoilo/]), []);
    const [note] = (await ok('GET', `/notification/${notification}/notes`)).json.notes;
    assert.equal(note.text, 'Ask @A former colleague, or @A former colleague!');
  });
});

onEachEngine('a step of an erasure', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });

  it('renews its lease on the command line, and gives way after each text', async () => {
    const { database, clock } = deskbell;
    const { ok, conversation } = callsOf(deskbell);
    const leases: number[] = [];
    let ms = clock.now().getTime();
    const now = () => {
      ms += 20;
      return new Date(ms);
    };
    const channelsOf = async () => {
      const [row] = await database.all<{ due_at: string }>('select due_at from erasures');
      leases.push(Date.parse(row!.due_at) - ms);
      ms += LEASE_MS - 1000;
      return [];
    };
    const id = await conversation('lease', '+34611009401', 'Lea Se');
    // Two numbers: the second one comes a minute later.
    await database.run(
      `insert into wrong_phones (merchant_id, conversation_id, phone, replaced_by, created_at)
        values (1, $1, '+34611009402', '+34611009401', $2)`,
      [id, now().toISOString()],
    );
    await database.transaction((tx) => beginErasure(tx, AURORA_ID, id, { who: SERVER, at: now() }));
    ms += 1000;
    await finishErasures({ database, channelsOf, now }, AURORA_ID);
    assert.ok(leases.length >= 4, `${leases.length}`);
    for (const left of leases) assert.ok(left > LEASE_MS / 2, `${leases}`);

    const documents = (await ok('GET', '/knowledge/')).json.length;
    const next = await conversation('turns', '+34611009403', 'Tur Ns');
    await database.transaction((tx) => beginErasure(tx, AURORA_ID, next, { who: SERVER, at: now() }));
    const lease = { at: now(), leaseUntil: new Date(ms + LEASE_MS) };
    const erasure = (await takeErasure(database, lease, {}))!;
    let pauses = 0;
    const pause = async () => {
      pauses += 1;
    };
    await eraseStep({ database, channelsOf: async () => [], now, pause }, { ...erasure, step: 'texts' });
    assert.ok(pauses > 2 * documents, `${pauses} pauses, ${documents} documents`);
  });
});
