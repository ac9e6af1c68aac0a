import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../src/config.ts';
import type { Database } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { isGenuine, type ReceivedCall, startReceiver } from '../../support/receiver.ts';
import { AURORA, call, NOTIFICATIONS, QUESTION } from '../../support/server.ts';
import { shortenWaits, type WaitLimits } from './disturbances.ts';
import { type Fault, none } from './fault.ts';
import { type KillableProcess, startKillableServer, startKillableWorker } from './servers.ts';

interface Options {
  kills: number;
  clients: number;
  waits: WaitLimits;
}

const SIZES: Record<'short' | 'full', Options> = {
  short: { kills: 2, clients: 4, waits: { retryMs: 200, settleMs: 2000, leaseMs: 2000 } },
  // The lease stays longer than any attempt.
  full: { kills: 20, clients: 8, waits: { retryMs: 500, settleMs: 4000, leaseMs: 13_000 } },
};
const PAUSE_MS = 60;
const KILL_AFTER_MS = [300, 1000] as const;
/** What has not arrived by then counts as lost. */
const GIVE_UP_MS = 90_000;

export const webhooks: Fault = {
  name: 'webhooks',
  title: 'workers are killed while events flow to a webhook endpoint that has errors',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const options = SIZES[size];
    const testDatabase = await createDemoDatabase(engine);
    const env = {
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      ...testDatabase.env,
    };
    const receiver = await startReceiver();
    const accepted: ReceivedCall[] = [];
    receiver.answer = (response, received) => {
      const random = Math.random();
      // The connection ends after the call was accepted: it must come again, with the same bytes.
      if (random < 0.1) return response.destroy();
      if (random < 0.25) return response.writeHead(500).end();
      accepted.push(received);
      response.writeHead(204).end();
    };
    const processes: KillableProcess[] = [];
    const running: { stop(): Promise<void> }[] = [];
    let database: Database | undefined;
    try {
      const server = await startKillableServer(env);
      processes.push(server);
      if (engine === 'postgres') processes.push(await startKillableWorker(env));
      database = await openDatabase(readConfig(testDatabase.env), 'command');
      running.push(shortenWaits(database, options.waits));
      const { url } = server;
      const token: string = (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json
        .access_token;
      const { secret } = (await call(url, 'POST', '/api/v1/webhooks', { token, body: { url: receiver.url } }))
        .json;
      const before = await lastPosition(database);
      const clients = startClients(url, token, options.clients);
      running.push(clients);
      let kills = 0;
      for (; kills < options.kills; kills += 1) {
        const [from, to] = KILL_AFTER_MS;
        await sleep(from + Math.random() * (to - from));
        await processes[kills % processes.length]!.killAndRestart();
      }
      await clients.stop();
      const idOf = ({ headers }: ReceivedCall) => String(headers['webhook-id']);
      const missing = () => missingOf(database!, before, new Set(accepted.map(idOf)));
      let lost = await missing();
      for (const giveUpAt = Date.now() + GIVE_UP_MS; lost > 0 && Date.now() < giveUpAt; await sleep(200)) {
        lost = await missing();
      }
      const byId = Map.groupBy(receiver.received, idOf);
      const differing = [...byId.values()].filter((calls) => new Set(calls.map(({ body }) => body)).size > 1);
      return [
        { what: 'kills', value: kills, atLeast: options.kills },
        { what: 'acknowledged answers', value: clients.answered(), atLeast: 1 },
        { what: 'events', value: (await lastPosition(database)) - before, atLeast: clients.answered() },
        { what: 'calls', value: receiver.received.length },
        { what: '… that were repeated', value: receiver.received.length - byId.size, atLeast: 1 },
        none('events lost', lost),
        none('events with different bytes', differing.length),
        none(
          'calls with a wrong signature',
          receiver.received.filter((one) => !isGenuine(one, secret)).length,
        ),
      ];
    } finally {
      await Promise.all(running.map((part) => part.stop()));
      await Promise.all(processes.map((process) => process.stop()));
      await receiver.close();
      await database?.close();
      await testDatabase.remove();
    }
  },
};

/** Raise and answer notifications. What fails because of a kill is not repeated. */
function startClients(url: string, token: string, count: number) {
  let answered = 0;
  let stopped = false;
  const client = async () => {
    while (!stopped) {
      try {
        const raised = await call(url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
        const address = `${raised.headers.get('location')}/answer`;
        const { status } = await call(url, 'POST', address, { token, body: { answer: 'Yes.' } });
        if (status === 200) answered += 1;
      } catch {
        // The server is down.
      }
      await sleep(PAUSE_MS);
    }
  };
  const running = Array.from({ length: count }, client);
  return {
    answered: () => answered,
    async stop() {
      stopped = true;
      await Promise.all(running);
    },
  };
}

async function lastPosition(database: Database): Promise<number> {
  const row = await database.one<{ last_position: number }>(
    'select last_position from event_logs where merchant_id = 1',
  );
  return row?.last_position ?? 0;
}

/** Events of the log, numbered or not, that the receiver has not accepted. */
async function missingOf(database: Database, after: number, accepted: ReadonlySet<string>): Promise<number> {
  const events = await database.all<{ position: number | null }>(
    `select position from events where merchant_id = 1 and position > $1
      union all select null from new_events where merchant_id = 1`,
    [after],
  );
  return events.filter(({ position }) => position === null || !accepted.has(`evt_1_${position}`)).length;
}
