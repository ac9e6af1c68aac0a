import { Agent, get } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Engine } from '../src/database/database.ts';
import { type Cpu, cpuTimer } from './cpu.ts';
import { type Instance, openInstance } from './instance.ts';
import type { ServerProcess } from './processes.ts';
import { fillMerchants, PER_MERCHANT } from './scaleData.ts';
import { measureWork, printedRows, type WaitingCostRow, type WorkRow } from './scaleWork.ts';

/** What an installation costs as it grows: memory, and CPU time instead of throughput, so others may use the machine. */
export interface ScaleReport {
  perMerchant: typeof PER_MERCHANT;
  merchants: MerchantsRow[];
  streams: StreamsRow[];
  waiting: WaitingCostRow[];
  work: WorkRow[];
}

interface MerchantsRow {
  engine: Engine;
  merchants: number;
  databaseMegabytes: number;
  idleMegabytes: number;
  /** After each merchant has read its list and asked its documents once. */
  usedMegabytes: number;
  idleCpuPerMinute: Cpu;
  cpuOfUse: Cpu;
}

interface StreamsRow {
  engine: Engine;
  streams: number;
  megabytes: number;
  idleCpuPerMinute: Cpu;
  /** Each is a question that is raised, and read by the streams of its merchant. */
  changes: number;
  cpuOfChanges: Cpu;
  /** How many of these streams got their event. */
  received: number;
}

const MERCHANTS = [1000, 5000, 10_000];
const STREAMS = [0, 1000, 5000];
const CHANGES = 100;
/** Longer than a read of changes, so that each change is read on its own. */
const CHANGE_EVERY_MS = 100;
const IDLE_MS = 30_000;
const SETTLE_MS = 3000;
const AT_ONCE = 16;

/** All clients have one address and belong to few merchants. */
const SETTINGS = {
  CONNECTIONS_PER_ADDRESS: '0',
  EVENT_STREAMS_PER_USER: '0',
  EVENT_STREAMS_PER_MERCHANT: '0',
  // Nobody waits for the server to stop.
  DRAIN_SECONDS: '0',
};

export async function benchScale(postgresUrl: string, engines: readonly Engine[]): Promise<ScaleReport> {
  const report: ScaleReport = {
    perMerchant: PER_MERCHANT,
    merchants: [],
    streams: [],
    waiting: [],
    work: [],
  };
  for (const engine of engines) {
    for (const merchants of MERCHANTS) {
      console.log(`Loading ${merchants.toLocaleString('en')} merchants into ${engine} …`);
      const instance = await openInstance(engine, {
        notifications: 0,
        postgresUrl,
        sends: true,
        startTwice: true,
        settings: SETTINGS,
        data: { merchants, fill: (database, hash) => fillMerchants(database, merchants, hash) },
      });
      report.merchants.push(...(await printedRows(measureMerchants(instance, instance.server))));
      if (merchants === MERCHANTS[0]) {
        await instance.server.stop();
        const server = await instance.startAnother();
        report.streams.push(...(await printedRows(measureStreams(instance, server))));
        await server.stop();
      }
      await instance.remove();
    }
    const { work, waiting } = await measureWork(engine, postgresUrl);
    report.work.push(...work);
    report.waiting.push(...waiting);
  }
  return report;
}

async function* measureMerchants(instance: Instance, server: ServerProcess): AsyncGenerator<MerchantsRow> {
  const { engine, tokens } = instance;
  const timer = await cpuTimer(instance, server);
  await sleep(SETTLE_MS);
  const idleMegabytes = server.residentMegabytes();
  const idleCpuPerMinute = await timer.perMinute(IDLE_MS);
  const cpuOfUse = await timer.of(() =>
    inParallel(tokens, async (token) => {
      await call(server, token, '/api/v1/notification/?status=requested');
      await call(server, token, '/api/v1/knowledge/find?q=Do%20you%20ship%20to%20the%20Canary%20Islands');
    }),
  );
  await sleep(SETTLE_MS);
  yield {
    ...{ engine, merchants: tokens.length, databaseMegabytes: await instance.query(megabytesOf) },
    ...{ idleMegabytes, usedMegabytes: server.residentMegabytes(), idleCpuPerMinute, cpuOfUse },
  };
}

async function* measureStreams(instance: Instance, server: ServerProcess): AsyncGenerator<StreamsRow> {
  const { engine, tokens } = instance;
  const timer = await cpuTimer(instance, server);
  // So that the first change compiles no code.
  for (let n = 0; n < 10; n += 1) await raise(server, tokens, n);
  const open = openStreams(server, tokens);
  try {
    for (const streams of STREAMS) {
      await open.upTo(streams);
      await sleep(SETTLE_MS);
      const megabytes = server.residentMegabytes();
      const idleCpuPerMinute = await timer.perMinute(IDLE_MS);
      const before = open.received();
      const cpuOfChanges = await timer.of(async () => {
        for (let n = 0; n < CHANGES; n += 1) {
          await raise(server, tokens, n);
          await sleep(CHANGE_EVERY_MS);
        }
        // On a busy machine the last event takes longer.
        await sleep(SETTLE_MS);
      });
      const received = open.received() - before;
      const row = { engine, streams, megabytes, idleCpuPerMinute, changes: CHANGES, cpuOfChanges, received };
      yield row;
    }
  } finally {
    open.close();
  }
}

/** Opens streams of the merchants in turn, and counts the questions that they report. */
function openStreams({ port }: ServerProcess, tokens: readonly string[]) {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const sockets: Socket[] = [];
  let received = 0;
  const openOne = (token: string) =>
    new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const request = get({ port, host: '127.0.0.1', path: '/api/v1/events', headers, agent }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`a stream got ${response.statusCode}`));
        sockets.push(response.socket);
        response.setEncoding('utf8').on('error', () => {});
        response.on('data', (text: string) => {
          received += text.split('event: notification.requested\n').length - 1;
          resolve();
        });
      });
      request.on('error', reject);
    });
  return {
    received: () => received,
    async upTo(count: number) {
      const missing = Array.from({ length: count - sockets.length }, (_, n) => tokens[n % tokens.length]!);
      await inParallel(missing, openOne);
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function raise(server: ServerProcess, tokens: readonly string[], n: number): Promise<void> {
  await call(server, tokens[n]!, '/api/v1/notification/request', {
    notification_type: 'user_question_request',
    conversation_id: n + 1,
    context: { question: 'Do you ship to the Canary Islands?' },
  });
}

async function call({ url }: ServerProcess, token: string, path: string, body?: object): Promise<void> {
  const reply = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${path} failed: ${text}`);
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = items.values();
  const workThrough = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workThrough));
}

async function megabytesOf(database: Database): Promise<number> {
  const row = await database.one<{ bytes: number }>(
    database.engine === 'postgres'
      ? 'select pg_database_size(current_database()) as bytes'
      : 'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()',
  );
  return Number(row!.bytes) / 1024 / 1024;
}
