/**
 * Checks the statements that the tests have recorded in a folder: `node test/support/statements/check.ts FOLDER`. Each must
 * have a plan that does not scan a table, and PostgreSQL's must be ones that a cluster runs on one node. `npm test` runs it
 * at the end, and keeps the folder if there are problems. Run alone, it starts its own PostgreSQL.
 */
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadModule } from 'libpg-query';
import { findOrInstall, startPostgres } from '../../../scripts/services.ts';
import { databaseFile } from '../../../src/database/sqliteFolder.ts';
import { pretendLarge } from '../plans/large.ts';
import { type Planner, postgresPlanner, sqlitePlanner } from '../plans/scans.ts';
import { readLayout } from '../spread/layout.ts';
import { check } from '../spread/rules.ts';
import { AGAINST_RULES, fileOf, isAllowedScan, isOf, mayReadAcross, NOT_ON_CLUSTER } from './allowed.ts';
import type { Statement } from './open.ts';

/** Enough of a statement to find it in the source. */
const SHOWN_MAX = 400;
/** `begin` or `listen`, for example, have no plan. */
const HAS_PLAN = /^\s*(select|with|insert|update|delete)\b/i;

const folder = process.argv[2]!;
const services = process.env.TEST_DEMO_KEY === undefined ? await startAlone() : undefined;
// Imported only now, because it reads the address of PostgreSQL when it is loaded.
const { createDemoDatabase, engines } = await import('../databases.ts');

const problems: string[] = [];
const statements = readStatements();
for (const engine of engines) await checkPlans(engine);
if (engines.includes('postgres')) await checkCluster();
for (const problem of problems) console.log(`${problem}\n`);
console.log(`${statements.length} statements, ${problems.length} problems`);
if (problems.length > 0)
  console.log(
    `Correct them, or say in test/support/statements/allowed.ts why they may stay. To check again:\n  node test/support/statements/check.ts ${folder}`,
  );
await services?.stop();
process.exit(problems.length === 0 ? 0 : 1);

/** What `npm test` has started for its checks. */
async function startAlone(): Promise<{ stop(): Promise<void> }> {
  const own = mkdtempSync(join(tmpdir(), 'deskbell-check-'));
  // PostgreSQL runs as another user.
  chmodSync(own, 0o755);
  process.env.TMPDIR = own;
  const program = findOrInstall('postgres', 'postgresql');
  const postgres = program ? await startPostgres(program, { durable: false }) : undefined;
  if (postgres) process.env.TEST_POSTGRESQL_URL = postgres.url;
  const { prepareDemoDatabases } = await import('../databases.ts');
  await prepareDemoDatabases();
  return {
    async stop() {
      await postgres?.stop();
      rmSync(own, { recursive: true });
    },
  };
}

function readStatements(): Statement[] {
  const all = globSync(`${folder}/*.jsonl`).flatMap((file) =>
    // A process that was killed may have left half a line.
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as Statement),
  );
  const byText = Map.groupBy(all, ({ engine, isSpread, by, sql }) => `${engine} ${isSpread} ${by} ${sql}`);
  return [...byText.values()].map(([first]) => first!);
}

function report({ engine, by, sql }: Statement, found: readonly string[]): void {
  const text = sql.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_MAX);
  problems.push([`${by} (${engine})`, ...found, text].join('\n  '));
}

async function checkPlans(engine: Statement['engine']): Promise<void> {
  const database = await createDemoDatabase(engine, 'weak');
  const { DATABASE_DIRECT_URL, DATABASE_URL, DATA_DIR } = database.env;
  const url = DATABASE_DIRECT_URL ?? DATABASE_URL;
  if (url) await pretendLarge(url);
  const planner: Planner = url ? await postgresPlanner(url) : sqlitePlanner(databaseFile(DATA_DIR!));
  for (const statement of statements) {
    if (statement.engine !== engine || statement.isSpread || !HAS_PLAN.test(statement.sql)) continue;
    try {
      const scans = await planner.scansOf(statement.sql);
      const found = scans.filter((scan) => !isAllowedScan(scan, statement.by));
      if (found.length > 0)
        report(statement, [...new Set(found.map(({ table, how }) => `${table}: ${how}`))]);
    } catch (error) {
      // A table that the database has only for a while, or on a cluster.
      const { message } = error as Error;
      if (!/^(no such table|relation "\w+" does not exist)/.test(message)) report(statement, [message]);
    }
  }
  await planner.close();
  await database.remove();
}

/** What `ownIdIn` of src/database/ids.ts writes on a cluster instead. */
function onCluster(sql: string): string {
  return sql.replaceAll(
    /\(merchant_id, (\w+)\) in \(select cast\((\$\d+) as bigint\), unnest\(cast\((\$\d+) as (\w+)\[\]\)\)\)/g,
    'merchant_id = $2 and $1 = any(cast($3 as $4[]))',
  );
}

async function checkCluster(): Promise<void> {
  await loadModule();
  const database = await createDemoDatabase('postgres', 'weak');
  const layout = await readLayout(database.env.DATABASE_URL!);
  for (const statement of statements) {
    const { engine, isSpread, isAdapted, by, sql } = statement;
    if (engine !== 'postgres' || (!isSpread && (isAdapted || isOf(NOT_ON_CLUSTER, by)))) continue;
    const { problems, readsAcross } = check(onCluster(sql), layout);
    const found = [
      ...(isOf(Object.keys(AGAINST_RULES), by) ? [] : problems),
      ...(mayReadAcross(by) ? [] : readsAcross),
    ];
    if (found.length > 0) report(statement, found);
  }
  const run = statements
    .filter(({ isSpread, isAdapted }) => isSpread && !isAdapted)
    .map(({ by }) => fileOf(by));
  for (const source of run.length > 0 ? NOT_ON_CLUSTER : [])
    if (!run.includes(fileOf(source)))
      problems.push(`${source}: no test runs it on a cluster, see test/database/onCluster.test.ts`);
  await database.remove();
}
