import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createDemoDatabase, engines } from '../support/databases.ts';
import { newFolder, type Program, root, run, serve } from '../support/process.ts';

const WORK = [process.execPath, join(root, 'src', 'cli', 'main.ts'), 'work'];

type Line = Record<string, unknown> & { level: string; msg: string };

/** Everything that the program printed, and that all of it is JSON on standard output. */
function linesOf(program: Program): Line[] {
  assert.equal(program.stderr(), '');
  const lines = program.stdout().trimEnd().split('\n');
  return lines.map((line) => {
    const parsed = JSON.parse(line) as Line;
    assert.equal(typeof parsed.level, 'string', line);
    assert.equal(typeof parsed.msg, 'string', line);
    assert.ok(!Number.isNaN(Date.parse(String(parsed.time))), line);
    return parsed;
  });
}

const PRODUCTION = { NODE_ENV: 'production' };

describe('in production every line is JSON', () => {
  it('of a server that starts, answers and stops', async () => {
    const server = await serve({ ...PRODUCTION, DATA_DIR: newFolder() });
    await fetch(`${server.url}/healthz`);
    await fetch(`${server.url}/no-such-page`);
    assert.equal((await server.stop()).code, 0);
    const messages = linesOf(server).map(({ msg }) => msg);
    assert.ok(messages.includes('request'));
    assert.equal(messages.at(-1), 'stopped');
  });

  it('of a server that cannot start', async () => {
    const server = run({ ...PRODUCTION, PORT: 'eighty', DATA_DIR: newFolder() });
    assert.equal((await server.ended).code, 1);
    const [line, ...others] = linesOf(server);
    assert.deepEqual(others, []);
    assert.equal(line!.level, 'fatal');
    assert.match(line!.msg, /^PORT must be/);
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
    const worker = run({ ...PRODUCTION, DATA_DIR: newFolder() }, WORK);
    assert.equal((await worker.ended).code, 1);
    const lines = linesOf(worker);
    assert.equal(lines.length, 1);
    assert.match(lines[0]!.msg, /^There is no database/);
  });

  const needsPostgres = { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' };
  it('of a worker that runs and stops', needsPostgres, async () => {
    const shared = await createDemoDatabase('postgres', 'weak');
    try {
      const worker = run({ ...shared.env, ...PRODUCTION, DEMO: 'false' }, WORK);
      await worker.waitForOutput(/sending messages/);
      assert.equal((await worker.stop()).code, 0);
      const last = linesOf(worker).at(-1)!;
      assert.deepEqual([last.msg, typeof last.attempts], ['stopped', 'number']);
    } finally {
      await shared.remove();
    }
  });
});
