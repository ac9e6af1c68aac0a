import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasMerchant } from '../../src/database/tables.ts';
import { TABLES } from '../../src/tables.ts';
import { filesWith, tablesWith } from '../support/canaries.ts';
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

const MERCHANT_TABLES = TABLES.filter((table) => hasMerchant(table) && table.postgres !== 'table').map(
  ({ name }) => name,
);
/** Tables that a running server also changes by itself. */
const CHANGING = ['audit_events', 'delivery_queues', 'inbox_changes', 'new_events', 'events', 'event_logs'];

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
    // Starting a process and deleting everything takes its time on a busy machine.
    120_000,
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
    const list = () => deskbell.call('GET', '/api/v1/notification/', { token: key });
    await until('no key works', async () => (await list()).status === 401);
    const { code, json, stderr } = await ended;
    assert.equal(code, 0, stderr);
    assert.equal(json.id, 1);

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
    const { stdout } = await run(['audit', 'list'], { env: settingsOf(deskbell) });
    assert.match(stdout, /merchant\.deleted.*merchant\.deletion_started/s);
  });
});

/** Erasing itself is tested on both engines, and exporting in exportPeople.test.ts. */
describe('the commands that delete', () => {
  const deskbell = useDeskbell('sqlite', { ACCESS_TOKEN_TTL_SECONDS: '86400' });
  const command = (...args: string[]) => runToEnd(deskbell, args);
  const post = (token: string, path: string, body: object) =>
    deskbell.call('POST', `/api/v1${path}`, { token, body });

  it('a customer: of this merchant only, and with everything', async () => {
    const token = await deskbell.signIn();
    const id = (await post(token, '/conversation/', { customer_name: 'Zqxlola', reference: 'zqxlola' })).json
      .id;
    await post(token, '/notification/request', {
      ...{ notification_type: 'user_question_request', conversation_id: id },
      context: { question: 'zqxquestion?' },
    });
    const foreign = await command('conversation', 'delete', String(id), '--merchant', '2', '--yes');
    assert.equal(foreign.code, 1);
    assert.ok((await tablesWith(deskbell.database, [WORDS])).length > 0);
    const { code, stderr } = await command('conversation', 'delete', String(id), '--merchant', '1', '--yes');
    assert.equal(code, 0, stderr);
    assert.deepEqual(await tablesWith(deskbell.database, [WORDS]), []);
  });

  it('a colleague, whose name histories no longer show', async () => {
    const teo = await addColleague(deskbell, 'Zqxteo Zqxvidal');
    const { token } = teo;
    const question = { question: 'Do you open at noon on the moon?', conversation_id: 1 };
    const { id } = (await post(await createKey(deskbell), '/ask', question)).json;
    await post(token, `/notification/${id}/notes`, { text: 'I look.' });
    await deskbell.call('PUT', '/api/v1/conversation/2/takeover', { token });
    await post(token, '/conversation/2/send', { text: 'Hello.' });
    await post(token, `/notification/${id}/answer`, { answer: 'No.' });
    await deskbell.allSent();
    const { code, stderr } = await command('user', 'delete', teo.email, '--yes');
    assert.equal(code, 0, stderr);
    assert.deepEqual(await tablesWith(deskbell.database, [WORDS]), []);
    assert.equal((await login(deskbell, teo)).status, 401);
    const me = () => deskbell.call('GET', '/api/v1/auth/me', { token });
    await until('the token is refused', async () => (await me()).status === 401);
    const options = { token: await deskbell.signIn() };
    const shown = await deskbell.call('GET', `/api/v1/notification/${id}`, options);
    assert.equal(shown.json.answered_by, 'A former colleague');
    assert.doesNotMatch((await deskbell.call('GET', '/api/v1/team', options)).text, /former colleague/);
    // The last owner stays.
    const kept = await command('user', 'delete', AURORA.email, '--yes');
    assert.equal(kept.code, 1);
    assert.match(kept.stderr, /owner.*Nothing was changed/is);
    assert.equal((await login(deskbell)).status, 200);
  });
});
