import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SAVED_REPLIES_MAX } from '../../../src/contract/savedReplies.ts';
import { insertSavedReply } from '../../../src/conversations/savedReplies/store.ts';
import type { Queries } from '../../../src/database/database.ts';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

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
    assert.equal((await shop.delete(path, member)).status, 200);
    assertError(await shop.delete(path), 404, 'SAVED_REPLY_NOT_FOUND');
    assert.deepEqual(await titles(), ['à bientôt', 'Zone 9', 'Zone 10']);
  });

  it('belong to their merchant', async () => {
    const { id } = (await shop.post(PATH, { title: 'Mine', text: 'x' })).json;
    assert.deepEqual((await other.get(PATH)).json, []);
    for (const change of [
      (one: string) => other.patch(`${PATH}/${one}`, { title: 'Theirs' }),
      (one: string) => other.delete(`${PATH}/${one}`),
    ]) {
      const foreign = await change(id);
      assertError(foreign, 404, 'SAVED_REPLY_NOT_FOUND');
      for (const unknown of ['999999', 'abc', '0']) assert.equal((await change(unknown)).text, foreign.text);
    }
  });

  it(`are at most ${SAVED_REPLIES_MAX}, also if two are made at the same time`, async () => {
    const full = await newMerchant(shop.deskbell);
    const { database, clock } = full.deskbell;
    const body = { title: 'One more', text: 'x' };
    await database.transaction(async (tx) => {
      for (let n = 0; n < SAVED_REPLIES_MAX - 1; n += 1)
        await insertSavedReply(tx, full.id, body, clock.now());
    });
    const waiting = async (queries: Queries) =>
      (
        await queries.all(`select 1 from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`)
      ).length;
    await full.token();
    // The second waits for the first, which has taken the last place when the second may look.
    const second = await database.transaction(async (tx) => {
      await insertSavedReply(tx, full.id, body, clock.now());
      let isDone = false;
      const posted = full.post(PATH, body).finally(() => {
        isDone = true;
      });
      // SQLite has only one transaction at a time. PostgreSQL ends one that does nothing for three seconds.
      if (engine === 'postgres')
        await until('it waits or is done', async () => (await waiting(tx)) > 0 || isDone);
      return { posted };
    });
    assertError(await second.posted, 409, 'CONFLICT');
    assert.equal((await full.get(PATH)).json.length, SAVED_REPLIES_MAX);
    // Another merchant is not affected.
    assert.equal((await shop.post(PATH, body)).status, 200);
  });
});

describe('a saved reply', () => {
  const shop = useMerchant('sqlite');

  it('has a title of 1 to 100 characters and a text of 1 to 4,096', async () => {
    const { id } = (await shop.post(PATH, { title: 'x'.repeat(100), text: '😀'.repeat(4096) })).json;
    for (const [field, change] of [
      ['title', { title: ' ' }],
      ['title', { title: 'x'.repeat(101) }],
      ['text', { text: '' }],
      ['text', { text: 'x'.repeat(4097) }],
      ['text', { text: 5 }],
    ] as const) {
      const body = { title: 'x', text: 'x', ...change };
      assertError(await shop.post(PATH, body), 422, 'VALIDATION_ERROR', field);
      assertError(await shop.patch(`${PATH}/${id}`, body), 422, 'VALIDATION_ERROR', field);
    }
    for (const body of [{}, { title: 'x' }]) assert.equal((await shop.post(PATH, body)).status, 422);
    assertError(await shop.patch(`${PATH}/${id}`, {}), 422, 'VALIDATION_ERROR', 'title');
  });
});
