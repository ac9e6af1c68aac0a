import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { completeConversation } from '../../../src/conversations/store.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, type CallOptions, idsOf, onEachEngine } from '../../support/server.ts';

const LUCIA = { customer_name: 'Lucía', customer_phone: '611 55 01 77' };
/** Numbers without a country code are Spanish. */
const inSpain = async ({ patch }: Merchant) =>
  assert.equal((await patch('/merchant', { country: 'ES' })).status, 200);

onEachEngine('conversations', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  before(() => inSpain(shop));
  const list = (query = '', of = shop) => of.get(`/conversation/${query}`);
  const create = (body: unknown, options?: CallOptions) => shop.post('/conversation/', body, options);

  it('are listed for their merchant only, newest first, each with its customer', async () => {
    const ids = [shop.conversationId, await shop.converse(), await shop.converse(LUCIA)];
    assert.deepEqual(idsOf(await list()), ids.toReversed());
    const { created_at, updated_at, ...newest } = (await list()).json[0];
    assert.deepEqual(newest, {
      ...{ id: ids[2], reference: null, customer_name: 'Lucía', customer_phone: '+34611550177' },
      ...{ window_open_until: null, taken_over: null },
    });
    assert.ok(Date.parse(created_at) <= Date.parse(updated_at));
    const [one, , three] = ids;
    const wanted = `?ids=${one}&ids=${three},${three},999999999999999,${other.conversationId}`;
    assert.deepEqual(idsOf(await list(wanted)), [three, one]);
    assert.deepEqual(idsOf(await list(`?ids=${ids}`, other)), []);
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

  it('are created once if many requests with one reference come at the same time, without one each time', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        create({ ...LUCIA, customer_name: `Name ${n}`, reference: 'chat-race' }),
      ),
    );
    for (const { status, text } of replies) assert.equal(status, 200, text);
    assert.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
    assert.notEqual((await create(LUCIA)).json.id, (await create(LUCIA)).json.id);
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
});

describe('a request about conversations', () => {
  const shop = useMerchant('sqlite');
  before(() => inSpain(shop));

  it('is refused if a field or a selection is invalid, and the refusal names it', async () => {
    const BAD = {
      customer_name: [undefined, '  ', 7, 'x'.repeat(256), 'a\0b'],
      // Without a reference.
      customer_phone: [undefined, 'call me'],
      reference: [['x'], 'x'.repeat(256)],
    };
    for (const [field, values] of Object.entries(BAD))
      for (const value of values) {
        const reply = await shop.post('/conversation/', { ...LUCIA, [field]: value });
        assertError(reply, 422, 'VALIDATION_ERROR', field);
      }
    const many = Array.from({ length: 201 }, (_, index) => index + 1).join(',');
    for (const query of ['ids=1,', 'ids=1.5', `ids=${many}`, 'reference=a&ids=1', 'reference=a&reference=b'])
      assertError(await shop.get(`/conversation/?${query}`), 422, 'VALIDATION_ERROR', query.split('=')[0]);
  });
});
