import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SAVED_REPLIES_MAX } from '../../../src/contract/savedReplies.ts';
import { insertSavedReply } from '../../../src/conversations/savedReplies/store.ts';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

const PATH = '/saved-replies';

onEachEngine('saved replies', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const titles = async () => (await shop.get(PATH)).json.map(({ title }: { title: string }) => title);

  it('are made, changed and deleted by owners and members, and listed by title', async () => {
    const member = await shop.colleague();
    const made = await shop.post(PATH, { title: ' Thanks ', text: 'Thank you, {{name}}!\n' }, member);
    assert.deepEqual([made.json.title, made.json.text], ['Thanks', 'Thank you, {{name}}!\n']);
    for (const title of ['à bientôt', 'Zone 10', 'Zone 9']) await shop.post(PATH, { title, text: 'x' });
    assert.deepEqual(await titles(), ['à bientôt', 'Thanks', 'Zone 9', 'Zone 10']);
    const path = `${PATH}/${made.json.id}`;
    const changed = await shop.patch(path, { title: 'A thank-you' }, member);
    assert.deepEqual([changed.json.title, changed.json.text], ['A thank-you', 'Thank you, {{name}}!\n']);
    assert.equal((await shop.patch(path, { text: 'Thanks!' })).json.title, 'A thank-you');
    for (const [field, values] of Object.entries({
      title: [' ', 'x'.repeat(101)],
      text: ['', 'x'.repeat(4097)],
    }))
      for (const value of values) {
        const body = { title: 'x', text: 'x', [field]: value };
        assertError(await shop.post(PATH, body), 422, 'VALIDATION_ERROR', field);
        assertError(await shop.patch(path, body), 422, 'VALIDATION_ERROR', field);
      }
    assert.equal((await shop.delete(path, member)).status, 200);
    assertError(await shop.delete(path), 404, 'SAVED_REPLY_NOT_FOUND');
    assert.deepEqual(await titles(), ['à bientôt', 'Zone 9', 'Zone 10']);
  });

  it('belong to their merchant', async () => {
    const { id } = (await shop.post(PATH, { title: 'Mine', text: 'x' })).json;
    assert.deepEqual((await other.get(PATH)).json, []);
    const path = `${PATH}/${id}`;
    for (const foreign of [await other.patch(path, { title: 'Theirs' }), await other.delete(path)])
      assertError(foreign, 404, 'SAVED_REPLY_NOT_FOUND');
  });

  it(`are at most ${SAVED_REPLIES_MAX}, also if many are made at the same time`, async () => {
    const full = await newMerchant(shop.deskbell);
    const { database, clock } = full.deskbell;
    const body = { title: 'One more', text: 'x' };
    await database.transaction(async (tx) => {
      for (let n = 0; n < SAVED_REPLIES_MAX - 5; n += 1)
        await insertSavedReply(tx, full.id, body, clock.now());
    });
    await full.token();
    const replies = await Promise.all(Array.from({ length: 12 }, () => full.post(PATH, body)));
    const refused = replies.filter(({ status }) => status !== 200);
    assert.equal(refused.length, 7);
    for (const reply of refused) assertError(reply, 409, 'CONFLICT');
    assert.equal((await full.get(PATH)).json.length, SAVED_REPLIES_MAX);
    assert.equal((await shop.post(PATH, body)).status, 200);
  });
});
