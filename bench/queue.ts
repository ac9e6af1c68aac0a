import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../src/database/database.ts';
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
  /** `blocked` divided by `none`, the median over pairs of claims. At most 1.2 is the target. */
  ratio: number;
  messagesPerSecond: number;
}

/** The data has this many pairs of merchant and phone number. The first message of each pair is not blocked. */
const CUSTOMERS = 9000;
const BLOCKED = 100_000;
/** As many as a worker claims at once. */
const CLAIM_MAX = 16;
const CLAIMS = 100;
const WARM_UP_CLAIMS = 10;
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
  const open = async (answers: number) => {
    console.log(`Queueing ${answers.toLocaleString('en')} messages on ${engine} …`);
    const instance = await openInstance(engine, { notifications: NOTIFICATIONS, postgresUrl });
    await instance.changeData(reopen);
    const { requests, errors } = await load(instance, answersTo(1, answers), MANY, ANSWER_SECONDS_MAX);
    if (errors > 0 || requests < answers)
      throw new Error(`${requests} of ${answers} answers, ${errors} errors`);
    // Fresh statistics for both, as a database has after a while.
    await instance.changeData(async () => {});
    return instance;
  };
  const none = await open(CUSTOMERS);
  const blocked = await open(CUSTOMERS + BLOCKED);
  try {
    const claims = await compareClaims(none, blocked);
    return { engine, ...claims, messagesPerSecond: await measureSending(none) };
  } finally {
    await none.remove();
    await blocked.remove();
  }
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
        const timed = async (database: typeof noneDatabase) => {
          const startedAt = performance.now();
          const claimed = await claimOnce(database, CLAIM_MAX);
          if (claimed !== CLAIM_MAX) throw new Error(`claimed ${claimed} instead of ${CLAIM_MAX} messages`);
          return performance.now() - startedAt;
        };
        const pair = { none: await timed(noneDatabase), blocked: await timed(blockedDatabase) };
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
    `${engine}: one claim of ${CLAIM_MAX} takes ${claimMs.none.toFixed(2)} ms with none blocked, ` +
      `${claimMs.blocked.toFixed(2)} ms with ${BLOCKED.toLocaleString('en')} blocked: ${ratio.toFixed(2)} times ` +
      `(at most ${CLAIM_RATIO_MAX}); ${messagesPerSecond.toFixed(0)} messages a second through the simulator`,
  );
}
