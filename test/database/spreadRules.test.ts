import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadModule } from 'libpg-query';
import { run } from '../support/command.ts';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { importFiles, leaveRows } from '../support/plans/rows.ts';
import { type Statement, startRecording, stopRecording } from '../support/plans/statements.ts';
import { useVectors } from '../support/plans/vectors.ts';
import { useEverything } from '../support/plans/workload.ts';
import { type Deskbell, raise, startDeskbell } from '../support/server.ts';
import { useCommands, useTogether } from '../support/spread/commands.ts';
import { GOOD, IN_BACKGROUND, WRONG } from '../support/spread/examples.ts';
import { type Layout, readLayout } from '../support/spread/layout.ts';
import { READS_ACROSS } from '../support/spread/readsAcross.ts';
import { check } from '../support/spread/rules.ts';
import { useWhatsApp } from '../support/spread/whatsapp.ts';
import { installCitus } from '../support/stand-ins/citus.ts';

const ROWS = 48;
const STATEMENTS_MIN = 400;
/** Enough of a statement to find it in the source. */
const SHOWN_MAX = 300;

const onOneLine = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim();

/** The server sees that the tables are spread, and PostgreSQL runs whatever it sends. */
async function createSpreadDatabase(): Promise<TestDatabase> {
  const database = await createDemoDatabase('postgres', 'weak');
  await installCitus(database.env.DATABASE_DIRECT_URL ?? database.env.DATABASE_URL!);
  await run(['db', 'distribute'], { env: database.env });
  return database;
}

describe('where the tables are spread by merchant', { skip: !engines.includes('postgres') }, () => {
  let database: TestDatabase;
  let layout: Layout;
  let deskbell: Deskbell | undefined;
  before(async () => {
    await loadModule();
    database = await createSpreadDatabase();
    layout = await readLayout(database.env.DATABASE_URL!);
  });
  after(async () => {
    await deskbell?.close();
    await database?.remove();
  });

  for (const { what, sql, problems } of WRONG) {
    it(`refuses ${what}`, () => {
      const found = check(sql, layout).problems;
      for (const problem of problems)
        assert.ok(
          found.some((text) => problem.test(text)),
          `${problem} is not among: ${found.join('; ')}`,
        );
    });
  }

  for (const { what, sql } of GOOD)
    it(`accepts ${what}`, () => assert.deepEqual(check(sql, layout), { problems: [], readsAcross: [] }));

  for (const { what, sql } of IN_BACKGROUND)
    it(`accepts in the background ${what}`, () => {
      const { problems, readsAcross } = check(sql, layout);
      assert.deepEqual(problems, []);
      assert.ok(readsAcross.length > 0);
    });

  it('all numbers of a new notification and of an answer are drawn before their transaction', async () => {
    const quiet = await startDeskbell('postgres', { WORKER: 'false' }, database);
    try {
      const token = await quiet.signIn();
      const body = { answer: 'Yes, we do.' };
      const answer = async (path: string) =>
        assert.equal((await quiet.call('POST', `${path}/answer`, { token, body })).status, 200);
      // What a server reads only once.
      await answer(await raise(quiet, token));

      const steps = [];
      startRecording();
      const path = await raise(quiet, token);
      steps.push(stopRecording());
      startRecording();
      await answer(path);
      steps.push(stopRecording());
      for (const statements of steps) {
        const texts = statements.map(({ sql }) => onOneLine(sql));
        const written = texts.findIndex((text) => text.startsWith('insert into new_events'));
        assert.ok(texts.indexOf('begin') >= 0 && texts.indexOf('begin') < written, texts.join('\n'));
        const drawn = texts.findLastIndex((text) => text.includes('nextval'));
        assert.ok(drawn >= 0 && drawn < texts.indexOf('begin'), texts.join('\n'));
      }
    } finally {
      await quiet.close();
    }
  });

  it('every statement of a request, an import and the background keeps the rules', async () => {
    const statements = await recordEverything();
    assert.ok(statements.length > STATEMENTS_MIN, `only ${statements.length} statements were seen`);
    const found: string[] = [];
    for (const { sql } of statements) {
      const { problems, readsAcross } = check(sql, layout);
      const text = onOneLine(sql);
      if (!READS_ACROSS.some(({ statement }) => statement.test(text))) problems.push(...readsAcross);
      if (problems.length > 0) found.push([...problems, text.slice(0, SHOWN_MAX)].join('\n'));
    }
    assert.equal(found.length, 0, `${found.length} statements break a rule:\n\n${found.join('\n\n')}`);
  });

  async function recordEverything(): Promise<Statement[]> {
    startRecording();
    const settings = { CHANNEL_DAILY_LIMIT: '20', PUSH_ALLOW_PRIVATE: 'true' };
    deskbell = await startDeskbell('postgres', settings, database);
    assert.ok(deskbell.database.isSpread);
    const atStart = stopRecording();
    // Its own statements are not those of the server.
    await leaveRows(deskbell, ROWS);
    await deskbell.allSent();
    startRecording();
    await useEverything(deskbell);
    await useVectors(deskbell, 'first');
    await useTogether(deskbell);
    await deskbell.call('GET', '/metrics');
    const imported = await importFiles(deskbell, ROWS + 10);
    await useCommands(deskbell);
    await deskbell.close();
    await useWhatsApp(database);
    return [...atStart, ...stopRecording(), ...imported];
  }
});
