import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createVault, VaultError } from '../../src/secrets.ts';
import { run } from '../support/command.ts';
import { createTestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';
import { startDeskbell } from '../support/server.ts';

describe('the data folder', () => {
  const modes = (folder: string) =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]));
  const shared = (folder: string) => ({ env: { DATA_DIR: folder }, async remove() {} });
  const doctor = (folder: string) => run(['doctor'], { env: { DATA_DIR: folder, PORT: '0' } });

  it('has only files that their owner alone can read, whatever the mode of the folder', async () => {
    const folder = join(newFolder(), 'open');
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    // Deskbell neither changes nor checks the files of other programs.
    const backup = join(folder, 'backup.tar');
    writeFileSync(backup, '');
    chmodSync(backup, 0o640);
    await (await startDeskbell('sqlite', {}, shared(folder))).close();
    const files = ['deskbell.db', 'secret.key', 'server.lock', 'turn.lock'];
    for (const name of files) assert.equal(modes(folder)[name], 0o600, name);
    assert.equal(modes(folder)['backup.tar'], 0o640);
    const fine = await doctor(folder);
    assert.equal(fine.code, 0, fine.stdout);

    // An earlier version has created them with other modes. `doctor` finds it, and the next start corrects it.
    for (const name of files) chmodSync(join(folder, name), 0o644);
    const { code, stdout } = await doctor(folder);
    assert.equal(code, 1, stdout);
    for (const name of files)
      assert.match(stdout, new RegExp(`✖ Other users .* ${join(folder, name)}\\.\n +Run chmod 600`));
    const deskbell = await startDeskbell('sqlite', {}, shared(folder));
    await deskbell.signIn();
    const { 'backup.tar': _, ...own } = modes(folder);
    assert.deepEqual(new Set(Object.values(own)), new Set([0o600]));
    assert.ok('deskbell.db-wal' in own);
    await deskbell.close();
  });
});

describe('SECRET_KEY', () => {
  const SENTENCE = 'my dog has fleas & nobody else knows it yet!';

  it('must be base64 or hex for a new database, but not for one that was created with other text', async () => {
    const database = await createTestDatabase('sqlite');
    await assert.rejects(
      startDeskbell('sqlite', { SECRET_KEY: SENTENCE }, database),
      (error: Error) => error instanceof VaultError && /^SECRET_KEY must be 32 random/.test(error.message),
    );
    const hex = randomBytes(32).toString('hex');
    const first = await startDeskbell('sqlite', { SECRET_KEY: hex }, database);
    const [oldVault, newVault] = [createVault(hex), createVault(SENTENCE)];
    const rows = await first.database.all<{ kid: string; sealed_private_key: string }>(
      'select kid, sealed_private_key from signing_keys',
    );
    for (const { kid, sealed_private_key: old } of rows) {
      const purpose = `signing key ${kid}`;
      const sealed = newVault.seal(oldVault.open(old, purpose), purpose);
      await first.database.run('update signing_keys set sealed_private_key = $2 where kid = $1', [
        kid,
        sealed,
      ]);
    }
    await first.close();
    const deskbell = await startDeskbell('sqlite', { SECRET_KEY: SENTENCE }, database);
    await deskbell.signIn();
    assert.match(deskbell.logged.join(''), /SECRET_KEY is neither base64 nor hex/);
    await deskbell.close();
    await database.remove();
  });
});
