import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { SAVED_REPLIES_MAX } from '../../../src/contract/savedReplies.ts';
import { insertSavedReply } from '../../../src/conversations/savedReplies/store.ts';
import type { Queries } from '../../../src/database/database.ts';
import { createKey } from '../../support/machineKeys.ts';
import { addUser, assertError, BOREALIS, onEachEngine, useDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const PATH = '/api/v1/saved-replies';

onEachEngine('saved replies', (engine) => {
  const deskbell = useDeskbell(engine);
  const call = async (
    method: string,
    path = '',
    body?: unknown,
    owner?: { email: string; password: string },
  ) =>
    deskbell.call(method, PATH + path, {
      token: await deskbell.signIn(owner?.email, owner?.password),
      ...(body === undefined ? {} : { body }),
    });
  const titles = async () => (await call('GET')).json.map(({ title }: { title: string }) => title);

  it('are made, changed and deleted by owners and members, and listed by title', async () => {
    const member = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [member.id]);
    const made = await call('POST', '', { title: ' Thanks ', text: 'Thank you, {{name}}!\n' }, member);
    assert.deepEqual(
      [made.status, made.json.title, made.json.text],
      [200, 'Thanks', 'Thank you, {{name}}!\n'],
    );
    await call('POST', '', { title: 'à bientôt', text: 'See you soon.' });
    await call('POST', '', { title: 'Zone 10', text: 'Ten.' });
    await call('POST', '', { title: 'Zone 9', text: 'Nine.' });
    assert.deepEqual(await titles(), ['à bientôt', 'Thanks', 'Zone 9', 'Zone 10']);
    const changed = await call('PATCH', `/${made.json.id}`, { title: 'A thank-you' }, member);
    assert.deepEqual([changed.json.title, changed.json.text], ['A thank-you', 'Thank you, {{name}}!\n']);
    assert.equal((await call('PATCH', `/${made.json.id}`, { text: 'Thanks!' })).json.title, 'A thank-you');
    assert.equal((await call('DELETE', `/${made.json.id}`, undefined, member)).status, 200);
    assertError(await call('DELETE', `/${made.json.id}`), 404, 'SAVED_REPLY_NOT_FOUND');
    assert.deepEqual(await titles(), ['à bientôt', 'Zone 9', 'Zone 10']);
  });

  it('have a title of 1 to 100 characters and a text of 1 to 4,096', async () => {
    const { id } = (await call('POST', '', { title: 'x'.repeat(100), text: '😀'.repeat(4096) })).json;
    const invalid: [object, string][] = [
      [{ title: ' ', text: 'x' }, 'title'],
      [{ title: 'x'.repeat(101), text: 'x' }, 'title'],
      [{ title: 'x', text: '' }, 'text'],
      [{ title: 'x', text: 'x'.repeat(4097) }, 'text'],
      [{ title: 'x', text: 5 }, 'text'],
    ];
    for (const [body, field] of invalid) {
      assertError(await call('POST', '', body), 422, 'VALIDATION_ERROR', field);
      assertError(await call('PATCH', `/${id}`, body), 422, 'VALIDATION_ERROR', field);
    }
    for (const body of [{}, { title: 'x' }]) assert.equal((await call('POST', '', body)).status, 422);
    assertError(await call('PATCH', `/${id}`, {}), 422, 'VALIDATION_ERROR', 'title');
  });

  it('belong to their merchant, and are only for people', async () => {
    const { id } = (await call('POST', '', { title: 'Mine', text: 'x' })).json;
    assert.deepEqual((await call('GET', '', undefined, BOREALIS)).json, []);
    for (const [method, body] of [['PATCH', { title: 'Theirs' }], ['DELETE']] as const) {
      const foreign = await call(method, `/${id}`, body, BOREALIS);
      assertError(foreign, 404, 'SAVED_REPLY_NOT_FOUND');
      for (const other of ['999999', 'abc', '0'])
        assert.equal((await call(method, `/${other}`, body, BOREALIS)).text, foreign.text);
    }
    const token = await createKey(deskbell, ['ask', 'answer', 'notifications:read']);
    assertError(await deskbell.call('GET', PATH, { token }), 403, 'INSUFFICIENT_SCOPE');
  });

  it(`are at most ${SAVED_REPLIES_MAX}, also if two are made at the same time`, async () => {
    const count = async () => (await call('GET', '', undefined, BOREALIS)).json.length;
    for (let n = await count(); n < SAVED_REPLIES_MAX - 1; n += 1)
      await deskbell.database.run(
        `insert into saved_replies (merchant_id, title, text, created_at, updated_at) values (2, $1, 'x', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
        [`Reply ${n}`],
      );
    const body = { title: 'One more', text: 'x' };
    const waiting = async (queries: Queries) =>
      (
        await queries.all(`select 1 from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`)
      ).length;
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    // The second waits for the first, which has taken the last place when the second may look.
    const second = await deskbell.database.transaction(async (tx) => {
      await insertSavedReply(tx, 2 as MerchantId, body, deskbell.clock.now());
      let isDone = false;
      const posted = deskbell.call('POST', PATH, { token, body }).finally(() => {
        isDone = true;
      });
      // SQLite has only one transaction at a time. PostgreSQL ends one that does nothing for three seconds.
      if (engine === 'postgres')
        await until('it waits or is done', async () => (await waiting(tx)) > 0 || isDone);
      return { posted };
    });
    assertError(await second.posted, 409, 'CONFLICT');
    assert.equal(await count(), SAVED_REPLIES_MAX);
    // Another merchant is not affected.
    assert.equal((await call('POST', '', body)).status, 200);
  });
});
