import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import type { Merchant } from '../../support/merchants.ts';
import type { Deskbell } from '../../support/server.ts';

/** A new channel is one folder and one line in registry.ts. This adds the line when the file is loaded. */
const LINE = `export { LOGBOOK } from '${new URL('../../support/logbook.ts', import.meta.url)}';\n`;
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const isRegistry = url.endsWith('/src/delivery/channels/registry.ts');
    return isRegistry ? { ...loaded, source: `${loaded.source}${LINE}` } : loaded;
  },
});

describe('a new channel', () => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-new-channel-'));
  const file = join(folder, 'book.txt');
  let deskbell: Deskbell;
  let shop: Merchant;
  let runProgram: typeof import('../../../src/cli/program.ts')['runProgram'];
  before(async () => {
    ({ runProgram } = await import('../../../src/cli/program.ts'));
    const { settingsOf } = await import('../../support/command.ts');
    const { newMerchant } = await import('../../support/merchants.ts');
    const { startDeskbell } = await import('../../support/server.ts');
    deskbell = await startDeskbell('sqlite');
    shop = await newMerchant(deskbell);
    Object.assign(process.env, settingsOf(deskbell), { PORT: '0' });
  });
  after(async () => {
    await deskbell?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  /** Runs a command in this process, which knows the channel. Returns what it prints. */
  const command = async (line: string, { input = '', env = {} } = {}) => {
    const printed: string[] = [];
    Object.assign(process.env, env);
    const value = Readable.from([Buffer.from(input)]);
    Object.defineProperty(process, 'stdin', { value, configurable: true });
    await runProgram(line.replace('MERCHANT', `--merchant ${shop.id}`).split(' '), {
      print: async (text) => void printed.push(`${text}\n`),
      printError: (text) => printed.push(`${text}\n`),
      loadSettings() {},
    });
    for (const name of Object.keys(env)) delete process.env[name];
    return printed.join('');
  };

  it('is set and shown on the command line, without its secret', async () => {
    const help = await command('channel set --help');
    assert.match(help, /--file PATH +logbook: the file to append to\n/);
    const wrong = await command('channel set logbook MERCHANT', { input: 'short' });
    assert.match(wrong, /^--file must be an absolute path\.\nThe secret ink_stamp must be at least 8 char/);
    await command(`channel set logbook MERCHANT --file ${file} --loud`, { input: 'top-secret' });
    const { channel, own_channel, settings } = JSON.parse(await command('channel show MERCHANT --json'));
    const shown = { file, loud: 'yes', ink_stamp: 'set' };
    assert.deepEqual([channel, own_channel, settings], ['logbook', true, shown]);
  });

  it('is shown by the API, without its secret, and delivers an answer', async () => {
    // Settings are read again after five seconds.
    await deskbell.clock.advance(5);
    const { channel, own, settings } = (await shop.get('/channel')).json;
    assert.deepEqual([channel, own, settings], ['logbook', true, { file, loud: true }]);
    await shop.answer(await shop.raise());
    await deskbell.allSent();
    assert.match(readFileSync(file, 'utf8'), /^top-secret \+\d+ YES, A COLOMBIAN ONE\.\n$/);
    // It has its own routes.
    assert.match((await deskbell.call('GET', '/logbook/time')).json.now, /^\d{4}-/);
  });

  it('is checked by doctor, and read from the environment', async () => {
    rmSync(folder, { recursive: true });
    assert.match(
      await command('doctor'),
      /✖ The channel of merchant \d+, logbook, has a problem: the folder does not exist\.\n +Create the folder/,
    );
    const env = { CHANNEL: 'logbook', LOGBOOK_STAMP: 'top-secret' };
    assert.match(await command('doctor', { env }), /✖ LOGBOOK_FILE must be set with CHANNEL=logbook/);
  });
});
