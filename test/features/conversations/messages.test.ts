import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { receivedIn, type ThreadMessage, textsOf } from '../../support/threads.ts';

const DAY_MS = 24 * 60 * 60_000;

const recordIn = (shop: Merchant) => (id: number, body: unknown) =>
  shop.post(`/conversation/${id}/messages`, body);

onEachEngine('the messages of a conversation', (engine) => {
  const shop = useMerchant(engine);
  const record = recordIn(shop);
  const read = async (id: number): Promise<ThreadMessage[]> => {
    const { json } = await shop.get(`/conversation/${id}/messages`);
    assert.equal(json.next_cursor, null);
    return json.messages;
  };
  const answerIn = async (conversation_id: number, answer: string): Promise<number> => {
    const id = await shop.raise({ conversation_id, context: { question: 'Do you have decaf beans?' } });
    await shop.answer(id, answer);
    await shop.deskbell.allSent();
    return id;
  };

  it('are recorded, one or many, and listed in the order of their times', async () => {
    const id = await shop.converse();
    const alone = await record(id, {
      ...{ from: 'assistant', text: 'One moment.', at: '2026-01-15T10:00:00.5+01:00', message_id: 'out-1' },
    });
    assert.deepEqual(alone.json, { stored: 1, repeated: 0 });
    const before = shop.deskbell.clock.now().toISOString();
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
    assert.ok(messages[2]!.at >= before && messages[2]!.at <= shop.deskbell.clock.now().toISOString());
    // What the assistant records is no news to it, and no text for the log.
    assert.deepEqual(await receivedIn(shop.deskbell, shop.id, id), []);
    assert.doesNotMatch(shop.deskbell.logged.join(''), /Are you open|Lucía|\+34622/);
  });

  it('with a message_id are stored once in their conversation, also if they come at the same time', async () => {
    const [id, another] = [await shop.converse(), await shop.converse()];
    const messages = ['a', 'b', 'c'].map((text) => ({ from: 'customer', text, message_id: text }));
    const replies = await Promise.all(
      [messages, messages.toReversed(), messages, messages.toReversed()].map((list) =>
        record(id, { messages: list }),
      ),
    );
    for (const { status, text } of replies) assert.equal(status, 200, text);
    const stored = replies.reduce((sum, { json }) => sum + json.stored, 0);
    assert.equal(stored, 3);
    const more = [messages[0], { ...messages[0], text: 'another' }, { from: 'customer', text: 'd' }];
    assert.deepEqual((await record(id, { messages: more })).json, { stored: 1, repeated: 2 });
    assert.deepEqual(textsOf(await read(id)).sort(), ['a', 'b', 'c', 'd']);
    assert.deepEqual((await record(another, { messages })).json, { stored: 3, repeated: 0 });
  });

  it('are paged, with answers between them: every message once, in order, for any page size', async () => {
    const id = await shop.converse();
    const at = '2026-01-15T09:00:00.000Z';
    const messages = Array.from({ length: 7 }, (_, n) => ({
      ...{ from: n % 2 ? 'assistant' : 'customer', text: `message ${n}` },
      at: n < 5 ? at : '2026-01-15T09:00:01Z',
    }));
    await record(id, { messages });
    await answerIn(id, 'first answer');
    const second = await answerIn(id, 'second answer');
    // At the same time as five of the messages.
    await shop.deskbell.database.run('update deliveries set created_at = $2 where conversation_id = $1', [
      id,
      at,
    ]);
    const whole = await read(id);
    const texts = messages.map(({ text }) => text);
    assert.deepEqual(textsOf(whole), [
      ...[...texts.slice(0, 5), 'first answer', 'second answer', ...texts.slice(5)],
    ]);
    assert.equal(new Set(whole.map((one) => one.id)).size, 9);
    const { id: delivery } = (await shop.get('/delivery/?limit=1')).json[0];
    assert.deepEqual(whole[6], {
      ...{ id: `d${delivery}`, from: 'merchant', text: 'second answer', at, message_id: null },
      ...{ notification_id: second, delivery: { id: delivery, state: 'delivered' } },
    });
    for (const limit of [1, 2, 5, 6, 9]) {
      const pages: ThreadMessage[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query = `?limit=${limit}${cursor && `&cursor=${cursor}`}`;
        const { json } = await shop.get(`/conversation/${id}/messages${query}`);
        assert.ok(json.messages.length <= limit);
        pages.push(...json.messages);
        cursor = json.next_cursor;
      }
      assert.deepEqual(pages, whole);
    }
  });

  it('expire, and the storage that the database counts is what is stored', async () => {
    const { database, clock, config } = shop.deskbell;
    const id = await shop.converse();
    const messages = ['größer', '😀'].map((text) => ({ from: 'customer', text, message_id: text }));
    await record(id, { messages });
    const assertKept = async (count: number) => {
      const sums = await database.one<{ counted: number; stored: number; kept: number }>(
        `select (select bytes from conversation_storage where merchant_id = $2) as counted,
          cast((select count(*) * 500 from conversations where merchant_id = $2) + (select coalesce(
            sum(octet_length(text) + coalesce(octet_length(message_id), 0) + 200), 0) from conversation_messages
            where merchant_id = $2) as bigint) as stored,
          (select count(*) from conversation_messages where conversation_id = $1) as kept`,
        [id, shop.id],
      );
      assert.deepEqual([sums!.counted, sums!.kept], [sums!.stored, count]);
    };
    await assertKept(2);
    const silent = createLogger({ logLevel: 'silent', logPretty: false });
    const cleanUpAfter = (days: number) =>
      cleanUp(database, config, silent, new Date(clock.now().getTime() + days * DAY_MS));
    await cleanUpAfter(364);
    await assertKept(2);
    await cleanUpAfter(366);
    await assertKept(0);
  });
});

onEachEngine('messages of a merchant whose storage is full', (engine) => {
  const shop = useMerchant(engine, { STORAGE_PER_MERCHANT_MB: '1' });

  it('are refused, but not what a customer writes', async () => {
    const [full, phone] = [shop.conversationId, await shop.converse()];
    const messages = Array.from({ length: 60 }, () => ({ from: 'customer', text: 'x'.repeat(4096) }));
    let reply = await recordIn(shop)(full, { messages });
    for (let n = 0; n < 5 && reply.status === 200; n += 1) reply = await recordIn(shop)(full, { messages });
    assertError(reply, 507, 'STORAGE_FULL');
    const { json } = await shop.get(`/conversation/${full}/messages?limit=200`);
    // A page of long messages is shorter.
    assert.ok(json.messages.length < 100 && json.next_cursor !== null);
    assert.equal((await shop.post(`/simulator/${phone}`, { text: 'Is it organic?' })).status, 200);
    const thread = await shop.get(`/conversation/${phone}/messages`);
    assert.equal(textsOf(thread.json.messages)[0], 'Is it organic?');
  });
});

describe('a message to record', () => {
  const shop = useMerchant('sqlite');

  it('is valid, or none of the request is stored, and the refusal names the field', async () => {
    const id = shop.conversationId;
    const path = `/conversation/${id}/messages`;
    const good = { from: 'customer', text: 'Good.' };
    const ahead = new Date(shop.deskbell.clock.now().getTime() + 10 * 60_000).toISOString();
    const times = ['yesterday', 1_768_469_400, '2026-01-15T09:30:00', '2026-13-15T09:30:00Z', ahead];
    const BAD: [field: string, bodies: unknown[]][] = [
      ['from', [{}, '[]']],
      ['messages', [[], good, Array.from({ length: 101 }, () => good)].map((messages) => ({ messages }))],
      ['messages[1].from', [null, { ...good, from: 'merchant' }].map((one) => ({ messages: [good, one] }))],
      ['text', [undefined, ' \n', 7, 'x'.repeat(4097)].map((text) => ({ ...good, text }))],
      ['message_id', ['', 7, 'x'.repeat(256), 'a\0'].map((message_id) => ({ ...good, message_id }))],
      ['at', times.map((at) => ({ ...good, at }))],
    ];
    for (const [field, bodies] of BAD)
      for (const body of bodies) assertError(await recordIn(shop)(id, body), 422, 'VALIDATION_ERROR', field);
    assert.deepEqual((await shop.get(path)).json.messages, []);
    const longest = { ...good, text: '😀'.repeat(4096), message_id: '😀'.repeat(255) };
    assert.deepEqual((await recordIn(shop)(id, longest)).json, { stored: 1, repeated: 0 });
    for (const query of ['limit=0', 'limit=201', 'cursor=x'])
      assertError(await shop.get(`${path}?${query}`), 422, 'VALIDATION_ERROR', query.split('=')[0]);
  });
});
