import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { upsertConversations } from '../../src/conversations/store.ts';
import { run, settingsOf } from '../support/command.ts';
import { type Deskbell, NOTIFICATIONS, onEachEngine, startDeskbell } from '../support/server.ts';
import { BOREALIS_ID, until } from '../support/shops.ts';
import { watchedWrites } from '../support/watchedWrites.ts';

/** Two full batches and a part of one. */
const LINES = 2500;

onEachEngine('importing conversations', (engine) => {
  let deskbell: Deskbell;
  let folder: string;
  before(async () => {
    deskbell = await startDeskbell(engine);
    folder = deskbell.config.dataDir;
  });
  after(() => deskbell.close());

  const importFile = (file: string, ...more: string[]) =>
    run(['conversation', 'import', file, '--merchant', '2', ...more], { env: settingsOf(deskbell) });
  const write = (name: string, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };
  const find = (reference: string) =>
    deskbell.database.one<{ customer_name: string; customer_phone: string }>(
      'select customer_name, customer_phone from conversations where merchant_id = 2 and reference = $1',
      [reference],
    );

  it('stores the valid lines of a CSV file and reports the others, while the server keeps working', async () => {
    const rows = Array.from(
      { length: LINES },
      (_, i) => `c-${i},"Name ""${i}"", of\r\ntwo lines",+34 ${600000000 + i}`,
    );
    rows[10] = 'c-10,No Number,600';
    rows[20] = ',No Reference,+34600000020';
    rows[30] = 'c-30,A stray "quote" is text,+34-600-000-030';
    rows[40] = 'c-40,One, too many,+34600000040';
    const file = write(
      'customers.csv',
      `\ufeffreference,customer_name,customer_phone\r\n${rows.join('\r\n')}\r\n`,
    );

    const token = await deskbell.signIn();
    const importing = importFile(file);
    let ended = false;
    void importing.finally(() => {
      ended = true;
    });
    for (let calls = 0; !ended && calls < 1000; calls += 1) {
      const reply = await deskbell.call('POST', `${NOTIFICATIONS}/request`, {
        token,
        body: {
          notification_type: 'user_question_request',
          conversation_id: 1,
          context: { question: 'Now?' },
        },
      });
      assert.equal(reply.status, 200, reply.text);
      await sleep(5);
    }

    const done = await importing;
    assert.equal(done.code, 1);
    assert.match(done.stdout, /^2,500 lines: 2,497 added, 0 updated, 0 unchanged, 3 failed, in /);
    // The header is line 1 and each row before has two lines: row 10 starts on line 22.
    assert.deepEqual(done.stderr.trim().split('\n'), [
      'Line 22: phone has too few digits for its country.',
      'Line 41: reference is required.',
      'Line 79: the line has 4 fields, the header 3.',
    ]);
    assert.deepEqual(
      { ...(await find('c-7')) },
      {
        customer_name: 'Name "7", of\r\ntwo lines',
        customer_phone: '+34600000007',
      },
    );
    assert.equal((await find('c-30'))?.customer_phone, '+34600000030');
  });

  it('updates the same conversations from JSON Lines', async () => {
    const rows = Array.from({ length: LINES }, (_, i) =>
      JSON.stringify({
        reference: `c-${i}`,
        name: i < 100 ? `New ${i}` : `Name "${i}", of\r\ntwo lines`,
        phone: `+34${600000000 + i}`,
      }),
    );
    rows[200] = '{"reference": "c-200", "phone": "+34600000200"';
    rows[201] = '["c-201"]';
    rows[202] = '{"reference": "c-202", "name": "\\ud800", "phone": "+34600000202"}';
    const done = await importFile(write('customers.jsonl', rows.join('\n')), '--json');
    assert.equal(done.code, 1);
    // The three that failed before are new; the other 97 of the first hundred have a new name.
    assert.deepEqual(done.json, { added: 3, updated: 97, unchanged: 2397, failed: 3 });
    assert.deepEqual(
      done.stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [
        { line: 201, error: 'the line is not valid JSON' },
        { line: 202, error: 'the line is not a JSON object' },
        { line: 203, error: 'name is not valid UTF-8' },
      ],
    );
    assert.equal((await find('c-99'))?.customer_name, 'New 99');
  });

  it('reads standard input, and uses the last line if a reference is repeated', async () => {
    const done = await run(['conversation', 'import', '-', '--merchant', '2', '--json'], {
      env: settingsOf(deskbell),
      input: 'phone;name;reference\n+34600000001;First;twice\n\n+34600000002;Second;twice',
    });
    assert.deepEqual([done.code, done.json], [0, { added: 1, updated: 1, unchanged: 0, failed: 0 }]);
    assert.equal((await find('twice'))?.customer_name, 'Second');
  });

  it('writes nothing if nothing has changed', async () => {
    const { database } = deskbell;
    const given = [{ reference: 'twice', name: 'Second', phone: '+34600000002' }];
    const written: string[] = [];
    const recording = watchedWrites(database, (sql) => written.push(sql));
    assert.deepEqual(await upsertConversations(recording, BOREALIS_ID, given, new Date()), {
      added: 0,
      updated: 0,
    });
    assert.deepEqual(written, []);
  });

  it('does not wait for a customer with a lock that others need', {
    skip: engine === 'sqlite' && 'it runs one transaction at a time',
  }, async () => {
    const { database } = deskbell;
    const given = [
      { reference: 'brand-new', name: 'New', phone: '' },
      { reference: 'twice', name: 'Third', phone: '+34600000002' },
    ];
    let importing: Promise<unknown> | undefined;
    // As recording a message does.
    await database.transaction(async (tx) => {
      await tx.one(`select id from conversations where merchant_id = 2 and reference = 'twice' for update`);
      importing = upsertConversations(database, BOREALIS_ID, given, new Date());
      await until('the import waits', async () => {
        const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return (await database.all(waiting)).length > 0;
      });
      // If the import had this lock, neither could go on.
      await tx.run(`set local lock_timeout = '200ms'`);
      await tx.run('update conversation_storage set bytes = bytes where merchant_id = 2');
    });
    assert.deepEqual(await importing, { added: 1, updated: 1 });
    assert.equal((await find('twice'))?.customer_name, 'Third');
  });

  it('changes no other merchant’s conversations', async () => {
    const [row] = await deskbell.database.all<{ count: number }>(
      'select count(*) as count from conversations where merchant_id = 1',
    );
    assert.equal(row?.count, 3);
  });

  it('says which file or column is missing', async () => {
    const absent = await importFile(join(folder, 'absent.csv'));
    const folderItself = await importFile(folder);
    const headless = await importFile(write('headless.csv', 'reference,name\na,b\n'));
    const empty = await importFile(write('empty.csv', ''));
    assert.match(absent.stderr, /There is no file/);
    assert.match(folderItself.stderr, /is a folder/);
    assert.match(headless.stderr, /phone is missing/);
    assert.match(empty.stderr, /The first line must name the columns/);
    for (const { code } of [absent, folderItself, headless, empty]) assert.equal(code, 1);
  });
});
