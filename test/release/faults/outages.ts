import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type Service, startPostgres } from '../../../scripts/services.ts';
import { freeze } from '../../support/freezing.ts';
import { setSetting } from './admin.ts';
import type { Fault, Finding } from './fault.ts';
import { interruptionFindings, type Load, refusedCount, startLoad, waitForRecovery } from './load.ts';
import { startPair } from './pair.ts';
import { type LoopbackProxy, startProxy } from './proxy.ts';

/** A way in which PostgreSQL is unavailable. `begin` returns a function that ends the outage. */
interface Outage {
  title: string;
  /** An outage without a short version is tested in test/database/databaseAway.test.ts. */
  seconds: { short?: number; full: number };
  begin(postgres: Service, network: LoopbackProxy): Promise<() => unknown>;
}

const READ_ONLY = 'default_transaction_read_only';
const OUTAGES: readonly Outage[] = [
  {
    title: 'shut down',
    seconds: { full: 10 },
    begin: (postgres) => halt(postgres, 'SIGINT'),
  },
  {
    title: 'shut down immediately',
    seconds: { short: 0.5, full: 10 },
    begin: (postgres) => halt(postgres, 'SIGQUIT'),
  },
  { title: 'frozen', seconds: { full: 30 }, begin: freeze },
  {
    title: 'cut off',
    seconds: { short: 4.5, full: 30 },
    async begin(_, network) {
      network.dropTraffic();
      return () => network.passTraffic();
    },
  },
  {
    title: 'read-only',
    seconds: { short: 0.5, full: 10 },
    async begin({ url }) {
      await setSetting(url, READ_ONLY, 'on');
      return () => setSetting(url, READ_ONLY, 'off');
    },
  },
];

const RECOVERY_MAX_S = 5;
/** More clients than database connections, so that some wait for one. */
const CLIENTS = 24;
/** Every tenth request is a sign-in, and the machine computes only a few password hashes at a time. */
const PAUSE_MS = { short: 300, full: 100 };

export const outages: Fault = {
  name: 'outages',
  title: 'PostgreSQL becomes unavailable and returns, under two servers with mixed load',
  engines: ['postgres'],
  async run(_engine, size) {
    const postgres = await startPostgres(findProgram('postgres')!, { durable: size === 'full' });
    const network = await startProxy([Number(new URL(postgres.url).port)]);
    const address = postgres.url.replace(/:\d+\//, `:${network.port}/`);
    const pair = await startPair(address).catch(async (error) => {
      await network.close();
      await postgres.stop();
      throw error;
    });
    let endOutage: (() => unknown) | undefined;
    const loads: Load[] = [];
    try {
      const findings: Finding[] = [];
      for (const { title, seconds, begin } of OUTAGES) {
        const outageSeconds = seconds[size];
        if (outageSeconds === undefined) continue;
        const load = await startLoad({ urls: pair.urls, clients: CLIENTS, pauseMs: PAUSE_MS[size] });
        loads.push(load);
        await sleep(size === 'full' ? 3000 : 500);
        endOutage = await begin(postgres, network);
        await sleep(outageSeconds * 1000);
        await waitForRefusal(load);
        await endOutage();
        endOutage = undefined;
        const backAt = performance.now();
        await waitForRecovery(load, backAt);
        await load.stop();
        findings.push(
          ...interruptionFindings(title, load, { since: backAt, what: 'its return', maxS: RECOVERY_MAX_S }),
          await pair.measureNotified(title),
        );
      }
      return [...findings, ...(await pair.findings(loads))];
    } finally {
      await endOutage?.();
      await Promise.all(loads.map((load) => load.stop()));
      await pair.stop();
      await network.close();
      await postgres.stop();
    }
  },
};

/** Waits until the outage has affected at least one request. */
async function waitForRefusal(load: Load): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; Date.now() < giveUpAt; await sleep(20))
    if (refusedCount(load) > 0) return;
}

async function halt(postgres: Service, signal: NodeJS.Signals): Promise<() => Promise<void>> {
  await postgres.halt(signal);
  return () => postgres.resume();
}
