import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../src/database/database.ts';
import { holdSending, releaseSending } from '../src/database/sendingHold.ts';
import { type Cpu, cpuTimer, timesCpu } from './cpu.ts';
import { MANY, merchantOf } from './data.ts';
import { type Instance, openInstance } from './instance.ts';
import { load } from './measure.ts';
import { countSent, waitUntilSent } from './messages.ts';
import { answersTo, changedList, LIST, type Plan, raise } from './rows.ts';
import { type Ask, connectAll, insertAsks, WAIT_SECONDS, WITHOUT_LIMITS } from './waiting.ts';

/** What one request or message costs, and assistants that wait. */
export interface WorkRow {
  engine: Engine;
  title: string;
  count: number;
  /** Microseconds for each. */
  cpuMicros: Cpu;
}

export interface WaitingCostRow {
  engine: Engine;
  waiting: number;
  megabytes: number;
  /** They call again when their time is over. */
  cpuPerMinute: Cpu;
}

const WAITING = [0, 1000, 5000];
const NOTIFICATIONS = 20_000;
/** The last half is open. */
const ANSWERED = [10_001, 15_000] as const;
const LOAD_SECONDS = 10;
const ANSWER_SECONDS_MAX = 300;
const SETTLE_MS = 3000;

export async function measureWork(engine: Engine, postgresUrl: string) {
  console.log(`Loading ${NOTIFICATIONS.toLocaleString('en')} notifications into ${engine} …`);
  const instance = await openInstance(engine, {
    notifications: NOTIFICATIONS,
    postgresUrl,
    settings: WITHOUT_LIMITS,
    startTwice: true,
  });
  const work = await printedRows(measureRequests(instance));
  await instance.server.stop();
  work.push(...(await printedRows(measureMessages(instance))));
  const waiting = await printedRows(measureWaiting(instance));
  await instance.remove();
  return { work, waiting };
}

export async function printedRows<Row extends object>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const row of rows) {
    console.log(JSON.stringify(row));
    all.push(row);
  }
  return all;
}

async function* measureRequests(instance: Instance): AsyncGenerator<WorkRow> {
  const plans: readonly { title: string; plan: Plan; seconds: number }[] = [
    { title: 'list that has not changed', plan: LIST, seconds: LOAD_SECONDS },
    { title: 'list that has changed', plan: changedList(LOAD_SECONDS), seconds: LOAD_SECONDS },
    { title: 'raise a notification', plan: raise(), seconds: LOAD_SECONDS },
    { title: 'answer a notification', plan: answersTo(...ANSWERED), seconds: ANSWER_SECONDS_MAX },
  ];
  const timer = await cpuTimer(instance, instance.server);
  for (const { title, plan, seconds } of plans) {
    let count = 0;
    const cpu = await timer.of(async () => {
      const { requests, errors } = await load(instance, plan, MANY, seconds);
      if (errors > 0) throw new Error(`${title}: ${errors} requests failed`);
      count = requests;
    });
    yield { engine: instance.engine, title, count, cpuMicros: timesCpu(cpu, 1e6 / count) };
  }
}

/** Those of the answers. They are held until the server has started, so that its start is not counted. */
async function* measureMessages(instance: Instance): AsyncGenerator<WorkRow> {
  const hold = { reason: 'operator', backup_made_at: null, key_fingerprint: null } as const;
  await instance.query((database) => holdSending(database, { ...hold, held_at: new Date().toISOString() }));
  const server = await instance.startAnother({ WORKER: 'true' });
  await sleep(SETTLE_MS);
  const timer = await cpuTimer(instance, server);
  const cpu = await timer.of(async () => {
    await instance.query(releaseSending);
    await waitUntilSent(server.url);
  });
  const count = await countSent(instance);
  await server.stop();
  const { engine } = instance;
  yield { engine, title: 'send a message, to the simulator', count, cpuMicros: timesCpu(cpu, 1e6 / count) };
}

async function* measureWaiting(instance: Instance): AsyncGenerator<WaitingCostRow> {
  let asks: Ask[] = [];
  await instance.changeData(async (database) => {
    asks = await insertAsks(database, Math.max(...WAITING), (n) => merchantOf(n + 1));
  });
  for (const waiting of WAITING) {
    const server = await instance.startAnother();
    const waiters = await connectAll(server, asks.slice(0, waiting), instance.tokens);
    await sleep(SETTLE_MS);
    const timer = await cpuTimer(instance, server);
    const megabytes = server.residentMegabytes();
    // Each calls again once in this time.
    const cpuPerMinute = await timer.perMinute(WAIT_SECONDS * 1000);
    for (const { socket } of waiters) socket.destroy();
    await server.stop();
    yield { engine: instance.engine, waiting, megabytes, cpuPerMinute };
  }
}
