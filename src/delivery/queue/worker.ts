import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CHANGES, type Database, DatabaseUnavailable } from '../../database/database.ts';
import type { Channel, Form, Outgoing, SendResult } from '../channels/channel.ts';
import type { Channels } from '../channels/merchantChannels.ts';
import { type Claimed, claim, DELIVERIES, nextDueAt, settle } from './enqueue.ts';
import { prepare } from './prepare.ts';
import { applyResult } from './settle.ts';

export interface WorkerParts {
  database: Database;
  channels: Channels;
  log: Logger;
  now: () => Date;
  /** Works off what channels have reported, and says how much that was. */
  workOffReports?: () => Promise<number>;
  /** Counts what came of every attempt. */
  onAttempt: (channel: string, outcome: string, code: string) => void;
}

export interface Worker {
  /** There may be something to do. */
  wake(): void;
  /** Resolves when nothing is due and nothing is being sent. */
  idle(): Promise<void>;
  /** Lets what is being sent finish. */
  stop(): Promise<void>;
}

const AT_ONCE = 16;
/** The safety net under the wake-up calls. */
const POLL_MS = 2000;
/** A killed worker's claim is taken over after this; longer than `ATTEMPT_MAX_MS`. */
const LEASE_MS = 20_000;
/** Where something of ours failed before the attempt. */
const RELEASE_MS = 5000;
const WRITE_AGAIN_MS = 500;
/** At the start; where reports keep coming, messages go out beside them after this. */
const REPORTS_FIRST_MS = 5000;

export function startWorker(parts: WorkerParts): Worker {
  const { database, log, now, onAttempt } = parts;
  const inFlight = new Set<Promise<void>>();
  let stopped = false;
  let woken = false;
  let wakeUp: () => void = () => {};
  let onIdle: (() => void)[] = [];
  let nothingDue = false;
  let reporting: Promise<void> | undefined;
  let askedAgain = false;
  const deaf = database.listen(DELIVERIES, wake);
  const running = run();

  async function run(): Promise<void> {
    // What was reported while nobody ran may tell of an attempt that would be made again.
    const startedAt = performance.now();
    while (!stopped && performance.now() - startedAt < REPORTS_FIRST_MS && (await reportsDone()) > 0);
    while (!stopped) {
      woken = false;
      nothingDue = false;
      workOffReports();
      const found = await claimDue();
      const claimed = found ?? [];
      for (const delivery of claimed) begin(delivery);
      nothingDue = found?.length === 0;
      tellIfIdle();
      if (claimed.length === 0 || inFlight.size >= AT_ONCE) {
        await untilWoken(found !== undefined && inFlight.size < AT_ONCE);
      }
    }
  }

  function tellIfIdle(): void {
    if (!nothingDue || inFlight.size > 0 || reporting || woken) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  }

  /** Beside the sending: a busy channel reports several times for each message. */
  function workOffReports(): void {
    if (reporting) {
      askedAgain = true;
      return;
    }
    askedAgain = false;
    reporting = reportsDone().then((count) => {
      reporting = undefined;
      if (count > 0 || askedAgain) wake();
      else tellIfIdle();
    });
  }

  async function reportsDone(): Promise<number> {
    try {
      return (await parts.workOffReports?.()) ?? 0;
    } catch (err) {
      log.warn({ err }, 'reports of channels cannot be read; it is tried again');
      return 0;
    }
  }

  /** Nothing where the database does not let us. */
  async function claimDue(): Promise<Claimed[] | undefined> {
    const max = AT_ONCE - inFlight.size;
    if (max <= 0) return [];
    try {
      const at = now();
      return await claim(database, { max, at, leaseUntil: new Date(at.getTime() + LEASE_MS) });
    } catch (err) {
      log.warn({ err }, 'deliveries cannot be claimed; it is tried again');
      return undefined;
    }
  }

  function begin(delivery: Claimed): void {
    const work = deliver(delivery)
      // Its lease runs out, and it is taken up again.
      .catch((err) => log.error({ err, delivery_id: delivery.id }, 'delivery interrupted'))
      .finally(() => {
        inFlight.delete(work);
        database.signal(CHANGES);
        wake();
      });
    inFlight.add(work);
  }

  function wake(): void {
    woken = true;
    wakeUp();
  }

  /** Until somebody wakes it, the next delivery is due where that matters, or the safety net is reached. */
  async function untilWoken(orDue: boolean): Promise<void> {
    if (woken || stopped) return;
    const due = orDue ? await nextDueAt(database).catch(() => undefined) : undefined;
    const inMs = due === undefined ? POLL_MS : Date.parse(due) - now().getTime();
    if (woken || stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(Math.max(inMs, 5), POLL_MS));
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function deliver(delivery: Claimed): Promise<void> {
    const ready = await prepare(parts, delivery).catch((err) => release(delivery, err));
    if (!ready) return;
    const { channel, message, form } = ready;
    const result = await attempt(channel, message, form);
    onAttempt(channel.type.name, result.outcome, 'code' in result ? result.code : 'none');
    await untilWritten(delivery, () => applyResult(parts, channel, delivery, result));
  }

  /** Nothing was sent. What an earlier holder may have sent is not known by that: such a lease runs out. */
  async function release(delivery: Claimed, err: unknown): Promise<undefined> {
    log.warn({ err, delivery_id: delivery.id }, 'a delivery cannot be prepared; it is tried again');
    if (delivery.taken_over === 1) return;
    const dueAt = new Date(now().getTime() + RELEASE_MS);
    await database.transaction((tx) =>
      settle(tx, delivery, { state: 'queued', dueAt, uncounted: true }, now()),
    );
  }

  /** What was sent must be known to be: while the lease lasts, an absent database is waited for. */
  async function untilWritten(delivery: Claimed, write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await write();
      } catch (err) {
        if (!(err instanceof DatabaseUnavailable) || Date.parse(delivery.due_at) <= now().getTime())
          throw err;
        await sleep(WRITE_AGAIN_MS);
      }
    }
  }

  async function attempt(channel: Channel, message: Outgoing, form: Form): Promise<SendResult> {
    try {
      return await channel.send(message, form);
    } catch (err) {
      log.error({ err, delivery_id: message.deliveryId }, 'the channel failed');
      return { outcome: 'unknown', code: 'CHANNEL_ERROR' };
    }
  }

  return {
    wake,
    idle() {
      return new Promise((resolve) => {
        onIdle.push(resolve);
        wake();
      });
    },
    async stop() {
      stopped = true;
      deaf();
      wakeUp();
      await running;
      await Promise.all([...inFlight, reporting]);
    },
  };
}
