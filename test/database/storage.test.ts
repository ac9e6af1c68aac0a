import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { bytesSql } from '../../src/database/tables.ts';
import { removeNotifications } from '../../src/notifications/retention.ts';
import { TABLES } from '../../src/tables.ts';
import { run, settingsOf } from '../support/command.ts';
import { useMerchant } from '../support/merchants.ts';
import { assertError, onEachEngine } from '../support/server.ts';

const MEGABYTE = 1_000_000;
const SETTINGS = { STORAGE_PER_MERCHANT_MB: '1' };

onEachEngine('a merchant with one megabyte of storage', (engine) => {
  const shop = useMerchant(engine, SETTINGS);
  const neighbour = useMerchant(engine, SETTINGS);

  const request = (question: string, headers = {}) => {
    const { conversationId: conversation_id } = shop;
    const body = { notification_type: 'user_question_request', conversation_id, context: { question } };
    return shop.post('/notification/request', body, { headers });
  };
  const large = (headers = {}) => request('x'.repeat(60_000), headers);
  const ok = async (method: 'post' | 'patch' | 'delete', path: string, body?: object) => {
    const reply = await (method === 'delete' ? shop.delete(path) : shop[method](path, body));
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    return reply.json;
  };
  const command = (...args: string[]) => run(args, { env: { ...settingsOf(shop.deskbell), ...SETTINGS } });
  /** What is counted for the merchant, and the same from its rows. */
  async function assertCounted(): Promise<number> {
    const { database } = shop.deskbell;
    const counted = await database.one<Record<'inbox' | 'pending' | 'knowledge' | 'conversations', number>>(
      `select (select bytes from inboxes where merchant_id = $1) as inbox,
          (select pending_bytes from inboxes where merchant_id = $1) as pending,
          (select bytes from live_versions where merchant_id = $1 and topic = 'knowledge') as knowledge,
          (select bytes from conversation_storage where merchant_id = $1) as conversations`,
      [shop.id],
    );
    const sum = (name: string, where = 'true') => {
      const table = TABLES.find((one) => one.name === name)!;
      return `(select cast(coalesce(sum(${bytesSql(table)}), 0) as bigint) from ${name} where merchant_id = $1 and ${where})`;
    };
    const stored = await database.one<object>(
      `select ${sum('notifications')} + ${sum('notification_notes')} as inbox,
          ${sum('notifications', `status = 'requested'`)} as pending,
          ${sum('document_versions')} + ${sum('document_wordings')} as knowledge,
          ${sum('conversations')} + ${sum('conversation_messages')} + ${sum('deliveries')} as conversations`,
      [shop.id],
    );
    assert.deepEqual({ ...counted }, { ...stored });
    return counted!.inbox + counted!.knowledge;
  }
  let documents: { id: number; version: number }[];

  it('is refused more, but can read, answer and delete, and then raise again', async () => {
    documents = [];
    for (const title of ['Delivery', 'Returns'])
      documents.push(await ok('post', '/knowledge/', { title, body: `How ${title} works.` }));
    const ids: number[] = [];
    let refusal = await large();
    for (let n = 0; n < 20 && refusal.status === 200; n += 1) {
      ids.push(Number(refusal.headers.get('location')!.split('/').at(-1)));
      refusal = await large();
    }
    assertError(refusal, 500, 'STORAGE_FULL');
    const { stdout } = await command('doctor');
    assert.ok(stdout.includes(`! Merchant ${shop.id}, A shop, stores 1 of 1 MB.\n`), stdout);
    assert.ok(ids.length >= 14, `${ids.length} notifications`);
    const bytes = await assertCounted();
    assert.ok(bytes <= MEGABYTE && bytes > MEGABYTE - 70_000, `${bytes}`);

    const keyed = { 'idempotency-key': 'when-there-is-space' };
    assertError(await large(keyed), 500, 'STORAGE_FULL');
    assert.equal((await shop.get('/notification/')).status, 200);
    assert.equal((await shop.answer(ids[0]!)).status, 200);
    await neighbour.raise('x'.repeat(60_000));
    for (const id of ids.slice(0, 2)) await ok('delete', `/notification/${id}`);
    // The refusal was not stored with the key.
    assert.equal((await large(keyed)).status, 200);
  });

  it('cannot write documents either, over the API or by an import', async () => {
    for (let n = 0; n < 300 && (await request('x'.repeat(4000))).status === 200; n += 1);
    const [document] = documents;
    const path = `/knowledge/${document!.id}`;
    assertError(await shop.patch(path, { body: 'x'.repeat(19_000) }), 507, 'STORAGE_FULL');
    assert.equal((await shop.get(path)).json.version, document!.version);
    let added = await shop.post(`${path}/wordings`, { text: `How ${'long '.repeat(35)}?` });
    for (let n = 0; n < 50 && added.status === 200; n += 1)
      added = await shop.post(`${path}/wordings`, { text: `Number ${n} ${'long '.repeat(35)}` });
    assertError(added, 507, 'STORAGE_FULL');
    // An answer is not refused.
    const [open] = (await shop.get('/notification/?status=requested&limit=1')).json;
    assert.equal((await shop.answer(open.id, { answer: 'Yes.', document_id: document!.id })).status, 200);

    const file = join(shop.deskbell.config.dataDir, 'documents.jsonl');
    writeFileSync(file, JSON.stringify({ title: 'Long', body: 'x'.repeat(19_000) }));
    const { code, stderr } = await command('knowledge', 'import', file, '--merchant', String(shop.id));
    assert.notEqual(code, 0);
    assert.match(stderr, /storage is full/);
  });

  it('stores what the database counts, after every kind of write', async () => {
    const { database } = shop.deskbell;
    for (const { id } of (await shop.get('/notification/?status=requested')).json.slice(0, 5))
      await ok('delete', `/notification/${id}`);
    const id = await shop.raise();
    await shop.answer(id, 'Ja, größere.');
    await database.run(
      `update notifications set context = '{"question":"By hand é"}' where merchant_id = $1 and id = $2`,
      [shop.id, id],
    );
    for (const isOld of [false, true]) {
      const noted = await shop.raise();
      for (const text of ['Größer?', 'Kleiner.']) await ok('post', `/notification/${noted}/notes`, { text });
      await assertCounted();
      if (isOld) await database.transaction((tx) => removeNotifications(tx, shop.id, [noted]));
      else await ok('delete', `/notification/${noted}`);
    }
    const [first, second] = documents.map((document) => `/knowledge/${document.id}`);
    await ok('patch', first!, { body: 'Größer.' });
    await ok('post', `${first}/revert`);
    const wordings: number[] = [];
    for (const text of ['Größe?', 'Wie groß?', 'Size?'])
      wordings.push((await ok('post', `${second}/wordings`, { text })).id);
    await ok('delete', `${second}/wordings/${wordings[1]}`);
    await assertCounted();
    await ok('delete', second!);
    await assertCounted();
    await database.run('delete from documents where merchant_id = $1 and id = $2', [
      shop.id,
      documents[0]!.id,
    ]);
    await assertCounted();
  });
});
