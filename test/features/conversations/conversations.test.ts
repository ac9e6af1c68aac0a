import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { completeConversation } from '../../../src/conversations/store.ts';
import { type Merchant, newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, type CallOptions, idsOf, onEachEngine } from '../../support/server.ts';

const DAY_MS = 24 * 60 * 60_000;
const LUCIA = { customer_name: 'Lucía', customer_phone: '611 55 01 77' };
/** Numbers without a country code are Spanish. */
const inSpain = async (...shops: Merchant[]) => {
  for (const shop of shops) assert.equal((await shop.patch('/merchant', { country: 'ES' })).status, 200);
};
const MANY = Array.from({ length: 201 }, (_, index) => index + 1).join(',');

onEachEngine('conversations', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  before(() => inSpain(shop, other));
  const list = (query = '', of = shop) => of.get(`/conversation/${query}`);
  const create = (body: unknown, options?: CallOptions) => shop.post('/conversation/', body, options);
  const windowsOf = async (...ids: number[]) =>
    (await list(`?ids=${ids}`)).json.map(
      (one: { window_open_until: string | null }) => one.window_open_until,
    );

  it('are listed for their merchant only, newest first, each with its customer', async () => {
    const ids = [shop.conversationId, await shop.converse(), await shop.converse(LUCIA)];
    for (const slash of ['/', ''])
      assert.deepEqual(idsOf(await shop.get(`/conversation${slash}`)), ids.toReversed());
    const { created_at, updated_at, ...newest } = (await list()).json[0];
    assert.deepEqual(newest, {
      ...{ id: ids[2], reference: null, customer_name: 'Lucía', customer_phone: '+34611550177' },
      ...{ window_open_until: null, taken_over: null },
    });
    assert.ok(Date.parse(created_at) <= Date.parse(updated_at));
    // They can be selected by id; ids of other merchants are left out.
    const [one, two, three] = ids;
    assert.deepEqual(idsOf(await list(`?ids=${one},${three},999999999999999,${other.conversationId}`)), [
      ...[three, one],
    ]);
    assert.deepEqual(idsOf(await list(`?ids=${two}&ids=${three},${two}`)), [three, two]);
    assert.deepEqual(idsOf(await list(`?ids=${ids}`, other)), []);
    assert.deepEqual(idsOf(await list('?ids=')), []);
  });

  it('have a window that opens for 24 hours when the customer writes', async () => {
    const { clock, database } = shop.deskbell;
    const [id, silent] = [await shop.converse(), await shop.converse()];
    const before = clock.now().getTime();
    await shop.post(`/simulator/${id}`, { text: 'Hello?' });
    // The assistant's own messages do not open a window.
    const [none, opened] = await windowsOf(silent, id);
    assert.equal(none, null);
    const until = Date.parse(opened);
    assert.ok(until >= before + DAY_MS && until <= clock.now().getTime() + DAY_MS);
    await database.run(
      `update simulator_messages set at = $1 where from_customer = 1
        and phone = (select customer_phone from conversations where id = $2)`,
      [new Date(before - DAY_MS).toISOString(), id],
    );
    assert.deepEqual(await windowsOf(id), [null]);
  });

  it('are created, updated by their reference, and found by it and by their id', async () => {
    const { clock } = shop.deskbell;
    clock.stop();
    const at = clock.now().toISOString();
    const { json: created } = await create({ ...LUCIA, reference: ' chat-1 ' });
    assert.deepEqual(created, {
      ...{ id: created.id, reference: 'chat-1', customer_name: 'Lucía', customer_phone: '+34611550177' },
      ...{ created_at: at, updated_at: at, window_open_until: null, taken_over: null },
    });
    clock.jump(60);
    // The same again changes nothing, not even the time.
    assert.deepEqual((await create({ ...LUCIA, reference: 'chat-1' })).json, created);
    const changed = { customer_name: 'Lucía F.', customer_phone: '+34611550178' };
    const updated = (await create({ ...changed, reference: 'chat-1' })).json;
    assert.deepEqual(updated, { ...created, ...changed, updated_at: clock.now().toISOString() });
    clock.go();
    assert.deepEqual((await list(`${created.id}`)).json, updated);
    assert.deepEqual((await list('?reference=chat-1')).json, [updated]);
    assert.deepEqual((await list('?reference=chat-2')).json, []);
    // A number is a reference too.
    const numbered = (await create({ ...LUCIA, reference: 881 })).json;
    assert.equal(numbered.reference, '881');
    assert.deepEqual(idsOf(await list('?reference=881')), [numbered.id]);
  });

  it('are created once if many requests with one reference come at the same time', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        create({ ...LUCIA, customer_name: `Name ${n}`, reference: 'chat-race' }),
      ),
    );
    for (const { status, text } of replies) assert.equal(status, 200, text);
    assert.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
  });

  it('without a reference are new each time', async () => {
    assert.notEqual((await create(LUCIA)).json.id, (await create(LUCIA)).json.id);
  });

  it('with a reference need no phone number; a stored number stays', async () => {
    const named = { customer_name: 'Ana', reference: 'relayed' };
    const phone = '+34611550177';
    for (const [change, expected] of [
      [{}, ''],
      [{ customer_phone: phone }, phone],
      [{ customer_name: 'Eva' }, phone],
    ] as const)
      assert.equal((await create({ ...named, ...change })).json.customer_phone, expected);
  });

  it('keep a number and a name that were recorded while a question completed them', async () => {
    const { database, clock } = shop.deskbell;
    const reference = 'raced';
    await shop.post('/ask', { question: 'Who is first?', customer: { reference }, deliver: 'assistant' });
    const read = async () => (await list(`?reference=${reference}`)).json[0];
    const known = await read();
    await create({ reference, customer_name: 'Ana', customer_phone: '+34611550179' });
    for (const [phone, isSame] of [
      ['+34611550178', false],
      ['+34611550179', true],
      ['', true],
    ] as const) {
      const customer = { reference, name: 'Eva', phone };
      const completed = await database.transaction((tx) =>
        completeConversation(tx, shop.id, { known, customer, at: clock.now() }),
      );
      assert.equal(completed, isSame);
    }
    const { customer_name, customer_phone } = await read();
    assert.deepEqual([customer_name, customer_phone], ['Ana', '+34611550179']);
  });

  it('are at most 200', async () => {
    const busy = await newMerchant(shop.deskbell);
    await busy.deskbell.database.run(
      `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
        with recursive copy (n) as (select 1 union all select n + 1 from copy where n < 201)
        select merchant_id, cast(n as text), 'Ana', '+3545550101', created_at, updated_at from conversations
          cross join copy where id = $1`,
      [busy.conversationId],
    );
    const ids = idsOf(await list('', busy));
    assert.deepEqual([ids.length, ids.includes(busy.conversationId)], [200, false]);
  });
});

describe('a request about conversations', () => {
  const shop = useMerchant('sqlite');
  before(() => inSpain(shop));

  it('selects them by valid ids or by one reference', async () => {
    for (const ids of ['abc', '1,', '0', '-1', '1.5', '1,2,x', MANY])
      assertError(await shop.get(`/conversation/?ids=${ids}`), 422, 'VALIDATION_ERROR', 'ids');
    for (const query of ['reference=chat-1&ids=1', 'reference=a&reference=b'])
      assertError(await shop.get(`/conversation/?${query}`), 422, 'VALIDATION_ERROR', 'reference');
  });

  it('creates none from invalid fields, and names the field', async () => {
    const BAD = {
      customer_name: [undefined, '  ', 7, 'x'.repeat(256), 'a\0b'],
      // Without a reference.
      customer_phone: [undefined, 'call me', '+34 61', {}],
      reference: [['x'], 'x'.repeat(256), '\ud83d'],
    };
    for (const [field, values] of Object.entries(BAD))
      for (const value of values) {
        const reply = await shop.post('/conversation/', { ...LUCIA, [field]: value });
        assertError(reply, 422, 'VALIDATION_ERROR', field);
        assert.ok(reply.json.detail.startsWith(`${field} `), reply.json.detail);
      }
    for (const body of ['[]', '7', 'null', '"x"'])
      assertError(await shop.post('/conversation/', body), 422, 'VALIDATION_ERROR', 'customer_name');
  });
});
