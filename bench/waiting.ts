import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Engine } from '../src/database/database.ts';
import { coreWaitMs } from '../test/release/faults/cores.ts';
import { MERCHANTS, merchantOf } from './data.ts';
import { type Instance, openInstance } from './instance.ts';
import type { ServerProcess } from './processes.ts';

/** Assistants that wait for answers: what they cost, and how long an answer takes to reach the one that waits for it. */
export interface WaitingRow {
  engine: Engine;
  title: string;
  waiting: number;
  idleMegabytes: number;
  /** While all wait. */
  megabytes: number;
  answers: number;
  /** From sending the answer to the end of the assistant's call, without the time in which the server waited for a core. */
  p50Ms: number;
  p99Ms: number;
}

const GROWTH_MAX_MEGABYTES = 300;
const WAKE_MAX_MS = 200;
const WAITING = 10_000;
const ANSWERS = 200;
/** The first answer after a start compiles code. */
const WARM_UP = 10;
/** Without their asks, 100 of each merchant. */
const NOTIFICATIONS = 20_000;
const CONNECT_AT_ONCE = 50;
const PAUSE_MS = 20;
/** Of one call. */
export const WAIT_SECONDS = 45;
const GIVE_UP_MS = 10_000;

/** All of them connect from one address, and some rows have only one merchant and user. */
export const WITHOUT_LIMITS = {
  CONNECTIONS_PER_ADDRESS: '0',
  WAITING_REQUESTS_PER_USER: '0',
  WAITING_REQUESTS_PER_MERCHANT: '0',
};

/** How the asks are spread. */
const SPREADS: readonly { title: string; merchantOf(n: number): number }[] = [
  { title: `of ${MERCHANTS} merchants`, merchantOf: (n) => merchantOf(n + 1) },
  { title: 'of one merchant', merchantOf: () => 1 },
];

export async function benchWaiting(postgresUrl: string, engines: readonly Engine[]): Promise<WaitingRow[]> {
  const rows: WaitingRow[] = [];
  for (const engine of engines) {
    const instance = await openInstance(engine, { notifications: NOTIFICATIONS, postgresUrl });
    await instance.server.stop();
    for (const { title, merchantOf: merchantOfAsk } of SPREADS) {
      let asks: Ask[] = [];
      await instance.changeData(async (database) => {
        asks = await insertAsks(database, WAITING, merchantOfAsk);
      });
      const server = await instance.startAnother(WITHOUT_LIMITS);
      await sleep(2000);
      const row = { engine, title, waiting: WAITING, ...(await measure(instance, server, asks)) };
      printWaitingRow(row);
      rows.push(row);
      await server.stop();
    }
    await instance.remove();
  }
  return rows;
}

export const isMet = ({ idleMegabytes, megabytes, p99Ms }: WaitingRow) =>
  megabytes - idleMegabytes <= GROWTH_MAX_MEGABYTES && p99Ms <= WAKE_MAX_MS;

function printWaitingRow(row: WaitingRow): void {
  const { engine, title, waiting, idleMegabytes, megabytes, p50Ms, p99Ms } = row;
  console.log(
    `${waiting} waiting ${title}, ${engine}: ${(megabytes - idleMegabytes).toFixed(0)} MB more than ` +
      `${idleMegabytes.toFixed(0)}, woken after ${p50Ms.toFixed(0)} ms (p50), ${p99Ms.toFixed(0)} ms (p99) ` +
      `${isMet(row) ? '' : 'MISSED'}`,
  );
}

export interface Ask {
  id: number;
  merchant: number;
}

/** With SQL, because 10,000 calls would take longer than the measurement. */
export async function insertAsks(
  database: Database,
  count: number,
  merchantOfAsk: (n: number) => number,
): Promise<Ask[]> {
  const at = new Date().toISOString();
  const asks: Ask[] = [];
  await database.transaction(async (tx) => {
    for (let n = 0; n < count; n += 1) {
      const merchant = merchantOfAsk(n);
      const [row] = await tx.run<{ id: number }>(
        `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
            requested_fields, answered_fields, answer_schema_id)
          select merchant_id, conversation_id, notification_type, $2, $2, context, requested_fields, answered_fields,
              answer_schema_id from notifications
            where merchant_id = $1 and notification_type = 'user_question_request' order by id limit 1
          returning id`,
        [merchant, at],
      );
      await tx.run(
        `insert into asks (merchant_id, id, conversation_id, question_key, deliver, created_at)
          values ($1, $2, $1, $3, 'assistant', $4)`,
        [merchant, row!.id, `ask ${row!.id}`, at],
      );
      asks.push({ id: row!.id, merchant });
    }
  });
  return asks;
}

async function measure(instance: Instance, server: ServerProcess, asks: readonly Ask[]) {
  const { tokens } = instance;
  const idleMegabytes = server.residentMegabytes();
  const waiters = await connectAll(server, asks, tokens);
  try {
    const megabytes = server.residentMegabytes();
    const times: number[] = [];
    for (let n = 0; n < WARM_UP + ANSWERS; n += 1) {
      // From all over the list.
      const index = Math.floor((n * WAITING) / (WARM_UP + ANSWERS));
      const { id, merchant } = asks[index]!;
      const startedAt = performance.now();
      const waitedBefore = coreWaitMs(server.pid);
      const woken = waiters[index]!.answered;
      const reply = await fetch(`${server.url}/api/v1/notification/${id}/answer`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokens[merchant - 1]}`, 'content-type': 'application/json' },
        body: JSON.stringify({ answer: 'Yes, choose it at checkout.' }),
      });
      if (reply.status !== 200) throw new Error(`an answer failed: ${await reply.text()}`);
      const giveUp = sleep(GIVE_UP_MS).then(() => Number.POSITIVE_INFINITY);
      const endedAt = await Promise.race([woken, giveUp]);
      times.push(endedAt - startedAt - (coreWaitMs(server.pid) - waitedBefore));
      await sleep(PAUSE_MS);
    }
    times.splice(0, WARM_UP);
    times.sort((a, b) => a - b);
    const [p50Ms, p99Ms] = [0.5, 0.99].map((share) => times[Math.ceil(times.length * share) - 1]!);
    return { idleMegabytes, megabytes, answers: ANSWERS, p50Ms: p50Ms!, p99Ms: p99Ms! };
  } finally {
    for (const { socket } of waiters) socket.destroy();
  }
}

interface Waiter {
  socket: Socket;
  /** When the answer arrived, as a time of `performance.now()`. */
  answered: Promise<number>;
}

export async function connectAll(
  server: ServerProcess,
  asks: readonly Ask[],
  tokens: readonly string[],
): Promise<Waiter[]> {
  const waiters: Waiter[] = [];
  for (let first = 0; first < asks.length; first += CONNECT_AT_ONCE) {
    const some = asks.slice(first, first + CONNECT_AT_ONCE);
    waiters.push(
      ...(await Promise.all(some.map(({ id, merchant }) => wait(server, id, tokens[merchant - 1]!)))),
    );
  }
  // Until the server has read the last requests.
  await sleep(2000);
  return waiters;
}

/** Waits again whenever the call ends without an answer, as an assistant does. Resolves when it is sent. */
function wait({ port }: ServerProcess, id: number, token: string): Promise<Waiter> {
  const head = `GET /api/v1/ask/${id}?wait=${WAIT_SECONDS} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const answered = new Promise<number>((woken, failed) => {
      socket.on('data', (text) => {
        if (text.includes('"status":"answered"')) woken(performance.now());
        else if (text.includes('"status":"waiting"')) socket.write(head);
        else failed(new Error(`a waiting request failed: ${text}`));
      });
    });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.write(head);
      resolve({ socket, answered });
    });
  });
}
