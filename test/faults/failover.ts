import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type Service, startPostgres } from '../../scripts/services.ts';
import { freeze } from '../freezing.ts';
import { ask, setSetting } from './admin.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { type Load, recoverySeconds, slowestMs, startLoad, untilRecovered, writesDone } from './load.ts';
import { type Pair, startPair } from './pair.ts';

const WRITES_AGAIN_MAX_S = 10;
const LEFT_MAX_MS = 5000;
const CLIENTS = 24;
const PAUSE_MS = 100;

export const failover: Fault = {
  name: 'failover',
  title: 'a primary is killed or demoted, and its synchronous standby takes over',
  engines: ['postgres'],
  async run(_engine, size) {
    const full = size === 'full';
    const program = findProgram('postgres')!;
    const running: Service[] = [];
    const loads: Load[] = [];
    const findings: Finding[] = [];
    let pair: Pair | undefined;
    let thaw = () => {};

    const start = async (options: { port?: number; standbyOf?: string }): Promise<Service> => {
      const postgres = await startPostgres(program, { durable: full, ...options });
      running.push(postgres);
      return postgres;
    };
    const begin = async (): Promise<Load> => {
      const load = await startLoad({ urls: pair!.urls, clients: CLIENTS, pauseMs: PAUSE_MS });
      loads.push(load);
      await sleep(full ? 5000 : 700);
      return load;
    };
    const takeOver = async (title: string, load: Load, standby: Service): Promise<void> => {
      const promotedAt = performance.now();
      // Without waiting for it: what it still has to replay may break off a statement that does.
      await ask(standby.url, 'select pg_promote(false)');
      await untilRecovered(load, promotedAt);
      // First, while its reads may still go where they went before.
      const shown = await pair!.shown(title);
      await load.stop();
      findings.push(...ofTakingOver(title, load, promotedAt), shown, await pair!.told(title));
    };
    /** An old primary comes back as the standby of the new one, under load. */
    const rejoin = async (title: string, old: Service, primary: Service): Promise<Service> => {
      const load = await begin();
      await old.stop();
      const joined = await start({ port: Number(new URL(old.url).port), standbyOf: primary.url });
      await replicateSynchronously(primary);
      await load.stop();
      const failed = load.asked.filter(({ done }) => !done).length;
      findings.push({ ...none(`${title}: failed while it came back as a standby`, failed), bySpeed: true });
      return joined;
    };

    try {
      const one = await start({});
      const two = await start({ standbyOf: one.url });
      await replicateSynchronously(one);
      const [first, second] = [one, two].map(({ url }) => new URL(url).host);
      pair = await startPair(
        `postgres://deskbell@${first},${second}/postgres?target_session_attrs=read-write`,
      );

      const killed = await begin();
      await one.halt('SIGKILL');
      await sleep(full ? 5000 : 500);
      await takeOver('killed', killed, two);

      const oneAgain = await rejoin('killed', one, two);
      const demoted = await begin();
      await setSetting(two.url, 'default_transaction_read_only', 'on');
      await sleep(full ? 5000 : 500);
      await takeOver('demoted', demoted, oneAgain);
      findings.push(none('demoted: connections that stayed with it', await connectionsLeft(two.url)));

      if (full) {
        const twoAgain = await rejoin('demoted', two, oneAgain);
        const alone = await begin();
        thaw = await freeze(twoAgain);
        const frozenAt = performance.now();
        await sleep(10_000);
        await oneAgain.halt('SIGKILL');
        const written = writesDone(alone, frozenAt, performance.now()).length;
        findings.push(none('acknowledged while the standby was frozen', written));
        thaw();
        await takeOver('killed after that', alone, twoAgain);
      }
      return [...findings, ...(await pair.findings(loads))];
    } finally {
      thaw();
      await Promise.all(loads.map((load) => load.stop()));
      await pair?.end();
      await Promise.all(running.map((postgres) => postgres.stop()));
    }
  },
};

function ofTakingOver(title: string, load: Load, promotedAt: number): Finding[] {
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
  ];
}

/** Not before its standby streams: until then no write would be acknowledged. */
async function replicateSynchronously({ url }: Service): Promise<void> {
  await untilStandby(url, `state = 'streaming'`);
  await setSetting(url, 'synchronous_standby_names', '*');
  await untilStandby(url, `sync_state = 'sync'`);
}

async function untilStandby(url: string, isSo: string): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; Date.now() < giveUpAt; await sleep(50)) {
    const rows = await ask(
      url,
      `select from pg_stat_replication where application_name = 'walreceiver' and ${isSo}`,
    );
    if (rows.length > 0) return;
  }
  throw new Error(`there is no standby of which ${isSo}`);
}

/** Of the servers', after a while. */
async function connectionsLeft(url: string): Promise<number> {
  for (const giveUpAt = Date.now() + LEFT_MAX_MS; ; await sleep(100)) {
    const rows = await ask<{ application_name: string }>(
      url,
      `select application_name from pg_stat_activity where application_name in ('deskbell', 'deskbell signals')`,
    );
    if (rows.length === 0 || Date.now() > giveUpAt) return rows.length;
  }
}
