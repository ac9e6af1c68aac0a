import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { useMerchant } from '../support/merchants.ts';
import { assertError, onEachEngine } from '../support/server.ts';

// The writes outside the contract that take an Idempotency-Key.

onEachEngine('with an Idempotency-Key', (engine) => {
  const shop = useMerchant(engine);
  const ids: number[] = [];
  before(async () => {
    for (let n = 0; n < 6; n += 1) ids.push(await shop.raise());
  });
  const conversation = (part: string) => () => `/conversation/${shop.conversationId}/${part}`;
  const notification = (n: number, part: string) => () => `/notification/${ids[n]}/${part}`;
  const many = (part: string) => () => `/notification/${part}-many`;

  for (const [what, path, body] of [
    [
      'a conversation',
      () => '/conversation/',
      (name) => ({ customer_name: name, customer_phone: '+34611550177' }),
    ],
    ['a recorded message', conversation('messages'), (text) => ({ from: 'customer', text })],
    ['a message', conversation('send'), (text) => ({ text })],
    ['a note', notification(0, 'notes'), (text) => ({ text })],
    ['an answer that can be undone', notification(1, 'answer'), (answer) => ({ answer, undo_seconds: 60 })],
    ['an answer for many', many('answer'), (answer) => ({ ids: [ids[2], ids[3]], answer })],
    ['resolving many', many('resolve'), (text) => ({ ids: [ids[4]], undo_seconds: text.length })],
    ['reopening many', many('reopen'), (text) => ({ ids: [ids[text.length]] })],
  ] as [what: string, path: () => string, body: (text: string) => object][])
    it(`${what} is written once, and another request is refused`, async () => {
      const options = { headers: { 'idempotency-key': what.replaceAll(' ', '-') } };
      const first = await shop.post(path(), body('Once'), options);
      assert.equal(first.status, 200, first.text);
      const again = await shop.post(path(), body('Once'), options);
      assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [first.text, 'true']);
      const changed = await shop.post(path(), body('Again'), options);
      assertError(changed, 422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key');
    });
});
