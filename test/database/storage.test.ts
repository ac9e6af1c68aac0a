import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import type { MerchantId } from '../../src/contract/ids.ts';
import { removeNotifications } from '../../src/notifications/retention.ts';
import { run, settingsOf } from '../support/command.ts';
import {
  assertError,
  BOREALIS,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  raise,
  useDeskbell,
} from '../support/server.ts';
import { KNOWLEDGE } from '../support/teaching.ts';

const MEGABYTE = 1_000_000;
const LARGE = { ...QUESTION, context: { question: 'Q?', more: 'x'.repeat(60_000) } };

onEachEngine('a merchant with one megabyte of storage', (engine) => {
  const deskbell = useDeskbell(engine, { STORAGE_PER_MERCHANT_MB: '1' });
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });

  const request = (body: unknown, headers = {}) =>
    deskbell.call('POST', `${NOTIFICATIONS}/request`, { token, body, headers });
  async function counted() {
    const sums = await deskbell.database.one<{ inbox: number; knowledge: number }>(
      `select (select bytes from inboxes where merchant_id = 1) as inbox,
        (select bytes from live_versions where merchant_id = 1 and topic = 'knowledge') as knowledge`,
    );
    return sums!;
  }
  async function stored() {
    const sums = await deskbell.database.one<{ inbox: number; pending: number; knowledge: number }>(
      `select cast((select sum(octet_length(context) + coalesce(octet_length(answer), 0) + 400) from notifications
            where merchant_id = 1)
          + (select coalesce(sum(octet_length(text) + 200), 0) from notification_notes
            where merchant_id = 1) as bigint) as inbox,
        cast((select sum(octet_length(title) + octet_length(body)) from document_versions
            where merchant_id = 1)
          + (select coalesce(sum(octet_length(text)), 0) from document_wordings
            where merchant_id = 1) as bigint) as knowledge`,
    );
    return sums!;
  }

  it('is refused more, but can read, answer and delete, and then raise again', async () => {
    const raised: string[] = [];
    let refusal = await request(LARGE);
    for (let n = 0; n < 20 && refusal.status === 200; n += 1) {
      raised.push(refusal.headers.get('location')!);
      refusal = await request(LARGE);
    }
    assertError(refusal, 500, 'STORAGE_FULL');
    const { stdout } = await run(['doctor'], {
      env: { ...settingsOf(deskbell), STORAGE_PER_MERCHANT_MB: '1' },
    });
    assert.match(stdout, /! Merchant 1, Aurora Coffee, stores 1 of 1 MB\.\n +Raise STORAGE_PER_MERCHANT_MB/);
    assert.ok(raised.length >= 14, `${raised.length} notifications`);
    const { inbox, knowledge } = await counted();
    assert.ok(inbox + knowledge <= MEGABYTE && inbox + knowledge > MEGABYTE - 70_000);

    const keyed = { 'idempotency-key': 'when-there-is-space' };
    assertError(await request(LARGE, keyed), 500, 'STORAGE_FULL');
    assert.equal((await deskbell.call('GET', `${NOTIFICATIONS}/`, { token })).status, 200);
    const answer = { token, body: { answer: 'Yes.' } };
    assert.equal((await deskbell.call('POST', `${raised[0]}/answer`, answer)).status, 200);
    const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    await raise(deskbell, borealis, { ...LARGE, conversation_id: 4 });

    for (const address of raised.slice(0, 2)) {
      assert.equal((await deskbell.call('DELETE', address, { token })).status, 200);
    }
    // The refusal was not stored with the key.
    assert.equal((await request(LARGE, keyed)).status, 200);
  });

  it('cannot write documents either, over the API or by an import', async () => {
    while ((await request({ ...LARGE, context: { question: 'x'.repeat(4000) } })).status === 200);
    const [document] = (await deskbell.call('GET', `${KNOWLEDGE}/`, { token })).json;
    const address = `${KNOWLEDGE}/${document.id}`;
    const change = { token, body: { body: 'x'.repeat(19_000) } };
    assertError(await deskbell.call('PATCH', address, change), 507, 'STORAGE_FULL');
    assert.equal((await deskbell.call('GET', address, { token })).json.version, document.version);
    const wording = { token, body: { text: `How ${'long '.repeat(35)}?` } };
    let added = await deskbell.call('POST', `${address}/wordings`, wording);
    for (let n = 0; n < 50 && added.status === 200; n += 1) {
      wording.body.text = `Number ${n} ${'long '.repeat(35)}`;
      added = await deskbell.call('POST', `${address}/wordings`, wording);
    }
    assertError(added, 507, 'STORAGE_FULL');
    // An answer is not refused.
    const [open] = (await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested&limit=1`, { token })).json;
    const answer = { token, body: { answer: 'Yes.', document_id: document.id } };
    assert.equal((await deskbell.call('POST', `${NOTIFICATIONS}/${open.id}/answer`, answer)).status, 200);

    const file = join(deskbell.config.dataDir, 'documents.jsonl');
    writeFileSync(file, JSON.stringify({ title: 'Long', body: 'x'.repeat(19_000) }));
    const { code, stderr } = await run(['knowledge', 'import', file, '--merchant', '1'], {
      env: { ...settingsOf(deskbell), STORAGE_PER_MERCHANT_MB: '1' },
    });
    assert.notEqual(code, 0);
    assert.match(stderr, /storage is full/);
  });

  it('stores what the database counts, after every kind of write', async () => {
    const list = (await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token })).json;
    for (const { id } of list.slice(0, 5)) {
      await deskbell.call('DELETE', `${NOTIFICATIONS}/${id}`, { token });
    }
    const address = await raise(deskbell, token, QUESTION);
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Ja, größere.' } });
    await deskbell.database.run(
      `update notifications set context = '{"question":"By hand é"}' where id = $1`,
      [Number(address.split('/').at(-1))],
    );
    for (const n of [1, 2]) {
      const noted = await raise(deskbell, token, QUESTION);
      for (const text of ['Größer?', 'Kleiner.'])
        await deskbell.call('POST', `${noted}/notes`, { token, body: { text } });
      assert.deepEqual({ ...(await counted()) }, { ...(await stored()) });
      // Once by the API, once as an old one.
      if (n === 1) assert.equal((await deskbell.call('DELETE', noted, { token })).status, 200);
      else
        await deskbell.database.transaction((tx) =>
          removeNotifications(tx, 1 as MerchantId, [Number(noted.split('/').at(-1))]),
        );
    }
    const [first, second] = (await deskbell.call('GET', `${KNOWLEDGE}/`, { token })).json;
    const change = { token, body: { body: 'Größer.' } };
    assert.equal((await deskbell.call('PATCH', `${KNOWLEDGE}/${first.id}`, change)).status, 200);
    assert.equal((await deskbell.call('POST', `${KNOWLEDGE}/${first.id}/revert`, { token })).status, 200);
    const ids: number[] = [];
    for (const text of ['Größe?', 'Wie groß?', 'Welche Größen?', 'Size?']) {
      const added = await deskbell.call('POST', `${KNOWLEDGE}/${second.id}/wordings`, {
        token,
        body: { text },
      });
      assert.equal(added.status, 200);
      ids.push(added.json.id);
    }
    const wordings = `${KNOWLEDGE}/${second.id}/wordings`;
    assert.equal((await deskbell.call('DELETE', `${wordings}/${ids[1]}`, { token })).status, 200);
    assert.deepEqual({ ...(await counted()) }, { ...(await stored()) });
    assert.equal((await deskbell.call('DELETE', `${KNOWLEDGE}/${second.id}`, { token })).status, 200);
    assert.deepEqual({ ...(await counted()) }, { ...(await stored()) });
    await deskbell.database.run('delete from documents where merchant_id = 1 and id = $1', [first.id]);
    assert.deepEqual({ ...(await counted()) }, { ...(await stored()) });
    const pending = await deskbell.database.one<{ counted: number; stored: number }>(
      `select (select pending_bytes from inboxes where merchant_id = 1) as counted,
        cast((select coalesce(sum(octet_length(context) + 400), 0) from notifications
          where merchant_id = 1 and status = 'requested') as bigint) as stored`,
    );
    assert.equal(pending!.counted, pending!.stored);
  });
});
