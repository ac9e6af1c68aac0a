import assert from 'node:assert/strict';
import { afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../src/contract/ids.ts';
import { type Database, DatabaseUnavailable } from '../../src/database/database.ts';
import { type Job, merchantsOf, pauseEnd } from '../../src/jobs/job.ts';
import { listFailing } from '../../src/jobs/leases.ts';
import { type Runner, startJobs } from '../../src/jobs/runner.ts';
import { createLogger } from '../../src/log.ts';
import { onEachEngine, useDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

const [ONE, TWO] = [1, 2] as [MerchantId, MerchantId];

onEachEngine('a job', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  const runners: Runner[] = [];
  const logged: string[] = [];
  let database: Database;
  let isAway = false;
  /** Ends the turns that still wait, so that a test that fails ends, too. */
  const ends: (() => void)[] = [];
  const waiting = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    return { promise, resolve };
  };
  before(() => {
    database = deskbell.database;
    return database.run('create table chores (merchant_id integer not null, chore text not null)');
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) end();
    isAway = false;
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    for (const table of ['chores', 'job_leases']) await database.run(`delete from ${table}`);
    logged.length = 0;
    deskbell.clock.go();
  });

  const add = (merchantId: MerchantId, ...chores: string[]) =>
    Promise.all(
      chores.map((chore) => database.run('insert into chores values ($1, $2)', [merchantId, chore])),
    );
  const left = async () => (await database.all('select 1 from chores')).length;

  /** A new kind of job: what it is, and what it does for a merchant. */
  const choresJob = (work: (merchantId: MerchantId, signal: AbortSignal) => unknown, more = {}): Job => ({
    name: 'chores',
    purpose: 'do a chore',
    everyMs: 60_000,
    wakes: ['test_chores'],
    async due({ after }) {
      if (isAway) throw new DatabaseUnavailable('away');
      const sql = 'select merchant_id from chores where merchant_id > $1 order by merchant_id limit 2';
      return merchantsOf(await database.all(sql, [after?.merchant_id ?? 0]));
    },
    async run({ merchant_id }, { signal }) {
      const [chore] = await database.all<{ chore: string }>(
        'select chore from chores where merchant_id = $1 order by chore limit 1',
        [merchant_id],
      );
      if (!chore) return 'done';
      await work(merchant_id, signal);
      await database.run('delete from chores where merchant_id = $1 and chore = $2', [
        merchant_id,
        chore.chore,
      ]);
      return 'more';
    },
    ...more,
  });
  const start = (...jobs: Job[]): Runner => {
    const log = createLogger({ logLevel: 'info', logPretty: false }, { write: (line) => logged.push(line) });
    const runner = startJobs(jobs, { database, log, now: deskbell.clock.now });
    runners.push(runner);
    return runner;
  };
  const signal = () => database.signal('test_chores');

  it('is woken by its signal, and gives each merchant a turn, however much another one has', async () => {
    const turns: number[] = [];
    await start(choresJob((id) => turns.push(id))).idle();
    await add(ONE, 'a', 'b', 'c');
    await add(TWO, 'a');
    signal();
    await until('all is done', async () => (await left()) === 0);
    assert.deepEqual(turns, [ONE, TWO, ONE, ONE]);
  });

  it('works for several merchants at the same time, for each one thing at a time', async () => {
    await add(ONE, 'a', 'b');
    await add(TWO, 'a');
    const running: number[] = [];
    const { promise, resolve } = waiting();
    const work = async (id: number) => {
      running.push(id);
      await promise;
    };
    start(choresJob(work, { lanes: 3 }));
    await until('two are at work', () => running.length === 2);
    signal();
    await sleep(50);
    assert.deepEqual(running.toSorted(), [ONE, TWO]);
    resolve();
    await until('all is done', async () => (await left()) === 0);
    assert.deepEqual(running.toSorted(), [ONE, ONE, TWO]);
  });

  it('with a lease is done by one of two processes, and by the other one when that has died', async () => {
    await add(ONE, 'a');
    const by: string[] = [];
    const { promise: dead } = waiting();
    const worker = (name: string, waits: Promise<void> | undefined) =>
      choresJob(
        (_id) => {
          by.push(name);
          return waits;
        },
        { lease: true },
      );
    start(worker('first', dead));
    await until('the first one works', () => by.length === 1);
    const second = start(worker('second', undefined));
    await second.idle();
    assert.deepEqual([by, await left()], [['first'], 1]);
    deskbell.clock.jump(91);
    await second.idle();
    assert.deepEqual([by, await left()], [['first', 'second'], 0]);
  });

  it('of the whole service is done once in its time, by any process', async () => {
    let runs = 0;
    const hourly: Job = {
      ...{ name: 'hourly', purpose: 'tidy up', everyMs: 3_600_000, lease: true },
      async run() {
        runs += 1;
        return 'done';
      },
    };
    const both = [start(hourly), start(hourly)];
    const look = () => Promise.all(both.map((runner) => runner.idle()));
    await look();
    await look();
    assert.equal(runs, 1);
    deskbell.clock.jump(3601);
    await look();
    assert.equal(runs, 2);
  });

  for (const lease of [undefined, true])
    it(`that fails pauses longer and longer, and the others go on${lease ? ', with a lease' : ''}`, async () => {
      const { clock } = deskbell;
      clock.stop();
      await add(ONE, 'a');
      await add(TWO, 'a');
      let isBroken = true;
      let attempts = 0;
      const runner = start(
        choresJob(
          (id) => {
            if (id !== ONE) return;
            attempts += 1;
            if (isBroken) throw new Error('a chore of Lucía');
          },
          { lease, hidesErrors: true },
        ),
      );
      const after = async (seconds: number) => {
        clock.jump(seconds);
        await runner.idle();
        return attempts;
      };
      assert.deepEqual([await after(0), await left(), runner.health()[0]!.failing], [1, 1, 1]);
      assert.equal(await after(0.5), 1);
      assert.equal(await after(99.5), 2);
      // It has failed for 100 seconds.
      assert.deepEqual([await after(49), await after(2)], [2, 3]);
      const failing = await listFailing(database, clock.now());
      assert.deepEqual(
        failing.map(({ job, key }) => [job, key]),
        [['chores', String(ONE)]],
      );
      assert.equal(logged.length, 3);
      const { merchant_id, error, msg } = JSON.parse(logged[0]!);
      assert.deepEqual([merchant_id, error, msg], [ONE, 'Error', 'cannot do a chore; will retry']);
      assert.doesNotMatch(logged.join(), /Lucía/);
      isBroken = false;
      await after(600);
      assert.deepEqual([await left(), await listFailing(database, clock.now())], [0, []]);
    });

  it('logs an outage of the database once, for all jobs, and goes on afterwards', async () => {
    isAway = true;
    const jobs = ['one', 'two'].map((name) => choresJob(() => {}, { name, everyMs: 5 }));
    const runner = start(...jobs);
    await until('both have failed', () => runner.health().every((job) => job.failing_since !== null));
    await sleep(30);
    assert.equal(logged.length, 1);
    await add(ONE, 'a');
    isAway = false;
    await until('it is done', async () => (await left()) === 0);
    await runner.idle();
    assert.deepEqual(
      runner.health().map((job) => job.failing_since),
      [null, null],
    );
  });

  it('ends when it is stopped, after its turn, and does not begin another one', async () => {
    await add(ONE, 'a', 'b');
    const { promise: stopped, resolve } = waiting();
    let isWorking = false;
    const runner = start(
      choresJob((_id, stopping) => {
        isWorking = true;
        stopping.addEventListener('abort', () => resolve());
        return stopped;
      }),
    );
    await until('it works', () => isWorking);
    await runner.stop();
    signal();
    await sleep(50);
    assert.equal(await left(), 1);
  });
});

describe('the pause after a failure', () => {
  it('is half as long as it has failed, within bounds', () => {
    const at = new Date('2026-02-03T10:00:00Z');
    const pauseAfter = (seconds: number) =>
      (pauseEnd(at.getTime() - seconds * 1000, at).getTime() - at.getTime()) / 1000;
    assert.deepEqual([0, 10, 600, 86_400].map(pauseAfter), [1, 5, 300, 600]);
  });
});
