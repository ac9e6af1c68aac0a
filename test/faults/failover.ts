import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findProgram, type Service, startPostgres } from '../../scripts/services.ts';
import { freeze } from '../freezing.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { type Load, recoverySeconds, slowestMs, startLoad, untilRecovered, writesDone } from './load.ts';
import { type Pair, startPair } from './pair.ts';

const SYNCHRONOUS = { synchronous_standby_names: '*', synchronous_commit: 'on' };
const WRITES_AGAIN_MAX_S = 10;
const CLIENTS = 24;
const PAUSE_MS = 100;

export const failover: Fault = {
  name: 'failover',
  title: 'the primary is killed and its synchronous standby takes over',
  engines: ['postgres'],
  async run(_engine, size) {
    const durable = size === 'full';
    const program = findProgram('postgres')!;
    const running: Service[] = [];
    const loads: Load[] = [];
    let pair: Pair | undefined;
    const begin = async (): Promise<Load> => {
      const load = await startLoad({ urls: pair!.urls, clients: CLIENTS, pauseMs: PAUSE_MS });
      loads.push(load);
      return load;
    };
    try {
      const primary = await startPostgres(program, { durable, settings: SYNCHRONOUS });
      running.push(primary);
      const standby = await startPostgres(program, { durable, standbyOf: primary.url });
      running.push(standby);
      await untilSynchronous(primary.url);
      const [one, two] = [primary, standby].map(({ url }) => new URL(url).host);
      pair = await startPair(`postgres://deskbell@${one},${two}/postgres?target_session_attrs=read-write`);

      const findings: Finding[] = [];
      const first = await begin();
      await sleep(size === 'full' ? 10_000 : 700);
      await primary.halt('SIGKILL');
      await sleep(size === 'full' ? 5000 : 500);
      findings.push(...(await takeOver('first', standby, first, pair)));

      // The old one comes back, as the standby of the new one.
      const joining = await begin();
      await primary.stop();
      const port = Number(new URL(primary.url).port);
      const rejoined = await startPostgres(program, { durable, port, standbyOf: standby.url });
      running.push(rejoined);
      await replicateTo(standby.url, '*');
      await untilSynchronous(standby.url);
      await sleep(size === 'full' ? 5000 : 200);
      await joining.stop();
      const failed = joining.asked.filter(({ done }) => !done).length;
      findings.push(none('failed while the old one came back as a standby', failed));
      if (size === 'short') return [...findings, ...(await pair.findings(loads))];

      // Back again, and this time nothing reaches the standby before the primary dies.
      const second = await begin();
      await sleep(5000);
      const thaw = await freeze(rejoined);
      const frozenAt = performance.now();
      await sleep(10_000);
      await standby.halt('SIGKILL');
      const killedAt = performance.now();
      thaw();
      findings.push(...(await takeOver('back', rejoined, second, pair)));
      const alone = writesDone(second, frozenAt, killedAt).length;
      findings.push(none('back: acknowledged while the standby heard nothing', alone));
      return [...findings, ...(await pair.findings(loads))];
    } finally {
      await Promise.all(loads.map((load) => load.stop()));
      await pair?.end();
      await Promise.all(running.map((postgres) => postgres.stop()));
    }
  },
};

async function takeOver(title: string, standby: Service, load: Load, pair: Pair): Promise<Finding[]> {
  await ask(standby.url, 'select pg_promote()');
  const promotedAt = performance.now();
  await untilRecovered(load, promotedAt);
  await load.stop();
  const [write] = writesDone(load, promotedAt);
  const refused = load.asked.filter(({ done }) => !done).length;
  return [
    { what: `${title}: requests refused`, value: refused, atLeast: 1 },
    { what: `${title}: slowest request`, value: slowestMs(load), unit: 'ms', atMost: 5000 },
    {
      what: `${title}: from the promotion until a write is acknowledged`,
      value: write === undefined ? Number.NaN : (write.beganAt + write.ms - promotedAt) / 1000,
      unit: 's',
      atMost: WRITES_AGAIN_MAX_S,
    },
    {
      what: `${title}: from the promotion until 95% succeed`,
      value: recoverySeconds(load, promotedAt),
      unit: 's',
      atMost: WRITES_AGAIN_MAX_S,
    },
    await pair.told(title),
  ];
}

async function ask<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function replicateTo(url: string, names: string): Promise<void> {
  await ask(url, `alter system set synchronous_standby_names = '${names}'`);
  await ask(url, 'select pg_reload_conf()');
}

async function untilSynchronous(url: string): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; Date.now() < giveUpAt; await sleep(50)) {
    const rows = await ask<{ sync_state: string }>(url, 'select sync_state from pg_stat_replication');
    if (rows.some(({ sync_state }) => sync_state === 'sync')) return;
  }
  throw new Error('the standby does not replicate synchronously');
}
