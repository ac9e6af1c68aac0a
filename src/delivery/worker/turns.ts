import type { Logger } from 'pino';
import { type Database, DatabaseUnavailable } from '../../database/database.ts';
import type { Channel, EndpointChannels } from '../channels/channel.ts';
import type { Channels } from '../channels/merchantChannels.ts';
import { type Claimed, claimOf, type DueQueue, dueQueues, QUEUES_MAX, restQueue } from '../queue/claim.ts';
import { MESSAGES, type Queue, REST_MAX_MS } from '../queue/table.ts';
import type { Breaker } from './breaker.ts';
import type { Slots } from './slots.ts';

/** Which messages are sent next: every queue with something due gets a turn, one after another. */

interface TurnParts {
  database: Database;
  channels: Channels;
  endpoints?: EndpointChannels;
  slots: Slots;
  breaker: Breaker;
  log: Logger;
  now: () => Date;
  begin: (channel: Channel, delivery: Claimed, isProbe: boolean) => void;
  /** Nothing may be sent at the moment. */
  isHeld: () => Promise<boolean>;
}

/** What a round has found: nothing due; more to claim; or what is due has no free slot, or is held. */
type Round = 'nothing' | 'more' | 'capped' | 'held';

/** After this time, another worker takes over a killed worker's messages. Longer than an attempt takes. */
const LEASE_MS = 20_000;
/** The most queues that one round looks at. The next round continues from there. */
const PAGES_MAX = 2;
/** For a queue whose channel cannot be opened. */
const PROBLEM_REST_MS = 30_000;

export function createTurns(parts: TurnParts): () => Promise<Round> {
  const { database, channels, endpoints, slots, breaker, log, now, begin, isHeld } = parts;
  /** Where the next round continues. */
  let position: DueQueue | undefined;

  async function round(): Promise<Round> {
    if (await isHeld()) return 'held';
    if (slots.free() === 0) return 'capped';
    const isWhole = position === undefined;
    const turns: Turn[] = [];
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const queues = await dueQueues(database, now(), position);
      // After the queues: a status that stops a channel makes its queue due in the same transaction.
      if (pages === 0) await breaker.refresh();
      for (const queue of queues) {
        if (slots.free() === 0) return 'capped';
        position = queue;
        turns.push(await safely(queue));
      }
      if (queues.length < QUEUES_MAX) {
        position = undefined;
        break;
      }
    }
    if (turns.includes('more') || position !== undefined || !isWhole) return 'more';
    return turns.includes('capped') ? 'capped' : 'nothing';
  }

  type Turn = 'done' | 'more' | 'capped';

  /** A problem with one queue must not stop the others. */
  async function safely(queue: Queue): Promise<Turn> {
    try {
      return await takeTurn(queue);
    } catch (err) {
      if (err instanceof DatabaseUnavailable) throw err;
      const { merchant_id, endpoint_id } = queue;
      log.error({ err, merchant_id, endpoint_id }, 'cannot send this merchant’s messages; will retry');
      await rest(queue, PROBLEM_REST_MS);
      return 'done';
    }
  }

  const rest = (queue: Queue, ms: number) => {
    const until = new Date(now().getTime() + ms).toISOString();
    return restQueue(database, queue, { until, at: now(), isStill: async () => true });
  };

  const channelOf = ({ merchant_id, endpoint_id }: Queue): Promise<Channel | undefined> | undefined =>
    endpoint_id === MESSAGES ? channels.of(merchant_id) : endpoints?.of(merchant_id, endpoint_id);

  async function takeTurn(queue: Queue): Promise<Turn> {
    const channel = await channelOf(queue);
    if (!channel) {
      // The endpoint is turned off. When it is turned on, its queue is due again.
      await rest(queue, REST_MAX_MS);
      return 'done';
    }
    const { max, campaignsMax } = slots.freeFor(channel);
    if (max === 0) return 'capped';
    const gate = await breaker.gate(channel.id);
    if (typeof gate === 'object') {
      // Its channel may have been replaced, and the old one may still be cached.
      const isStill = async () =>
        queue.endpoint_id !== MESSAGES || (await channels.readAgain(queue.merchant_id)).id === channel.id;
      const stopped = { until: gate.until, at: now(), stoppedChannel: channel.id, isStill };
      await restQueue(database, queue, stopped);
      return 'done';
    }
    const isProbe = gate === 'probe';
    const at = now();
    const { claimed, left } = await claimOf(database, queue, {
      channelId: channel.id,
      reportsStatus: (channelId) => channels.typeOf(channelId)?.reportsStatus ?? false,
      max: isProbe ? 1 : max,
      campaignsMax: isProbe ? 1 : campaignsMax,
      at,
      leaseUntil: new Date(at.getTime() + LEASE_MS),
    });
    if (isProbe && claimed.length === 0) await breaker.returnProbe(channel.id);
    for (const delivery of claimed) begin(channel, delivery, isProbe);
    if (left === 'none') return claimed.length > 0 ? 'more' : 'done';
    return left === 'unseen' ? 'more' : 'capped';
  }

  return async () => {
    try {
      return await round();
    } catch (err) {
      position = undefined;
      throw err;
    }
  };
}
