import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MERCHANT_TABLES } from '../../src/erasure/merchant.ts';
import { dumpOf, filesWith, tablesWith } from '../support/canaries.ts';
import { addColleague } from '../support/colleagues.ts';
import { type Run, run, settingsOf } from '../support/command.ts';
import { WORDS, WORDS_IN_FILES } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import {
  AURORA,
  BOREALIS,
  type Deskbell,
  login,
  onEachEngine,
  raise,
  useDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

/** The merchant that an upgrade has got to: it belongs to none. */
const NOT_OF_MERCHANTS = ['background_changes'];
/** Tables that a running server also changes by itself. */
const CHANGING = ['audit_events', 'delivery_queues', 'inbox_changes', 'new_events', 'events', 'event_logs'];

/** Starting a process and deleting everything takes its time on a busy machine. */
const COMMAND_MAX_MS = 120_000;

/** Runs a command that waits for the last step, which comes half a minute later, and moves the server's clock there. */
async function runToEnd(deskbell: Deskbell, args: readonly string[], input = ''): Promise<Run> {
  let isOver = false;
  const ended = run(args, { env: settingsOf(deskbell), input }).finally(() => {
    isOver = true;
  });
  await until(
    'the command ends',
    async () => {
      const waiting = await deskbell.database.one(
        `select 1 as one from merchants where deleting_at is not null
        union all select 1 from erasures where step = 'again' limit 1`,
      );
      if (!waiting) return isOver;
      deskbell.clock.jump(31);
      // Not with every look: on a slow machine days would pass, and tokens and rows expire.
      await sleep(200);
      return isOver;
    },
    COMMAND_MAX_MS,
  );
  return ended;
}

onEachEngine('a merchant that is deleted', (engine) => {
  const deskbell = useDeskbell(engine, { ACCESS_TOKEN_TTL_SECONDS: '86400' });

  it('has no row in any table any more, and the neighbour has all of theirs', async () => {
    const { database } = deskbell;
    const token = await deskbell.signIn();
    const key = await createKey(deskbell);
    const address = await raise(deskbell, token, {
      ...{ notification_type: 'user_question_request', conversation_id: 1 },
      context: { question: 'zqxquestion?' },
    });
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'zqxanswer' } });
    await deskbell.allSent();
    const neighbour = async () => {
      const found: string[] = [];
      for (const table of MERCHANT_TABLES.filter((name) => !CHANGING.includes(name)))
        found.push(JSON.stringify(await database.all(`select * from ${table} where merchant_id = 2`)));
      return found.sort();
    };
    const before = await neighbour();

    const refused = await run(['merchant', 'delete', '1'], { env: settingsOf(deskbell), input: 'aurora\n' });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Nothing was changed/);
    assert.equal((await login(deskbell)).status, 200);

    const ended = runToEnd(deskbell, ['merchant', 'delete', '1', '--json'], 'Aurora Coffee\n');
    await until('nobody can sign in', async () => (await login(deskbell)).status === 401);
    await until('no key works', async () => {
      const reply = await deskbell.call('GET', '/api/v1/notification/', { token: key });
      return reply.status === 401;
    });
    const { code, json, stderr } = await ended;
    assert.equal(code, 0, stderr);
    assert.equal(json.id, 1);

    const tables = new Set<string>();
    for await (const { table } of dumpOf(database)) tables.add(table);
    for (const table of MERCHANT_TABLES)
      assert.deepEqual(await database.all(`select * from ${table} where merchant_id = 1`), [], table);
    const left = await database.all<{ id: number }>('select id from merchants');
    assert.deepEqual(
      left.map(({ id }) => id),
      [2],
    );
    assert.deepEqual(await tablesWith(database, [WORDS, /Aurora/]), []);
    await until('the files are clean', () => filesWith(deskbell, [WORDS_IN_FILES]).length === 0);
    assert.deepEqual(await neighbour(), before);
    assert.equal((await login(deskbell, BOREALIS)).status, 200);
    const events = (await run(['audit', 'list', '--json'], { env: settingsOf(deskbell) })).json;
    const names = events.map(({ what }: { what: string }) => what);
    assert.ok(names.includes('merchant.deletion_started') && names.includes('merchant.deleted'));
  });

  it('is removed from every table with a merchant', async () => {
    const { database } = deskbell;
    const rows = await database.all<{ name: string }>(
      engine === 'sqlite'
        ? `select m.name from sqlite_master m join pragma_table_info(m.name) c on c.name = 'merchant_id'
            where m.type = 'table' order by m.name`
        : `select table_name as name from information_schema.columns where table_schema = current_schema()
            and column_name = 'merchant_id' and table_name <> 'inbox_index' order by table_name`,
    );
    assert.deepEqual(rows.map(({ name }) => name).sort(), [...MERCHANT_TABLES, ...NOT_OF_MERCHANTS].sort());
  });
});

onEachEngine('the commands for a person’s data', (engine) => {
  const deskbell = useDeskbell(engine, { ACCESS_TOKEN_TTL_SECONDS: '86400' });
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-data-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const command = (...args: string[]) => runToEnd(deskbell, args);
  const linesOf = (file: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));

  it('export and delete a colleague, whose name histories no longer show', async () => {
    const teo = await addColleague(deskbell, 'Zqxteo Zqxvidal');
    const { token } = teo;
    const address = await raise(deskbell, token);
    const headers = { 'Idempotency-Key': 'note-1' };
    await deskbell.call('POST', `${address}/notes`, { token, body: { text: 'I look.' }, headers });
    await deskbell.call('PUT', '/api/v1/conversation/2/takeover', { token });
    await deskbell.call('POST', '/api/v1/conversation/2/send', { token, body: { text: 'Hello.' } });
    const key = await createKey(deskbell);
    const asked = await deskbell.call('POST', '/api/v1/ask', {
      token: key,
      body: { question: 'Do you open at noon on the moon?', conversation_id: 1 },
    });
    await deskbell.call('POST', `/api/v1/notification/${asked.json.id}/answer`, {
      token,
      body: { answer: 'No.' },
    });
    await deskbell.allSent();
    const file = join(folder, 'teo.jsonl');
    assert.equal((await command('user', 'export', teo.email, file)).code, 0);
    assert.deepEqual([...new Set(linesOf(file).map(({ type }) => type))].sort(), [
      ...['answer', 'audit_event', 'note', 'session', 'user'],
    ]);
    const again = await command('user', 'export', teo.email, file);
    assert.equal(again.code, 1);

    const { code, stderr } = await command('user', 'delete', teo.email, '--yes');
    assert.equal(code, 0, stderr);
    assert.deepEqual(await tablesWith(deskbell.database, [WORDS]), []);
    assert.equal((await login(deskbell, teo)).status, 401);
    await until('the token is refused', async () => {
      return (await deskbell.call('GET', '/api/v1/auth/me', { token })).status === 401;
    });
    const owner = await deskbell.signIn();
    const { answered_by } = (
      await deskbell.call('GET', `/api/v1/notification/${asked.json.id}`, { token: owner })
    ).json;
    assert.equal(answered_by, 'A former colleague');
    const team = (await deskbell.call('GET', '/api/v1/team', { token: owner })).json;
    assert.doesNotMatch(JSON.stringify(team), /former colleague/);
  });

  it('do not delete the last owner', async () => {
    const { code, stderr } = await command('user', 'delete', AURORA.email, '--yes');
    assert.equal(code, 1);
    assert.match(stderr, /owner.*Nothing was changed/is);
    assert.equal((await login(deskbell)).status, 200);
  });

  it('export and erase a customer', async () => {
    const token = await deskbell.signIn();
    const body = { reference: 'zqx-1', customer_name: 'Zqxana', customer_phone: '+34611009911' };
    const { id } = (await deskbell.call('POST', '/api/v1/conversation/', { token, body })).json;
    await deskbell.call('POST', `/api/v1/conversation/${id}/messages`, {
      token,
      body: { from: 'customer', text: 'zqxhello' },
    });
    const file = join(folder, 'customer.jsonl');
    assert.equal((await command('conversation', 'export', String(id), file, '--merchant', '1')).code, 0);
    assert.deepEqual(
      linesOf(file).map(({ type }) => type),
      ['conversation', 'message'],
    );
    const foreign = await command('conversation', 'delete', String(id), '--merchant', '2', '--yes');
    assert.equal(foreign.code, 1);
    const { code, stderr } = await command('conversation', 'delete', String(id), '--merchant', '1', '--yes');
    assert.equal(code, 0, stderr);
    assert.deepEqual(await tablesWith(deskbell.database, [WORDS]), []);
  });
});
