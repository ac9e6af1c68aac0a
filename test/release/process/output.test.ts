import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { newFolder, serve } from '../../support/process.ts';

it('in production every line is JSON, also when Node warns, and when a bug ends the process', async () => {
  const folder = newFolder();
  const faulty = join(folder, 'faulty.mjs');
  writeFileSync(
    faulty,
    `process.once('SIGUSR2', () => {
      process.emitWarning('this will change', { code: 'DEP9999' });
      setImmediate(() => { throw new Error('a bug'); });
    });`,
  );
  const settings = { NODE_ENV: 'production', DATA_DIR: folder, NODE_OPTIONS: `--import ${faulty}` };
  const server = await serve(settings);
  await fetch(`${server.url}/no-such-page`);
  assert.equal((await server.stop('SIGUSR2')).code, 1);
  assert.equal(server.stderr(), '');
  const lines = server.stdout().trimEnd().split('\n');
  const parsed = lines.map((line) => JSON.parse(line));
  for (const { level, msg, time } of parsed)
    assert.ok(typeof level === 'string' && typeof msg === 'string' && Date.parse(time) > 0, lines.join('\n'));
  assert.ok(parsed.some(({ msg }) => msg === 'request'));
  const [warning, fatal] = parsed.slice(-2);
  assert.deepEqual([warning.level, warning.code, warning.msg], ['warn', 'DEP9999', 'this will change']);
  assert.deepEqual([fatal.level, fatal.msg, fatal.err.message], ['fatal', 'uncaught exception', 'a bug']);
});
