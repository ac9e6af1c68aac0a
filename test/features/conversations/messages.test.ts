import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { upsertConversation } from '../../../src/conversations/store.ts';
import { createLogger } from '../../../src/log.ts';
import { assertError, BOREALIS, onEachEngine, QUESTION, raise, useDeskbell } from '../../support/server.ts';
import { receivedIn, type ThreadMessage, textsOf, threadOf } from '../../support/threads.ts';
import { newPhone } from '../../support/whatsapp.ts';

const DAY_SECONDS = 24 * 3600;

onEachEngine('the messages of a conversation', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  let conversations = 0;
  before(async () => {
    token = await deskbell.signIn();
  });

  async function newConversation(): Promise<number> {
    conversations += 1;
    const given = { reference: `thread-${conversations}`, name: 'Ana', phone: newPhone() };
    return (await upsertConversation(deskbell.database, 1 as MerchantId, given, deskbell.clock.now())).id;
  }
  const record = (id: number, body: unknown, headers = {}) =>
    deskbell.call('POST', threadOf(id), { token, body, headers });
  async function read(id: number): Promise<ThreadMessage[]> {
    const { status, json, text } = await deskbell.call('GET', threadOf(id), { token });
    assert.equal(status, 200, text);
    assert.equal(json.next_cursor, null);
    return json.messages;
  }

  it('are recorded, one or many, and listed in the order of their times', async () => {
    const id = await newConversation();
    const alone = await record(id, {
      ...{ from: 'assistant', text: 'One moment.', at: '2026-01-15T10:00:00.5+01:00', message_id: 'out-1' },
    });
    assert.deepEqual(alone.json, { stored: 1, repeated: 0 });
    const before = deskbell.clock.now().toISOString();
    const many = await record(id, {
      messages: [
        { from: 'customer', text: 'Are you open?', at: '2026-01-15T08:59:00Z' },
        { from: 'customer', text: 'Hello?', at: null, message_id: null },
        { from: 'assistant', text: ' Yes 😀\n' },
      ],
    });
    assert.deepEqual(many.json, { stored: 3, repeated: 0 });
    const messages = await read(id);
    assert.deepEqual(textsOf(messages), ['Are you open?', 'One moment.', 'Hello?', ' Yes 😀\n']);
    assert.deepEqual(messages[1], {
      ...{ id: messages[1]!.id, from: 'assistant', text: 'One moment.', at: '2026-01-15T09:00:00.500Z' },
      ...{ message_id: 'out-1', notification_id: null, delivery: null },
    });
    assert.ok(messages[2]!.at >= before && messages[2]!.at <= deskbell.clock.now().toISOString());
  });

  it('with a message_id are stored once in their conversation, also if they come at the same time', async () => {
    const [id, other] = [await newConversation(), await newConversation()];
    const messages = ['a', 'b', 'c'].map((text) => ({ from: 'customer', text, message_id: text }));
    const replies = await Promise.all(
      [messages, messages.toReversed(), messages, messages.toReversed()].map((list) =>
        record(id, { messages: list }),
      ),
    );
    for (const { status, text } of replies) assert.equal(status, 200, text);
    assert.equal(
      replies.reduce((sum, { json }) => sum + json.stored, 0),
      3,
    );
    const twice = {
      messages: [messages[0], { ...messages[0], text: 'another' }, { from: 'customer', text: 'd' }],
    };
    assert.deepEqual((await record(id, twice)).json, { stored: 1, repeated: 2 });
    assert.deepEqual(textsOf(await read(id)).sort(), ['a', 'b', 'c', 'd']);
    assert.deepEqual((await record(other, { messages })).json, { stored: 3, repeated: 0 });
  });

  it('without a message_id are stored once with an Idempotency-Key', async () => {
    const id = await newConversation();
    const headers = { 'idempotency-key': 'messages-once' };
    const body = { from: 'customer', text: 'Once.' };
    for (const expected of [null, 'true']) {
      const reply = await record(id, body, headers);
      assert.deepEqual(reply.json, { stored: 1, repeated: 0 });
      assert.equal(reply.headers.get('idempotency-replayed'), expected);
    }
    assert.equal((await read(id)).length, 1);
  });

  it('are paged, with answers between them: every message once, in order, for any page size', async () => {
    const id = await newConversation();
    const at = '2026-01-15T09:00:00.000Z';
    const messages = Array.from({ length: 7 }, (_, n) => ({
      ...{ from: n % 2 ? 'assistant' : 'customer', text: `message ${n}` },
      at: n < 5 ? at : '2026-01-15T09:00:01Z',
    }));
    await record(id, { messages });
    for (const text of ['first answer', 'second answer']) {
      const address = await raise(deskbell, token, { ...QUESTION, conversation_id: id });
      await deskbell.call('POST', `${address}/answer`, { token, body: { answer: text } });
    }
    await deskbell.allSent();
    // At the same time as five of the messages.
    await deskbell.database.run('update deliveries set created_at = $2 where conversation_id = $1', [id, at]);
    const whole = await read(id);
    const expected = [0, 1, 2, 3, 4].map((n) => `message ${n}`);
    assert.deepEqual(textsOf(whole), [
      ...expected,
      'first answer',
      'second answer',
      'message 5',
      'message 6',
    ]);
    assert.equal(new Set(whole.map((one) => one.id)).size, 9);
    for (let limit = 1; limit <= 10; limit += 1) {
      const pages: ThreadMessage[] = [];
      let cursor = '';
      for (;;) {
        const { json } = await deskbell.call('GET', `${threadOf(id)}?limit=${limit}${cursor}`, { token });
        assert.ok(json.messages.length <= limit);
        pages.push(...json.messages);
        if (json.next_cursor === null) break;
        cursor = `&cursor=${json.next_cursor}`;
      }
      assert.deepEqual(pages, whole);
    }
  });

  it('include what Deskbell sent, with its notification and state', async () => {
    const id = await newConversation();
    const address = await raise(deskbell, token, { ...QUESTION, conversation_id: id });
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes, two kinds.' } });
    await deskbell.allSent();
    const [sent] = await read(id);
    const notificationId = Number(address.split('/').at(-1));
    const [delivery] = (await deskbell.call('GET', '/api/v1/delivery/?limit=1', { token })).json;
    assert.deepEqual(sent, {
      ...{ id: `d${delivery.id}`, from: 'merchant', text: 'Yes, two kinds.', at: delivery.created_at },
      ...{ message_id: null, notification_id: notificationId },
      delivery: { id: delivery.id, state: 'delivered' },
    });
    // The customer reads it.
    await deskbell.call('GET', `/api/v1/simulator/${id}`, { token });
    assert.equal((await read(id))[0]!.delivery!.state, 'read');
  });

  it('include what the customer wrote on the test phone, and what the demo’s assistant said', async () => {
    const id = await newConversation();
    await deskbell.call('POST', `/api/v1/simulator/${id}`, { token, body: { text: 'Is it\0 organic?' } });
    const [message, ...others] = await read(id);
    assert.deepEqual(
      others.map(({ from }) => from),
      ['assistant'],
    );
    assert.deepEqual([message!.from, message!.text], ['customer', 'Is it\ufffd organic?']);
    assert.match(message!.message_id!, /^simulator-\d+$/);
    const { message_id, text } = message!;
    assert.deepEqual(await receivedIn(deskbell, 1, id), [{ message_id, text }]);
  });

  it('are separate for each merchant: a foreign conversation is like a missing one', async () => {
    const theirs = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const message = { from: 'customer', text: 'Mine.' };
    for (const id of [1, 999_999]) {
      for (const [method, body] of [['GET'], ['POST', message], ['POST', { from: 'nobody' }]] as const) {
        const options = { token: theirs, ...(body ? { body } : {}) };
        const reply = await deskbell.call(method, threadOf(id), options);
        assertError(reply, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
      }
    }
    const stored = await deskbell.database.one(`select id from conversation_messages where text = 'Mine.'`);
    assert.equal(stored, undefined);
  });

  it('are all stored or none, and the refusal names the field', async () => {
    const id = await newConversation();
    const good = { from: 'customer', text: 'Good.' };
    const ahead = new Date(deskbell.clock.now().getTime() + 10 * 60_000).toISOString();
    const BAD: [body: unknown, field: string][] = [
      [{}, 'from'],
      ['[]', 'from'],
      ['7', 'from'],
      [{ messages: [] }, 'messages'],
      [{ messages: good }, 'messages'],
      [{ messages: Array.from({ length: 101 }, () => good) }, 'messages'],
      [{ messages: [good, null] }, 'messages[1].from'],
      [{ messages: [good, { ...good, from: 'merchant' }] }, 'messages[1].from'],
      [{ ...good, text: undefined }, 'text'],
      [{ ...good, text: ' \n' }, 'text'],
      [{ ...good, text: 7 }, 'text'],
      [{ ...good, text: 'x'.repeat(4097) }, 'text'],
      [{ messages: [good, { ...good, text: '' }] }, 'messages[1].text'],
      [{ ...good, message_id: '' }, 'message_id'],
      [{ ...good, message_id: 7 }, 'message_id'],
      [{ ...good, message_id: 'x'.repeat(256) }, 'message_id'],
      [{ ...good, message_id: 'a\0' }, 'message_id'],
      [{ ...good, message_id: '\ud83d' }, 'message_id'],
      [{ ...good, at: 'yesterday' }, 'at'],
      [{ ...good, at: 1_768_469_400 }, 'at'],
      [{ ...good, at: '2026-01-15' }, 'at'],
      [{ ...good, at: '2026-01-15T09:30:00' }, 'at'],
      [{ ...good, at: '2026-13-15T09:30:00Z' }, 'at'],
      [{ ...good, at: '0000-01-01T00:00:00Z' }, 'at'],
      [{ ...good, at: ahead }, 'at'],
    ];
    for (const [body, field] of BAD) {
      const reply = await record(id, body);
      assertError(reply, 422, 'VALIDATION_ERROR', field);
      assert.ok(reply.json.detail.startsWith(`${field} `), reply.json.detail);
    }
    assert.deepEqual(await read(id), []);
    // What the assistant records is no news to it.
    assert.deepEqual(await receivedIn(deskbell, 1, id), []);
    const longest = { ...good, text: '😀'.repeat(4096), message_id: '😀'.repeat(255) };
    assert.deepEqual((await record(id, longest)).json, { stored: 1, repeated: 0 });
    for (const [query, field] of [
      ['?limit=0', 'limit'],
      ['?limit=201', 'limit'],
      ['?cursor=x', 'cursor'],
      [`?cursor=${Buffer.from('delivery 7').toString('base64url')}`, 'cursor'],
    ]) {
      const reply = await deskbell.call('GET', threadOf(id) + query, { token });
      assertError(reply, 422, 'VALIDATION_ERROR', field);
    }
  });

  it('expire, and the storage that the database counts is what is stored', async () => {
    const { database, clock, config } = deskbell;
    const id = await newConversation();
    const messages = ['größer', '😀'].map((text) => ({ from: 'customer', text, message_id: text }));
    await record(id, { messages });
    const figures = async () =>
      (await database.one<{ counted: number; stored: number; messages: number }>(
        `select (select bytes from conversation_storage where merchant_id = 1) as counted,
          cast((select count(*) * 500 from conversations where merchant_id = 1) + (select coalesce(
            sum(octet_length(text) + coalesce(octet_length(message_id), 0) + 200), 0) from conversation_messages
            where merchant_id = 1) as bigint) as stored,
          (select count(*) from conversation_messages where conversation_id = $1) as messages`,
        [id],
      ))!;
    const before = await figures();
    assert.equal(before.counted, before.stored);
    assert.equal(before.messages, 2);
    const silent = createLogger({ logLevel: 'silent', logPretty: false });
    const after = (days: number) => new Date(clock.now().getTime() + days * DAY_SECONDS * 1000);
    await cleanUp(database, config, silent, after(364));
    assert.equal((await figures()).messages, 2);
    await cleanUp(database, config, silent, after(366));
    const emptied = await figures();
    assert.equal(emptied.counted, emptied.stored);
    assert.equal(emptied.messages, 0);
  });

  it('are not in the log, nor are names and phone numbers', () => {
    const log = deskbell.logged.join('');
    for (const text of ['Are you open?', 'organic', 'Ana', '+35466']) assert.ok(!log.includes(text), text);
  });
});

onEachEngine('messages of a merchant whose storage is full', (engine) => {
  const deskbell = useDeskbell(engine, { STORAGE_PER_MERCHANT_MB: '1' });

  it('are refused, but not what a customer writes', async () => {
    const token = await deskbell.signIn();
    const messages = Array.from({ length: 60 }, () => ({ from: 'customer', text: 'x'.repeat(4096) }));
    const post = () => deskbell.call('POST', threadOf(1), { token, body: { messages } });
    let reply = await post();
    for (let n = 0; n < 5 && reply.status === 200; n += 1) reply = await post();
    assertError(reply, 507, 'STORAGE_FULL');
    const { json } = await deskbell.call('GET', `${threadOf(1)}?limit=200`, { token });
    // A page of long messages is shorter.
    assert.ok(json.messages.length < 100 && json.next_cursor !== null);
    const text = { text: 'Is it organic?' };
    assert.equal((await deskbell.call('POST', '/api/v1/simulator/2', { token, body: text })).status, 200);
    const thread = await deskbell.call('GET', threadOf(2), { token });
    assert.equal(textsOf(thread.json.messages)[0], 'Is it organic?');
  });
});
