import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type Service, startPostgres } from '../../../scripts/services.ts';
import { freeze } from '../../support/freezing.ts';
import { runAsAdmin, setSetting } from './admin.ts';
import { type Fault, type Finding, none } from './fault.ts';
import {
  interruptionFindings,
  type Load,
  refusedCount,
  startLoad,
  waitForRecovery,
  writesDone,
} from './load.ts';
import { type Pair, startPair } from './pair.ts';

const RECOVERY_MAX_S = 10;
const DISCONNECT_MAX_MS = 5000;
const CLIENTS = { short: 12, full: 24 };
const PAUSE_MS = { short: 300, full: 100 };

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
    let unfreeze = () => {};

    const start = async (options: { port?: number; standbyOf?: string }): Promise<Service> => {
      const postgres = await startPostgres(program, { durable: full, ...options });
      running.push(postgres);
      return postgres;
    };
    const beginLoad = async (): Promise<Load> => {
      const load = await startLoad({ urls: pair!.urls, clients: CLIENTS[size], pauseMs: PAUSE_MS[size] });
      loads.push(load);
      await sleep(full ? 5000 : 700);
      return load;
    };
    const takeOver = async (title: string, load: Load, standby: Service): Promise<void> => {
      const promotedAt = performance.now();
      // Does not wait for the promotion: replaying the log may cancel a statement that waits.
      await runAsAdmin(standby.url, 'select pg_promote(false)');
      await waitForRecovery(load, promotedAt);
      // Checked first, while reads may still go to the old server.
      const visible = await pair!.measureVisible(title);
      await load.stop();
      findings.push(
        ...takeOverFindings(title, load, promotedAt),
        visible,
        await pair!.measureNotified(title),
      );
    };
    /** The old primary comes back as the standby of the new one, under load. */
    const rejoin = async (title: string, old: Service, primary: Service): Promise<Service> => {
      const load = await beginLoad();
      await old.stop();
      const joined = await start({ port: Number(new URL(old.url).port), standbyOf: primary.url });
      await replicateSynchronously(primary);
      await load.stop();
      findings.push({
        ...none(`${title}: requests that failed while it rejoined as a standby`, refusedCount(load)),
        dependsOnSpeed: true,
      });
      return joined;
    };

    try {
      const one = await start({});
      const two = await start({ standbyOf: one.url });
      await replicateSynchronously(one);
      const [first, second] = [one, two].map(({ url }) => new URL(url).host);
      pair = await startPair(
        `postgres://deskbell@${first},${second}/postgres?target_session_attrs=read-write`,
        full ? 20 : 100,
      );

      const killed = await beginLoad();
      await one.halt('SIGKILL');
      await sleep(full ? 5000 : 500);
      await takeOver('killed', killed, two);

      const oneAgain = await rejoin('killed', one, two);
      const demoted = await beginLoad();
      await setSetting(two.url, 'default_transaction_read_only', 'on');
      await sleep(full ? 5000 : 500);
      await takeOver('demoted', demoted, oneAgain);
      findings.push(none('demoted: connections that stayed open to it', await connectionsLeft(two.url)));

      if (full) {
        const twoAgain = await rejoin('demoted', two, oneAgain);
        const alone = await beginLoad();
        unfreeze = await freeze(twoAgain);
        const frozenAt = performance.now();
        await sleep(10_000);
        await oneAgain.halt('SIGKILL');
        const written = writesDone(alone, frozenAt, performance.now()).length;
        findings.push(none('writes acknowledged while the standby was frozen', written));
        unfreeze();
        await takeOver('killed afterwards', alone, twoAgain);
      }
      return [...findings, ...(await pair.findings(loads))];
    } finally {
      unfreeze();
      await Promise.all(loads.map((load) => load.stop()));
      await pair?.stop();
      await Promise.all(running.map((postgres) => postgres.stop()));
    }
  },
};

function takeOverFindings(title: string, load: Load, since: number): Finding[] {
  const [write] = writesDone(load, since);
  return [
    ...interruptionFindings(title, load, { since, what: 'the promotion', maxS: RECOVERY_MAX_S }),
    {
      what: `${title}: from the promotion to the first acknowledged write`,
      value: write === undefined ? Number.NaN : (write.startedAt + write.ms - since) / 1000,
      unit: 's',
      atMost: RECOVERY_MAX_S,
    },
  ];
}

/** Waits until the standby streams, because before that no write would be acknowledged. */
async function replicateSynchronously({ url }: Service): Promise<void> {
  await waitForStandby(url, `state = 'streaming'`);
  await setSetting(url, 'synchronous_standby_names', '*');
  await waitForStandby(url, `sync_state = 'sync'`);
}

async function waitForStandby(url: string, condition: string): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; Date.now() < giveUpAt; await sleep(50)) {
    const rows = await runAsAdmin(
      url,
      `select from pg_stat_replication where application_name = 'walreceiver' and ${condition}`,
    );
    if (rows.length > 0) return;
  }
  throw new Error(`no standby has ${condition}`);
}

/** Counts the servers' connections after giving them time to close. */
async function connectionsLeft(url: string): Promise<number> {
  for (const giveUpAt = Date.now() + DISCONNECT_MAX_MS; ; await sleep(100)) {
    const rows = await runAsAdmin<{ application_name: string }>(
      url,
      `select application_name from pg_stat_activity where application_name in ('deskbell', 'deskbell signals')`,
    );
    if (rows.length === 0 || Date.now() > giveUpAt) return rows.length;
  }
}
