import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Param } from '../../../src/database/database.ts';
import { startJobs } from '../../../src/jobs/runner.ts';
import { enqueueMail } from '../../../src/mail/queue.ts';
import { resealRegularly } from '../../../src/reseal.ts';
import { createVault, type Vault } from '../../../src/secrets.ts';
import { runAsProcess, settingsOf } from '../../support/command.ts';
import { killSettings } from '../../support/copying.ts';
import { ENOUGH_MS, type Prepared, prepare } from '../../support/keyChange.ts';
import { type Deskbell, onEachEngine } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

onEachEngine('encrypting again', (engine) => {
  const MAILS = 300;
  let prepared: Prepared;
  let deskbell: Deskbell;
  before(async () => {
    prepared = await prepare(engine);
    const { start, keys, only } = prepared;
    deskbell = await start({ ...only(keys.old), WORKER: 'false' });
  });
  after(() => prepared?.close());

  /** Mails that the old key has encrypted. */
  async function addMails(): Promise<void> {
    const { database, clock } = deskbell;
    const old = createVault(prepared.keys.old);
    await database.transaction(async (tx) => {
      await tx.run('delete from mails');
      for (let n = 0; n < MAILS; n += 1) {
        const content = { to: `${n}@shop.example`, subject: 's', text: `text ${n}`, at: clock.now() };
        await enqueueMail(tx, old, 1000 + (n % 7), { ...content, kind: 'alert' });
      }
    });
  }
  const mails = () =>
    deskbell.database.all<{ sealed: string; merchant_id: number }>('select sealed, merchant_id from mails');
  const purposeOf = ({ merchant_id }: { merchant_id: number }) => `mail of merchant ${merchant_id}`;
  const resealed = async () => {
    const current = createVault(prepared.keys.new);
    return (await mails()).filter((row) => current.keyOf(row.sealed, purposeOf(row))).length;
  };
  const textsWith = async (vault: Vault) =>
    new Set((await mails()).map((row) => vault.open(row.sealed, purposeOf(row)))).size;
  const worker = (
    beforeUpdate = async () => {},
    // As if this were the only process.
    { countAnnounced = async (_name: string) => 1, said = [] as string[] } = {},
  ) => {
    const vault = createVault(prepared.keys.new, prepared.keys.old);
    vault.change!.sealWithCurrent();
    const { run } = deskbell.database;
    const watched = {
      ...deskbell.database,
      countAnnounced,
      async run<Row>(sql: string, params?: readonly Param[]) {
        if (sql.startsWith('update mails')) await beforeUpdate();
        return run<Row>(sql, params);
      },
    };
    const log = { info: (text: string) => said.push(text), warn() {} } as never;
    const job = resealRegularly({ database: watched, vault, log, everyMs: 1 })!;
    return startJobs([job], { database: watched, log, now: () => new Date() });
  };

  it('loses nothing when the worker is killed, and several others continue at the same time', async () => {
    await addMails();
    const { keys, both } = prepared;
    // In the first page, and in the second.
    for (const nth of [60, 200]) {
      const { code } = await runAsProcess([], {
        env: { ...settingsOf(deskbell), ...both, ...killSettings({ sql: 'update mails', nth }) },
        program: [
          process.execPath,
          fileURLToPath(new URL('../../support/resealProcess.ts', import.meta.url)),
        ],
      });
      assert.equal(code, null, 'it was killed');
      assert.equal(await textsWith(createVault(keys.new, keys.old)), MAILS, 'both keys open everything');
    }
    assert.equal(await resealed(), 59 + 199);
    const workers = [worker(), worker()];
    await until('all are done', async () => (await resealed()) === MAILS, ENOUGH_MS);
    await Promise.all(workers.map((each) => each.stop()));
    assert.equal(await textsWith(createVault(keys.new)), MAILS);
  });

  it('does not say that the old key can be removed while a process that started meanwhile may use it', async () => {
    await addMails();
    let [processes, looks] = [1, 0];
    const said: string[] = [];
    const countAnnounced = async (name: string) => {
      if (name !== 'deskbell processes') return 1;
      looks += 1;
      return processes;
    };
    const starting = async () => {
      processes = 2;
    };
    const last = worker(starting, { countAnnounced, said });
    await until('it looks again', () => looks > 2, ENOUGH_MS);
    assert.equal(await resealed(), MAILS);
    assert.deepEqual(said, []);
    processes = 1;
    await until('it says so', () => said.length > 0, ENOUGH_MS);
    await last.stop();
  });
});
