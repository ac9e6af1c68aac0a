/** `deskbell conversation import`. The formats themselves are tested in src/files. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { upsertConversations } from '../../src/conversations/store.ts';
import { assertFailure, run, settingsOf } from '../support/command.ts';
import { type Merchant, newMerchant, useMerchant } from '../support/merchants.ts';
import { onEachEngine } from '../support/server.ts';
import { untilSomebodyWaits } from '../support/shops.ts';

/** A full batch and a part of one. */
const LINES = 1100;

onEachEngine('importing conversations', (engine) => {
  const other = useMerchant(engine);
  let shop: Merchant;
  before(async () => {
    shop = await newMerchant(other.deskbell);
  });
  const importFile = (file: string, input = '') =>
    run(['conversation', 'import', file, '--merchant', `${shop.id}`, '--json'], {
      env: settingsOf(shop.deskbell),
      input,
    });
  const write = (name: string, text: string) => {
    const file = join(shop.deskbell.config.dataDir, name);
    writeFileSync(file, text);
    return file;
  };
  const find = async (reference: string) => {
    const { json } = await shop.get(`/conversation/?reference=${reference}`);
    return json.find((one: { reference: string }) => one.reference === reference);
  };

  it('stores the valid lines of a CSV file and reports the others, while the server keeps working', async () => {
    const rows = Array.from(
      { length: LINES },
      (_, i) => `c-${i},"Name ""${i}"", of\r\ntwo lines",+34 ${600000000 + i}`,
    );
    rows[10] = 'c-10,No Number,+34600';
    rows[20] = ',No Reference,+34600000020';
    rows[30] = 'c-30,A stray "quote" is text,+34-600-000-030';
    rows[40] = 'c-40,One, too many,+34600000040';
    const file = write(
      'customers.csv',
      `\ufeffreference,customer_name,customer_phone\r\n${rows.join('\r\n')}\r\n`,
    );
    let ended = false;
    const importing = importFile(file).finally(() => {
      ended = true;
    });
    for (let calls = 0; !ended && calls < 100; calls += 1, await sleep(20)) await other.raise();

    const { code, json, stderr } = await importing;
    assert.deepEqual([code, json], [1, { added: LINES - 3, updated: 0, unchanged: 0, failed: 3 }]);
    // The header is line 1 and each row before has two lines: row 10 starts on line 22.
    const problems = JSON.parse(`[${stderr.trim().replaceAll('\n', ',')}]`);
    assert.deepEqual(problems, [
      { line: 22, error: 'phone has too few digits for its country' },
      { line: 41, error: 'reference is required' },
      { line: 79, error: 'the line has 4 fields, the header 3' },
    ]);
    const { customer_name, customer_phone } = await find('c-7');
    assert.deepEqual([customer_name, customer_phone], ['Name "7", of\r\ntwo lines', '+34600000007']);
    assert.equal((await find('c-30')).customer_phone, '+34600000030');
    assert.equal((await other.get('/conversation/')).json.length, 1, 'no other merchant has them');
  });

  it('updates the same conversations from JSON Lines', async () => {
    const lines = [
      '{"reference": "c-1", "name": "New", "phone": "+34600000001"}',
      JSON.stringify({ reference: 'c-2', name: 'Name "2", of\r\ntwo lines', phone: '+34600000002' }),
      '{"reference": "c-10", "name": "A number", "phone": "+34600000010"}',
      '{"reference": "c-3", "phone": "+34600000200"',
    ];
    const { code, json, stderr } = await importFile(write('customers.jsonl', lines.join('\n')));
    assert.deepEqual([code, json], [1, { added: 1, updated: 1, unchanged: 1, failed: 1 }]);
    assert.match(stderr, /^\{"line":4,.*not valid JSON"\}\n$/);
    assert.equal((await find('c-1')).customer_name, 'New');
  });

  it('reads standard input, and uses the last line if a reference is repeated', async () => {
    const input = 'phone;name;reference\n+34600000001;First;twice\n\n+34600000002;Second;twice';
    const { code, json } = await importFile('-', input);
    assert.deepEqual([code, json], [0, { added: 1, updated: 1, unchanged: 0, failed: 0 }]);
    assert.equal((await find('twice')).customer_name, 'Second');
  });

  it('does not wait for a customer with a lock that others need', {
    skip: engine === 'sqlite' && 'it runs one transaction at a time',
  }, async () => {
    const { database } = shop.deskbell;
    const given = [
      { reference: 'brand-new', name: 'New', phone: '' },
      { reference: 'twice', name: 'Third', phone: '+34600000002' },
    ];
    let importing: Promise<unknown> | undefined;
    // As recording a message does.
    await database.transaction(async (tx) => {
      await tx.one(`select id from conversations where merchant_id = $1 and reference = 'twice' for update`, [
        shop.id,
      ]);
      importing = upsertConversations(database, shop.id, given, new Date());
      await untilSomebodyWaits(database, tx);
      // If the import had this lock, neither could go on.
      await tx.run(`set local lock_timeout = '200ms'`);
      await tx.run('update conversation_storage set bytes = bytes where merchant_id = $1', [shop.id]);
    });
    assert.deepEqual(await importing, { added: 1, updated: 1 });
    assert.equal((await find('twice')).customer_name, 'Third');
  });

  it('says which file or column is missing', async () => {
    for (const [file, problem] of [
      [join(shop.deskbell.config.dataDir, 'absent.csv'), /There is no file/],
      [write('headless.csv', 'reference,name\na,b\n'), /phone is missing/],
      [write('empty.csv', ''), /The first line must name the columns/],
    ] as const)
      assertFailure(await importFile(file), 1, problem);
  });
});
