import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SERVER } from '../../src/audit/record.ts';
import { addAssistantMessage } from '../../src/delivery/channels/simulator/messages.ts';
import { beginErasure } from '../../src/erasure/begin.ts';
import { deleteUser } from '../../src/erasure/colleague.ts';
import { eraseStep } from '../../src/erasure/erase.ts';
import { tablesWith } from '../support/canaries.ts';
import { addColleague } from '../support/colleagues.ts';
import { CANARIES, callsOf, erased, NAME, PHONE, WORDS } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { assertError, BOREALIS, onEachEngine, useDeskbell } from '../support/server.ts';
import { AURORA_ID } from '../support/shops.ts';

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

  it('goes on where it was when the process ended', async () => {
    const { ok, conversation } = callsOf(deskbell);
    const id = await conversation('zqx-many');
    for (let from = 0; from < 6; from += 1) {
      const messages = Array.from({ length: 100 }, (_, n) => ({
        from: 'customer',
        text: `zqx ${from} ${n}`,
      }));
      await ok('POST', `/conversation/${id}/messages`, { messages });
    }
    const { database, clock } = deskbell;
    await database.transaction((tx) =>
      beginErasure(tx, AURORA_ID, id, { who: SERVER, at: new Date(clock.now().getTime() + 3_600_000) }),
    );
    // A process that ends after the first page.
    const [row] = await database.all<{ id: number; person: string; created_at: string }>(
      'select id, person, created_at from erasures',
    );
    const erasure = { id: row!.id, merchantId: AURORA_ID, step: 'rows', createdAt: row!.created_at } as const;
    const killed = eraseStep(
      {
        database,
        channelsOf: async () => [],
        now: clock.now,
        pause: () => Promise.reject(new Error('killed')),
      },
      { ...erasure, person: JSON.parse(row!.person) },
    );
    await assert.rejects(killed, /killed/);
    await database.run('update erasures set due_at = created_at, created_at = $1', [
      clock.now().toISOString(),
    ]);
    clock.jump(3601);
    await erased(deskbell);
    assert.deepEqual(await tablesWith(deskbell.database, CANARIES), []);
  });

  it('is for owners only: colleagues, keys and other merchants change nothing', async () => {
    const { conversation, call } = callsOf(deskbell);
    const id = await conversation('theirs', '+34611000001', 'Ana Prado');
    const path = `/api/v1/conversation/${id}`;
    const colleague = await addColleague(deskbell, 'Teo Vidal');
    assertError(await deskbell.call('DELETE', path, { token: colleague.token }), 403, 'FORBIDDEN');
    assertError(
      await deskbell.call('DELETE', path, { token: await createKey(deskbell) }),
      403,
      'INSUFFICIENT_SCOPE',
    );
    const stranger = callsOf(deskbell, BOREALIS);
    const foreign = await stranger.call('DELETE', `/conversation/${id}`);
    const unknown = await stranger.call('DELETE', '/conversation/999999');
    assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assert.equal(foreign.text, unknown.text);
    assert.equal((await call('GET', `/conversation/${id}`)).json.customer_name, 'Ana Prado');
  });

  it('takes very many conversations in small steps, with one audit event', async () => {
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

  it('leaves no name of a colleague who was deleted, in notes and stored responses', async () => {
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
