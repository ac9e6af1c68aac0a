import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Engine } from '../src/database/database.ts';
import { claimOnce } from './claim.ts';
import { MANY, NOTIFICATIONS, reopen } from './data.ts';
import { type Instance, openInstance } from './instance.ts';
import { load, median } from './measure.ts';
import { countSent } from './messages.ts';
import { answersTo } from './rows.ts';

/** The queue of outgoing messages: what a claim costs, and how many messages a second go out. */
export interface QueueRow {
  engine: Engine;
  /** The median time of one claim, with and without blocked messages in the queue. */
  claimMs: { none: number; blocked: number };
  /** `blocked` divided by `none`: the median over pairs of claims. */
  ratio: number;
  messagesPerSecond: number;
}

/** The data has this many customers. The first message to each is not blocked, all later ones are. */
const CUSTOMERS = 9000;
const BLOCKED = 100_000;
/** Notifications whose answers go to customers without any other message. */
const NEW_CUSTOMERS = { claims: [120_001, 122_400], sending: [130_001, 138_000] } as const;
/** As many messages as a worker sends in parallel. */
const CLAIM_MAX = 16;
const CLAIMS = 150;
const WARM_UP_CLAIMS = 20;
const ANSWER_SECONDS_MAX = 600;
/** Counted only up to here, so that the end of the queue does not lower the figure. */
const SENT_COUNTED = 5000;
const CLAIM_RATIO_MAX = 1.2;

export async function benchQueue(postgresUrl: string, engines: readonly Engine[]): Promise<QueueRow[]> {
  const rows: QueueRow[] = [];
  for (const engine of engines) rows.push(await measureEngine(engine, postgresUrl));
  return rows;
}

async function measureEngine(engine: Engine, postgresUrl: string): Promise<QueueRow> {
  const none = await openWithQueue(engine, postgresUrl, CUSTOMERS);
  const blocked = await openWithQueue(engine, postgresUrl, CUSTOMERS + BLOCKED);
  try {
    const claims = await compareClaims(none, blocked);
    await answerAll(none, NEW_CUSTOMERS.sending);
    return { engine, ...claims, messagesPerSecond: await measureSending(none) };
  } finally {
    await none.remove();
    await blocked.remove();
  }
}

/** One message to each customer is being sent, all others wait for it. Then each merchant gets a few due messages. */
async function openWithQueue(engine: Engine, postgresUrl: string, messages: number): Promise<Instance> {
  console.log(`Queueing ${messages.toLocaleString('en')} messages on ${engine} …`);
  const instance = await openInstance(engine, { notifications: NOTIFICATIONS, postgresUrl });
  await instance.changeData(async (database) => {
    await reopen(database);
    for (const range of Object.values(NEW_CUSTOMERS)) await moveToNewCustomers(database, range);
  });
  await answerAll(instance, [1, messages]);
  await instance.query(async (database) => {
    while ((await claimOnce(database, CLAIM_MAX)) !== undefined);
  });
  await answerAll(instance, NEW_CUSTOMERS.claims);
  // Vacuums both, so that they differ only in the blocked messages.
  await instance.changeData(async () => {});
  return instance;
}

/** Each notification gets a customer of its own: otherwise messages wait for each other. */
export async function moveToNewCustomers(
  database: Database,
  [first, last]: readonly [number, number],
): Promise<void> {
  await database.run(
    `update notifications set context = concat(
        case when notification_type = 'user_question_request'
          then '{"question":"Do you ship abroad?"' else '{"support_request_reason":"It is broken."' end,
        ',"lead_phone":"+34620', 100000 + id, '"}')
      where id between $1 and $2`,
    [first, last],
  );
}

async function answerAll(instance: Instance, [first, last]: readonly [number, number]): Promise<void> {
  const count = last - first + 1;
  const { requests, errors } = await load(instance, answersTo(first, last), MANY, ANSWER_SECONDS_MAX);
  if (errors > 0 || requests !== count) throw new Error(`${requests} of ${count} answers, ${errors} errors`);
}

/** The two take turns, so that noise hits both. */
async function compareClaims(
  none: Instance,
  blocked: Instance,
): Promise<Pick<QueueRow, 'claimMs' | 'ratio'>> {
  const pairs: { none: number; blocked: number }[] = [];
  await none.query((noneDatabase) =>
    blocked.query(async (blockedDatabase) => {
      for (let n = 0; n < WARM_UP_CLAIMS + CLAIMS; n += 1) {
        const pair = { none: await timedClaim(noneDatabase), blocked: await timedClaim(blockedDatabase) };
        if (n >= WARM_UP_CLAIMS) pairs.push(pair);
      }
    }),
  );
  return {
    claimMs: {
      none: median(pairs.map((pair) => pair.none)),
      blocked: median(pairs.map((pair) => pair.blocked)),
    },
    ratio: median(pairs.map((pair) => pair.blocked / pair.none)),
  };
}

async function timedClaim(database: Database): Promise<number> {
  const startedAt = performance.now();
  const claimed = await claimOnce(database, CLAIM_MAX);
  if (!claimed) throw new Error('there was nothing to claim');
  return performance.now() - startedAt;
}

/** Starts a worker on the full queue and counts what it sends through the simulator. */
async function measureSending(instance: Instance): Promise<number> {
  // SQLite allows one server at a time.
  if (instance.engine === 'sqlite') await instance.server.stop();
  const worker = await instance.startAnother({ WORKER: 'true' });
  const before = await countSent(instance);
  const startedAt = performance.now();
  let sent = 0;
  while (sent < SENT_COUNTED) {
    await sleep(100);
    sent = (await countSent(instance)) - before;
  }
  const perSecond = sent / ((performance.now() - startedAt) / 1000);
  await worker.stop();
  return perSecond;
}

export function printQueueRow({ engine, claimMs, ratio, messagesPerSecond }: QueueRow): void {
  console.log(
    `${engine}: one claim takes ${claimMs.none.toFixed(2)} ms with none blocked, ${claimMs.blocked.toFixed(2)} ms ` +
      `with ${BLOCKED.toLocaleString('en')} blocked: ${ratio.toFixed(2)} times (at most ${CLAIM_RATIO_MAX}); ` +
      `${messagesPerSecond.toFixed(0)} messages a second through the simulator`,
  );
}
