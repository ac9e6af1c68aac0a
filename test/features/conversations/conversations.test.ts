import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { completeConversation } from '../../../src/conversations/store.ts';
import { WHATSAPP } from '../../../src/delivery/channels/registry.ts';
import { setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, BOREALIS, idsOf, onEachEngine, useDeskbell } from '../../support/server.ts';

const CONVERSATIONS = '/api/v1/conversation';
const DAY_MS = 24 * 60 * 60_000;

onEachEngine('conversations', (engine) => {
  const deskbell = useDeskbell(engine);
  // The demo's customers wrote recently; this test starts without that.
  before(() => deskbell.database.run('delete from simulator_messages'));
  const list = (token: string, query = '') => deskbell.call('GET', `${CONVERSATIONS}/${query}`, { token });

  it('are listed for their merchant only, newest first, each with its customer', async () => {
    const reply = await list(await deskbell.signIn());
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(idsOf(reply), [3, 2, 1]);
    const { created_at, updated_at, ...first } = reply.json[2];
    assert.deepEqual(first, {
      id: 1,
      reference: 'demo-1',
      customer_name: 'Lucía Fernández',
      customer_phone: '+34611550101',
      window_open_until: null,
      taken_over: null,
    });
    assert.ok(Date.parse(created_at) <= Date.parse(updated_at));
  });

  it('can be selected by id; ids of other merchants are left out', async () => {
    const token = await deskbell.signIn();
    assert.deepEqual(idsOf(await list(token, '?ids=1,3,4,999999999999999')), [3, 1]);
    assert.deepEqual(idsOf(await list(token, '?ids=2&ids=3,2')), [3, 2]);
    assert.deepEqual(idsOf(await list(token, '?ids=4,5')), []);
    assert.deepEqual(idsOf(await list(token, '?ids=')), []);
    const theirs = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    assert.deepEqual(idsOf(await list(theirs, '?ids=1,2,3,4,5')), [5, 4]);
  });

  it('are also listed without the trailing slash', async () => {
    const reply = await deskbell.call('GET', CONVERSATIONS, { token: await deskbell.signIn() });
    assert.equal(reply.json.length, 3);
  });

  const many = Array.from({ length: 201 }, (_, index) => index + 1).join(',');
  for (const ids of ['abc', '1,', '0', '-1', '1.5', '1,2,x', many]) {
    it(`refuse the ids ${ids.slice(0, 12)}`, async () => {
      assertError(await list(await deskbell.signIn(), `?ids=${ids}`), 422, 'VALIDATION_ERROR', 'ids');
    });
  }

  it('have a window that opens for 24 hours when the customer writes', async () => {
    const token = await deskbell.signIn();
    const windowOf = async () => (await list(token, '?ids=2')).json[0].window_open_until;
    const before = deskbell.clock.now().getTime();
    await deskbell.call('POST', '/api/v1/simulator/2', { token, body: { text: 'Hello?' } });
    const until = Date.parse(await windowOf());
    assert.ok(until >= before + DAY_MS && until <= deskbell.clock.now().getTime() + DAY_MS);
    // The assistant's own messages do not open a window.
    assert.equal((await list(token, '?ids=1')).json[0].window_open_until, null);
    await deskbell.database.run(
      `update simulator_messages set at = $1 where from_customer = 1 and phone = '+351912550102'`,
      [new Date(before - DAY_MS).toISOString()],
    );
    assert.equal(await windowOf(), null);
  });

  it('have the window of the WhatsApp number that the customer wrote to', async () => {
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const { database, clock } = deskbell;
    const settings = {
      ...{ phoneNumberId: '123456', template: undefined, templateLanguage: 'en', version: 'v23.0' },
      ...{ baseUrl: 'http://127.0.0.1:1', token: 'a-secret-token', verifyToken: 'verify-me' },
      appSecret: 'an-app-secret-of-some-length',
    };
    const vault = openVault(deskbell.config);
    await setOwnChannel(database, vault, 2 as MerchantId, { type: WHATSAPP, settings }, clock.now());
    await clock.advance(5);
    const { json } = await list(token, '?ids=4,5');
    const opened = new Date(clock.now().getTime() - 60_000);
    const opens = (channel: string, at: Date) =>
      database.run(
        `insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)
          on conflict (channel_id, phone) do update set opened_at = excluded.opened_at`,
        [channel, json[0].customer_phone, at.toISOString()],
      );
    const windows = async () =>
      (await list(token, '?ids=4,5')).json.map((row: typeof json) => row.window_open_until);
    await opens('whatsapp:999999', opened);
    assert.deepEqual(await windows(), [null, null]);
    await opens('whatsapp:123456', opened);
    assert.deepEqual(await windows(), [new Date(opened.getTime() + DAY_MS).toISOString(), null]);
    await opens('whatsapp:123456', new Date(clock.now().getTime() - DAY_MS));
    assert.deepEqual(await windows(), [null, null]);
  });

  const create = (token: string, body: unknown, headers = {}) =>
    deskbell.call('POST', `${CONVERSATIONS}/`, { token, body, headers });
  const LUCIA = { customer_name: 'Lucía', customer_phone: '611 55 01 77' };

  it('are created, updated by their reference, and found by it and by their id', async () => {
    const token = await deskbell.signIn();
    deskbell.clock.stop();
    const at = deskbell.clock.now().toISOString();
    const { status, json: created } = await create(token, { ...LUCIA, reference: ' chat-1 ' });
    assert.deepEqual(
      { status, ...created },
      {
        ...{ status: 200, id: created.id, reference: 'chat-1' },
        ...{ customer_name: 'Lucía', customer_phone: '+34611550177' },
        ...{ created_at: at, updated_at: at, window_open_until: null, taken_over: null },
      },
    );
    await deskbell.clock.advance(60);
    // The same again changes nothing, not even the time.
    assert.deepEqual((await create(token, { ...LUCIA, reference: 'chat-1' })).json, created);
    const changed = { customer_name: 'Lucía F.', customer_phone: '+34 611 55 01 78' };
    const updated = (await create(token, { ...changed, reference: 'chat-1' })).json;
    assert.deepEqual(updated, {
      ...created,
      customer_name: 'Lucía F.',
      customer_phone: '+34611550178',
      updated_at: deskbell.clock.now().toISOString(),
    });
    deskbell.clock.go();
    const found = await deskbell.call('GET', `${CONVERSATIONS}/${created.id}`, { token });
    assert.deepEqual(found.json, updated);
    assert.deepEqual((await list(token, '?reference=chat-1')).json, [updated]);
    assert.deepEqual((await list(token, '?reference=chat-2')).json, []);
    assertError(await list(token, '?reference=chat-1&ids=1'), 422, 'VALIDATION_ERROR', 'reference');
    assertError(await list(token, '?reference=a&reference=b'), 422, 'VALIDATION_ERROR', 'reference');
    // A number is a reference too.
    const numbered = (await create(token, { ...LUCIA, reference: 881 })).json;
    assert.equal(numbered.reference, '881');
    assert.deepEqual(idsOf(await list(token, '?reference=881')), [numbered.id]);
  });

  it('are created once if many requests with one reference come at the same time', async () => {
    const token = await deskbell.signIn();
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        create(token, { ...LUCIA, customer_name: `Name ${n}`, reference: 'chat-race' }),
      ),
    );
    for (const { status, text } of replies) assert.equal(status, 200, text);
    assert.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
  });

  it('without a reference are new each time, unless the request has an Idempotency-Key', async () => {
    const token = await deskbell.signIn();
    const [first, second] = [await create(token, LUCIA), await create(token, LUCIA)];
    assert.notEqual(first.json.id, second.json.id);
    const key = { 'idempotency-key': 'conversation-once' };
    const [once, again] = [await create(token, LUCIA, key), await create(token, LUCIA, key)];
    assert.deepEqual(again.json, once.json);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    const other = await create(token, { ...LUCIA, customer_name: 'Ana' }, key);
    assertError(other, 422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key');
  });

  it('with the same reference belong to each merchant separately', async () => {
    const [aurora, borealis] = [
      await deskbell.signIn(),
      await deskbell.signIn(BOREALIS.email, BOREALIS.password),
    ];
    const body = { ...LUCIA, customer_phone: '+34611550177', reference: 'shared' };
    const mine = (await create(aurora, body)).json;
    const theirs = (await create(borealis, { ...body, customer_name: 'Other' })).json;
    assert.notEqual(mine.id, theirs.id);
    assert.deepEqual((await list(aurora, '?reference=shared')).json, [mine]);
    assertError(
      await deskbell.call('GET', `${CONVERSATIONS}/${theirs.id}`, { token: aurora }),
      404,
      'CONVERSATION_NOT_FOUND',
      'conversation_id',
    );
  });

  const BAD: [problem: string, change: object, field: string][] = [
    ['no name', { customer_name: undefined }, 'customer_name'],
    ['a blank name', { customer_name: '  ' }, 'customer_name'],
    ['a name that is a number', { customer_name: 7 }, 'customer_name'],
    ['a long name', { customer_name: 'x'.repeat(256) }, 'customer_name'],
    ['control characters', { customer_name: 'a\0b' }, 'customer_name'],
    [
      'neither a phone number nor a reference',
      { customer_phone: undefined, reference: undefined },
      'customer_phone',
    ],
    ['a phone number that is none', { customer_phone: 'call me' }, 'customer_phone'],
    ['a short phone number', { customer_phone: '+34 61' }, 'customer_phone'],
    ['a phone number that is an object', { customer_phone: {} }, 'customer_phone'],
    ['a reference that is a list', { reference: ['x'] }, 'reference'],
    ['a long reference', { reference: 'x'.repeat(256) }, 'reference'],
    ['half a surrogate pair', { reference: '\ud83d' }, 'reference'],
  ];
  for (const [problem, change, field] of BAD) {
    it(`are not created with ${problem}`, async () => {
      const reply = await create(await deskbell.signIn(), { ...LUCIA, ...change });
      assertError(reply, 422, 'VALIDATION_ERROR', field);
      assert.ok(reply.json.detail.startsWith(`${field} `), reply.json.detail);
    });
  }
  for (const body of ['[]', '7', 'null', '"x"']) {
    it(`are not created from ${body}`, async () => {
      assertError(await create(await deskbell.signIn(), body), 422, 'VALIDATION_ERROR', 'customer_name');
    });
  }

  it('with a reference need no phone number; a stored number stays', async () => {
    const token = await deskbell.signIn();
    const named = { customer_name: 'Ana', reference: 'relayed' };
    assert.equal((await create(token, named)).json.customer_phone, '');
    assert.equal((await create(token, { ...named, customer_phone: '+34611550177' })).status, 200);
    assert.equal(
      (await create(token, { ...named, customer_name: 'Eva' })).json.customer_phone,
      '+34611550177',
    );
  });

  it('keep a number and a name that were recorded while a question completed them', async () => {
    const { database, clock } = deskbell;
    const token = await deskbell.signIn();
    const body = { question: 'Who is first?', customer: { reference: 'raced' }, deliver: 'assistant' };
    await deskbell.call('POST', '/api/v1/ask', { token, body });
    const read = async () =>
      (await deskbell.call('GET', `${CONVERSATIONS}/?reference=raced`, { token })).json[0];
    const known = await read();
    const saved = { reference: 'raced', customer_name: 'Ana', customer_phone: '+34611550179' };
    await create(token, saved);
    const complete = (phone: string) =>
      database.transaction((tx) =>
        completeConversation(tx, 1 as MerchantId, {
          ...{ known, customer: { reference: 'raced', name: 'Eva', phone }, at: clock.now() },
        }),
      );
    assert.equal(await complete('+34611550178'), false);
    assert.equal(await complete('+34611550179'), true);
    assert.equal(await complete(''), true);
    const { customer_name, customer_phone } = await read();
    assert.deepEqual([customer_name, customer_phone], ['Ana', '+34611550179']);
  });

  it('are written with a key that may ask, and read with one that may ask or read notifications', async () => {
    type Scope = 'ask' | 'notifications:read' | 'knowledge:read';
    const CASES: [scope: Scope, method: string, path: string, status: number][] = [
      ['ask', 'POST', '/', 200],
      ['notifications:read', 'POST', '/', 403],
      ['ask', 'POST', '/1/messages', 200],
      ['notifications:read', 'POST', '/1/messages', 403],
      ...(['ask', 'notifications:read'] as const).flatMap((scope): [Scope, string, string, number][] => [
        [scope, 'GET', '/', 200],
        [scope, 'GET', '/1', 200],
        [scope, 'GET', '/1/messages', 200],
      ]),
      ['knowledge:read', 'GET', '/1', 403],
      ['knowledge:read', 'GET', '/1/messages', 403],
    ];
    const key = {
      ask: await createKey(deskbell, ['ask']),
      'notifications:read': await createKey(deskbell, ['notifications:read']),
      'knowledge:read': await createKey(deskbell, ['knowledge:read']),
    };
    for (const [scope, method, path, status] of CASES) {
      const body = { ...LUCIA, from: 'customer', text: 'Hello' };
      const reply = await deskbell.call(method, CONVERSATIONS + path, {
        token: key[scope],
        ...(method === 'POST' ? { body } : {}),
      });
      assert.equal(reply.status, status, `${scope} ${method} ${path}: ${reply.text}`);
      if (status === 403) assertError(reply, 403, 'INSUFFICIENT_SCOPE');
    }
  });

  it('are at most 200', async () => {
    for (let count = 0; count < 201; count += 1) {
      await deskbell.database.run(
        `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
          values (2, $1, 'Ana', '+3545550101', $2, $2)`,
        [`many-${count}`, deskbell.clock.now().toISOString()],
      );
    }
    const reply = await list(await deskbell.signIn(BOREALIS.email, BOREALIS.password));
    assert.equal(reply.json.length, 200);
    assert.ok(!idsOf(reply).includes(4));
  });

  it('need a merchant’s token', async () => {
    assertError(await deskbell.call('GET', `${CONVERSATIONS}/?ids=x`), 401, 'INVALID_TOKEN');
  });
});
