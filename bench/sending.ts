import { setTimeout as sleep } from 'node:timers/promises';
import { MANY, reopen } from './data.ts';
import type { Instance } from './instance.ts';
import { load } from './measure.ts';
import { countSent } from './messages.ts';
import type { ServerProcess } from './processes.ts';
import { moveToNewCustomers } from './queue.ts';
import { answersTo } from './rows.ts';
import { type AgainstRow, takeTurns, type Versions, withCpuTime } from './turns.ts';

/** Messages a second of a worker that finds a full queue, of two versions. */
export const SENT = { id: 'send', notifications: 20_000 };

const CHANGED_AT_ONCE = 1000;
const EACH_TURN = 2500;
/** Counted only up to here, so that the end of the queue does not lower the figure. */
const COUNTED = 2400;
const ANSWER_SECONDS_MAX = 120;

export async function compareSending(versions: Versions): Promise<AgainstRow> {
  const answered = new Map<Instance, number>();
  for (const instance of [versions.here, versions.there]) {
    answered.set(instance, 0);
    await instance.changeData(async (database) => {
      await reopen(database);
      // In pieces: a statement may take three seconds.
      for (let first = 1; first <= SENT.notifications; first += CHANGED_AT_ONCE)
        await moveToNewCustomers(database, [first, first + CHANGED_AT_ONCE - 1]);
    });
    // SQLite allows one server at a time, and this one does not send.
    await instance.server.stop();
  }
  return takeTurns(SENT.id, versions, {
    async prepare(instance) {
      const before = answered.get(instance)!;
      answered.set(instance, before + EACH_TURN);
      await withServer(instance, {}, async (server) => {
        const plan = answersTo(before + 1, before + EACH_TURN);
        const { requests, errors } = await load({ ...instance, server }, plan, MANY, ANSWER_SECONDS_MAX);
        if (errors > 0 || requests !== EACH_TURN)
          throw new Error(`${requests} of ${EACH_TURN} answers, ${errors} errors`);
      });
    },
    async measure(instance) {
      const before = await countSent(instance);
      return withServer(instance, { WORKER: 'true' }, (worker) => send(instance, worker, before));
    },
  });
}

async function withServer<T>(
  instance: Instance,
  settings: Record<string, string>,
  work: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  // Nobody waits for the server to stop.
  const server = await instance.startAnother({ DRAIN_SECONDS: '0', ...settings });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Measures a worker that has just started, and waits until everything is sent. */
async function send(instance: Instance, worker: ServerProcess, before: number) {
  const sentUntil = async (count: number): Promise<number> => {
    for (;;) {
      const sent = (await countSent(instance)) - before;
      if (sent >= count) return sent;
      await sleep(50);
    }
  };
  const turn = await withCpuTime(instance, worker, async () => {
    const atStart = await sentUntil(0);
    const startedAt = performance.now();
    const count = (await sentUntil(COUNTED)) - atStart;
    return { perSecond: count / ((performance.now() - startedAt) / 1000), count, errors: 0 };
  });
  await sentUntil(EACH_TURN);
  return turn;
}
