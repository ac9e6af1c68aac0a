import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useKilling } from '../../support/killing.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  AURORA,
  addUser,
  assertError,
  BOREALIS,
  call as callServer,
  onEachEngine,
  useDeskbell,
} from '../../support/server.ts';
import { META } from '../../support/stand-ins/meta.ts';
import { CONVERSATIONS, said, useTalking } from '../../support/talking.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

onEachEngine('writing to a customer', (engine) => {
  const deskbell = useDeskbell(engine);
  const { call, newConversation, turns, send, record } = useTalking(deskbell);
  const phoneMessages = async (id: number) =>
    (await deskbell.call('GET', `/api/v1/simulator/${id}`, { token: await deskbell.signIn() })).json.map(
      ({ text }: { text: string }) => text,
    );

  it('sends to the conversation’s customer, whatever else the body says, in the order of writing', async () => {
    const [id, other] = [await newConversation(), await newConversation()];
    const foreign = newPhone();
    for (const text of ['One', 'Two', 'Three']) {
      const body = { text, recipient: foreign, lead_phone: foreign, conversation_id: other };
      assert.equal((await send(id, body)).status, 200);
    }
    await deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), ['One', 'Two', 'Three']);
    assert.deepEqual(await phoneMessages(other), []);
    const { json } = await deskbell.call('GET', '/api/v1/delivery/?limit=1', {
      token: await deskbell.signIn(),
    });
    assert.deepEqual([json[0].notification_id, json[0].mode, json[0].content], [null, 'reply', 'Three']);
  });

  it('is sent once with an Idempotency-Key', async () => {
    const id = await newConversation();
    const headers = { 'idempotency-key': `send-${id}` };
    const replies = [await send(id, { text: 'Once' }, headers), await send(id, { text: 'Once' }, headers)];
    assert.deepEqual(replies[0]!.json, replies[1]!.json);
    assert.equal(replies[1]!.headers.get('idempotency-replayed'), 'true');
    assertError(await send(id, { text: 'Twice' }, headers), 422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key');
    await deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), ['Once']);
  });

  it('waits for undo_seconds, and until then can be taken back as if it had never been', async () => {
    deskbell.clock.stop();
    const id = await newConversation();
    const undone = await send(id, { text: 'Oops', undo_seconds: 5 });
    const kept = await send(id, { text: 'Kept', undo_seconds: 5 });
    const until = new Date(deskbell.clock.now().getTime() + 5000).toISOString();
    assert.deepEqual([undone.json.undo_until, kept.json.undo_until], [until, until]);
    await deskbell.allSent();
    assert.deepEqual(
      (await turns(id)).map(({ delivery }) => [delivery!.state, delivery!.undo_until]),
      [
        ['queued', until],
        ['queued', until],
      ],
    );
    // An assistant might pass on what is then taken back.
    const key = await createKey(deskbell);
    const seen = async (part: 'timeline' | 'messages', token: string) =>
      (await deskbell.call('GET', `${CONVERSATIONS}/${id}/${part}`, { token })).text;
    for (const part of ['timeline', 'messages'] as const)
      assert.doesNotMatch(await seen(part, key), /Oops|Kept/, part);
    assert.equal((await call('DELETE', `${id}/sent/${undone.json.delivery_id}`)).status, 200);
    assert.deepEqual(said(await turns(id)), ['merchant: Kept']);
    for (const token of [key, await deskbell.signIn()])
      assert.doesNotMatch(await seen('messages', token), /Oops/);
    await deskbell.clock.advance(4);
    await deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), []);
    await deskbell.clock.advance(2);
    await deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), ['Kept']);
    for (const part of ['timeline', 'messages'] as const) assert.match(await seen(part, key), /Kept/, part);
    for (const delivery of [kept, undone])
      assertError(await call('DELETE', `${id}/sent/${delivery.json.delivery_id}`), 409, 'TOO_LATE');
    deskbell.clock.go();
  });

  it('is not overtaken while it waits, and what comes after it is sent when it is taken back', async () => {
    deskbell.clock.stop();
    const id = await newConversation();
    const first = await send(id, { text: 'First', undo_seconds: 60 });
    await send(id, { text: 'Second' });
    await deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), []);
    await call('DELETE', `${id}/sent/${first.json.delivery_id}`);
    await deskbell.allSent();
    assert.deepEqual(await phoneMessages(id), ['Second']);
    deskbell.clock.go();
  });

  it('can be taken back only in its own conversation, and never an answer', async () => {
    const [id, other] = [await newConversation(), await newConversation()];
    const { json } = await send(id, { text: 'Mine', undo_seconds: 60 });
    const path = `sent/${json.delivery_id}`;
    assertError(await call('DELETE', `${other}/${path}`), 404, 'DELIVERY_NOT_FOUND');
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const foreign = await deskbell.call('DELETE', `${CONVERSATIONS}/${id}/${path}`, { token });
    const unknown = await deskbell.call('DELETE', `${CONVERSATIONS}/${id}/sent/999999`, { token });
    assertError(foreign, 404, 'DELIVERY_NOT_FOUND');
    assert.equal(foreign.text, unknown.text);
    assert.equal((await call('DELETE', `${id}/${path}`)).status, 200);
    await deskbell.database.run('update deliveries set notification_id = 1, state = $2 where id = $1', [
      json.delivery_id,
      'queued',
    ]);
    assertError(await call('DELETE', `${id}/${path}`), 404, 'DELIVERY_NOT_FOUND');
  });

  it('quotes a message that the customer wrote in this conversation, and no other', async () => {
    const [id, other] = [await newConversation(), await newConversation()];
    for (const conversation of [id, other])
      await record(
        conversation,
        { from: 'customer', text: 'Is it vegan?' },
        { from: 'assistant', text: 'Hm.' },
      );
    const [mine, assistants] = await turns(id);
    const [theirs] = await turns(other);
    for (const reply_to of [theirs!.id, assistants!.id, 'm999999', 'n1', 'x', ''])
      assertError(await send(id, { text: 'Yes', reply_to }), 422, 'VALIDATION_ERROR', 'reply_to');
    assert.equal((await send(id, { text: 'Yes', reply_to: mine!.id })).status, 200);
    assert.deepEqual((await turns(id)).at(-1)!.reply_to, { id: mine!.id, text: 'Is it vegan?' });
  });

  it('refuses what is not a message of 1 to 4,096 characters, and a bad undo_seconds', async () => {
    const id = await newConversation();
    for (const text of [undefined, null, '', ' \n', 5, 'x'.repeat(4097)])
      assertError(await send(id, { text }), 422, 'VALIDATION_ERROR', 'text');
    for (const undo_seconds of [-1, 61, 1.5, '5'])
      assertError(await send(id, { text: 'Hi', undo_seconds }), 422, 'VALIDATION_ERROR', 'undo_seconds');
    assert.equal((await send(id, { text: '😀'.repeat(4096) })).status, 200);
  });

  it('is refused without a valid number, and in another merchant’s conversation', async () => {
    const id = await newConversation('');
    assertError(await send(id, { text: 'Hi' }), 409, 'CONFLICT');
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const options = { token, body: { text: 'Hi' } };
    const foreign = await deskbell.call('POST', `${CONVERSATIONS}/${id}/send`, options);
    assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    const unknown = await deskbell.call('POST', `${CONVERSATIONS}/999999/send`, options);
    assert.equal(foreign.text, unknown.text);
  });

  it('is for members too, and for keys with the scope answer', async () => {
    const id = await newConversation();
    const member = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user', name = 'Bo' where id = $1`, [member.id]);
    const key = await createKey(deskbell, ['answer']);
    for (const token of [await deskbell.signIn(member.email, member.password), key]) {
      const options = { token, body: { text: 'Hi' } };
      assert.equal((await deskbell.call('POST', `${CONVERSATIONS}/${id}/send`, options)).status, 200);
    }
    assert.deepEqual(
      (await turns(id)).map(({ by }) => by),
      ['Bo', 'Test key'],
    );
    const token = await createKey(deskbell, ['ask', 'notifications:read']);
    const refused = await deskbell.call('POST', `${CONVERSATIONS}/${id}/send`, {
      token,
      body: { text: 'Hi' },
    });
    assertError(refused, 403, 'INSUFFICIENT_SCOPE');
  });

  it('counts towards the merchant’s storage', async () => {
    const bytes = async () =>
      (await deskbell.database.one<{ bytes: number }>(
        'select bytes from conversation_storage where merchant_id = 1',
      ))!.bytes;
    const id = await newConversation();
    const before = await bytes();
    await send(id, { text: 'é'.repeat(100) });
    assert.equal((await bytes()) - before, 400);
  });
});

onEachEngine('writing to a customer over WhatsApp', (engine) => {
  const whatsapp = useWhatsApp(engine);
  const deskbell = whatsapp as unknown as { deskbell: Parameters<typeof useTalking>[0] };
  const talking = () => useTalking(deskbell.deskbell);

  it('is free text within 24 hours of the customer’s message, which it can quote', async () => {
    const { meta } = whatsapp;
    const { newConversation, turns, send } = talking();
    const phone = newPhone();
    const id = await newConversation(phone);
    await meta.customerWrites(phone, { text: { body: 'Is it vegan?' } });
    await whatsapp.quiet();
    const [asked] = await turns(id);
    await send(id, { text: 'It is.', reply_to: asked!.id });
    await whatsapp.quiet();
    const { body } = meta.accepted.at(-1)!;
    const { message_id } = (await whatsapp.deskbell.database.one<{ message_id: string }>(
      'select message_id from conversation_messages where conversation_id = $1',
      [id],
    ))!;
    assert.match(message_id, /^wamid\./);
    assert.deepEqual(body.context, { message_id });
    assert.deepEqual((await turns(id)).at(-1)!.delivery!.state, 'sent');
  });

  it('quotes only ids of WhatsApp itself', async () => {
    const { meta } = whatsapp;
    const { newConversation, turns, send, record } = talking();
    const phone = newPhone();
    const id = await newConversation(phone);
    await meta.customerWrites(phone);
    await whatsapp.quiet();
    await record(id, { from: 'customer', text: 'In the app', message_id: 'app-1' });
    const turn = (await turns(id)).find(({ text }) => text === 'In the app');
    await send(id, { text: 'Yes', reply_to: turn!.id });
    await whatsapp.quiet();
    assert.deepEqual(
      [meta.accepted.at(-1)!.content, 'context' in meta.accepted.at(-1)!.body],
      ['Yes', false],
    );
  });

  it('is refused when the window is closed, with the time of the customer’s last message', async () => {
    const { meta } = whatsapp;
    const { newConversation, timeline, send } = talking();
    const phone = newPhone();
    const id = await newConversation(phone);
    assert.equal((await timeline(id)).sending, 'closed');
    const never = await send(id, { text: 'Hello?' });
    assertError(never, 409, 'WINDOW_CLOSED');
    assert.match(never.json.detail, /has not written yet/);
    await meta.customerWrites(phone);
    await whatsapp.quiet();
    const wroteAt = new Date(Math.floor(whatsapp.deskbell.clock.now().getTime() / 1000) * 1000).toISOString();
    assert.equal((await timeline(id)).sending, 'text');
    await whatsapp.later(24 * 3600);
    const closed = await send(id, { text: 'Hello?' });
    assertError(closed, 409, 'WINDOW_CLOSED');
    assert.ok(closed.json.detail.includes(wroteAt), closed.json.detail);
    assert.deepEqual(
      (await timeline(id)).items.filter(({ from }) => from === 'merchant'),
      [],
    );
  });
});

onEachEngine('writing to a customer over WhatsApp with a template', (engine) => {
  const whatsapp = useWhatsApp(engine, { WHATSAPP_TEMPLATE: META.template });

  it('is sent in the template when the window is closed', async () => {
    const { newConversation, timeline, send } = useTalking(whatsapp.deskbell);
    const id = await newConversation();
    assert.equal((await timeline(id)).sending, 'template');
    assert.equal((await send(id, { text: 'Your parcel\nhas left.' })).status, 200);
    await whatsapp.quiet();
    const sent = whatsapp.meta.accepted.at(-1)!;
    assert.deepEqual([sent.type, sent.content], ['template', 'Your parcel has left.']);
  });
});

onEachEngine('a message that can be undone', (engine) => {
  const killing = useKilling(engine);

  it('is sent once, and a taken-back one never, if the server is killed while they wait', async () => {
    const server = await killing.start({});
    const { json } = await callServer(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
    const token = json.access_token;
    const send = async (text: string) => {
      const options = { token, body: { text, undo_seconds: 60 } };
      const reply = await callServer(server.url, 'POST', `${CONVERSATIONS}/1/send`, options);
      assert.equal(reply.status, 200, reply.text);
      return reply.json.delivery_id as number;
    };
    const [undone, kept] = [await send('Undone'), await send('Kept')];
    const path = `${CONVERSATIONS}/1/sent/${undone}`;
    assert.equal((await callServer(server.url, 'DELETE', path, { token })).status, 200);
    await killing.kill(server);
    const states = () =>
      killing.database.all<{ id: number; state: string }>(
        'select id, state from deliveries where id in ($1, $2) order by id',
        [undone, kept],
      );
    assert.deepEqual(
      (await states()).map(({ state }) => state),
      ['cancelled', 'queued'],
    );
    // Its time comes.
    await killing.database.run('update deliveries set due_at = $2 where id = $1', [
      kept,
      new Date().toISOString(),
    ]);
    await killing.expireWaits();
    await killing.start({});
    await killing.until('it is delivered', async () => (await states())[1]!.state === 'delivered');
    const sent = await killing.database.all<{ content: string }>(
      `select content from simulator_messages where content in ('Kept', 'Undone')`,
    );
    assert.deepEqual(
      sent.map(({ content }) => content),
      ['Kept'],
    );
  });
});
