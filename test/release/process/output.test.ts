/** What processes print and export, from the first line to the last. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createDemoDatabase, engines } from '../../support/databases.ts';
import { newFolder, type Program, run, type Settings, serve } from '../../support/process.ts';
import { MAIN } from '../../support/program.ts';
import { otelEnv, startCollector } from '../../support/stand-ins/collector.ts';

const startWorker = (settings: Settings) => run(settings, [process.execPath, MAIN, 'work']);
const PRODUCTION = { NODE_ENV: 'production' };
const needsPostgres = { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' };

type Line = Record<string, unknown> & { level: string; msg: string };

/** Everything that the program printed, and that all of it is JSON on standard output. */
function linesOf(program: Program): Line[] {
  assert.equal(program.stderr(), '');
  const lines = program.stdout().trimEnd().split('\n');
  return lines.map((line) => {
    const parsed = JSON.parse(line) as Line;
    assert.deepEqual([typeof parsed.level, typeof parsed.msg], ['string', 'string'], line);
    assert.ok(!Number.isNaN(Date.parse(String(parsed.time))), line);
    return parsed;
  });
}

describe('in production every line is JSON', () => {
  it('of a server that starts, answers and stops', async () => {
    const server = await serve({ ...PRODUCTION, DATA_DIR: newFolder() });
    for (const path of ['/healthz', '/no-such-page']) await fetch(server.url + path);
    assert.equal((await server.stop()).code, 0);
    const messages = linesOf(server).map(({ msg }) => msg);
    assert.ok(messages.includes('request'));
    assert.equal(messages.at(-1), 'stopped');
  });

  it('when Node warns, and when a bug ends the process', async () => {
    const folder = newFolder();
    const faulty = join(folder, 'faulty.mjs');
    writeFileSync(
      faulty,
      `process.once('SIGUSR2', () => {
        process.emitWarning('this will change', { code: 'DEP9999' });
        setImmediate(() => { throw new Error('a bug'); });
      });`,
    );
    const server = await serve({ ...PRODUCTION, DATA_DIR: folder, NODE_OPTIONS: `--import ${faulty}` });
    assert.equal((await server.stop('SIGUSR2')).code, 1);
    const [warning, fatal] = linesOf(server).slice(-2);
    assert.deepEqual([warning!.level, warning!.code, warning!.msg], ['warn', 'DEP9999', 'this will change']);
    assert.deepEqual([fatal!.level, fatal!.msg], ['fatal', 'uncaught exception']);
    assert.equal((fatal!.err as { message: string }).message, 'a bug');
  });

  it('of a worker that cannot start', async () => {
    const worker = startWorker({ ...PRODUCTION, DATA_DIR: newFolder() });
    assert.equal((await worker.ended).code, 1);
    const [line, ...others] = linesOf(worker);
    assert.match(line!.msg, /^There is no database/);
    assert.deepEqual(others, []);
  });
});

it('a server and a worker print JSON, and export what is left when they stop', needsPostgres, async () => {
  const collector = await startCollector();
  const database = await createDemoDatabase('postgres', 'weak');
  const rarely = { OTEL_BSP_SCHEDULE_DELAY: '600000', OTEL_METRIC_EXPORT_INTERVAL: '3600000' };
  const env = { ...database.env, ...otelEnv(collector), ...rarely, ...PRODUCTION, DEMO: 'false' };
  const server = await serve({ ...env, WORKER: 'false' });
  const worker = startWorker(env);
  await worker.waitForOutput(/sending messages/);
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
  assert.deepEqual(collector.received, []);
  for (const one of [server, worker]) {
    assert.equal((await one.stop()).code, 0);
    assert.equal(linesOf(one).at(-1)!.msg, 'stopped');
  }
  assert.ok(collector.spans().some(({ attributes }) => attributes['http.route'] === '/readyz'));
  assert.equal(collector.received.filter(({ path }) => path === '/v1/metrics').length, 2);
  assert.equal(collector.logs().filter(({ body }) => body === 'stopped').length, 2);
  await collector.close();
  await database.remove();
});
