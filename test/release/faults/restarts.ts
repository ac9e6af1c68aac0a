import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/services.ts';
import { readConfig } from '../../../src/config.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { findNginx, startNginx, type TestProxy } from '../../support/deploy/proxies.ts';
import { listen } from '../../support/listening.ts';
import { type Serving, serve } from '../../support/process.ts';
import { AURORA, call } from '../../support/server.ts';
import { type Fault, none } from './fault.ts';
import { countLost, refusedCount, slowestMs, startLoad } from './load.ts';

interface RestartOptions {
  restarts: number;
  clients: number;
  streams: number;
  /** Absent: the default in production. */
  drainSeconds?: number;
  /** With the defaults of nginx, instead of what `deploy/nginx` adds to them. */
  plainUpstream: boolean;
}

const SIZES: Record<'short' | 'full', RestartOptions> = {
  // In `deploy/nginx`, nginx tries a server again after two seconds.
  short: { restarts: 2, clients: 6, streams: 3, drainSeconds: 4, plainUpstream: false },
  full: { restarts: 10, clients: 12, streams: 10, plainUpstream: true },
};

export const restarts: Fault = {
  name: 'restarts',
  title: 'two servers behind nginx are restarted in turn',
  engines: ['postgres'],
  async run(engine, size) {
    const options = SIZES[size];
    const program = findNginx();
    if (!program) throw new Error('nginx was not found. Install it and run again.');
    const testDatabase = await createDemoDatabase(engine);
    const { drainSeconds } = readConfig({ NODE_ENV: 'production' });
    const env = {
      LOG_LEVEL: 'info',
      RATE_LIMIT_PER_MINUTE: '0',
      TRUST_PROXY: '1',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      ...testDatabase.env,
      DRAIN_SECONDS: String(options.drainSeconds ?? drainSeconds),
    };
    const ports = [await freePort(), await freePort()] as const;
    const start = (port: number) => serve({ ...env, PORT: String(port) });
    const servers: Serving[] = [];
    let proxy: TestProxy | undefined;
    const running: { stop(): Promise<void> }[] = [];
    const database = await openDatabase(readConfig(testDatabase.env), 'command');
    try {
      for (const port of ports) servers.push(await start(port));
      proxy = await startNginx(program, { servers: ports, plainUpstream: options.plainUpstream });
      const { url } = proxy;
      const token: string = (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json
        .access_token;
      const load = await startLoad({ urls: [url], clients: options.clients, pauseMs: 40 });
      const streams = startStreams(url, token, options.streams);
      running.push(load, streams);
      let unclean = 0;
      for (let count = 0; count < options.restarts; count += 1) {
        const index = count % servers.length;
        const { code } = await servers[index]!.stop('SIGTERM');
        if (code !== 0) unclean += 1;
        servers[index] = await start(ports[index]!);
      }
      await Promise.all([load.stop(), streams.stop()]);
      for (const line of [...load.wrong, ...streams.failed].slice(0, 5)) console.error(line);
      return [
        { what: 'restarts', value: options.restarts, atLeast: options.restarts },
        none('… that did not end with code 0', unclean),
        { what: 'requests', value: load.requests.length, atLeast: 100 * options.restarts },
        none('… that failed', refusedCount(load)),
        { what: '… the slowest', value: slowestMs(load), unit: 'ms' },
        {
          what: 'event streams that ended and were reopened',
          value: streams.reopened(),
          atLeast: options.restarts,
        },
        none('… that broke or could not be reopened', streams.failed.length),
        { what: 'acknowledged writes', value: load.raised.size + load.answered.size },
        none('… that were lost', await countLost(database, load)),
      ];
    } finally {
      await Promise.all(running.map((part) => part.stop()));
      await proxy?.stop();
      await Promise.all(servers.map((server) => server.stop('SIGKILL')));
      await database.close();
      await testDatabase.remove();
    }
  },
};

/** Each opens its stream again when the server has ended it in an orderly way. Everything else is a failure. */
function startStreams(url: string, token: string, count: number) {
  const failed: string[] = [];
  let reopened = 0;
  let stopped = false;
  const open = new Set<{ stop(): void }>();
  async function follow(): Promise<void> {
    for (let times = 0; !stopped; times += 1) {
      if (times > 0) reopened += 1;
      try {
        const stream = await listen({ url }, token);
        open.add(stream);
        if (stopped) stream.stop();
        await stream.ended;
        open.delete(stream);
        const retryMs = Number(/^retry: (\d+)$/m.exec(stream.text())?.[1] ?? Number.NaN);
        if (!stopped && Number.isNaN(retryMs))
          failed.push(`no hint to reconnect: ${stream.text().slice(-200)}`);
        await sleep(retryMs || 0);
      } catch (error) {
        if (stopped) return;
        failed.push(`stream: ${(error as Error).cause ?? error}`);
        await sleep(100);
      }
    }
  }
  const running = Promise.all(Array.from({ length: count }, follow));
  return {
    failed,
    reopened: () => reopened,
    async stop() {
      stopped = true;
      for (const stream of open) stream.stop();
      await running;
    },
  };
}
