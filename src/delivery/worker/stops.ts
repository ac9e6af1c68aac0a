import { recordEvent, SERVER } from '../../audit/record.ts';
import { type Database, inTransaction, type Queries, type Transaction } from '../../database/database.ts';
import { wakeRestingQueues } from '../queue/release.ts';
import { ENDPOINT } from '../queue/table.ts';

/** Channels that are not used at the moment, shared by all processes. */

export interface ChannelStop {
  channel_id: string;
  /** `refused`: it refuses everything we send. `not_answering`: its circuit breaker is open. */
  kind: 'refused' | 'not_answering';
  code: string;
  stopped_at: string;
  /** Not used before this time. Then one probe decides whether a channel that did not answer is used again. */
  until: string;
  /** How many probes have failed. */
  probes: number;
}

const COLUMNS = 'channel_id, kind, code, stopped_at, until, probes';

/** Includes channels whose breaker waits for a message to probe with. */
export function listStops(queries: Queries, at: Date): Promise<ChannelStop[]> {
  return queries.all<ChannelStop>(
    `select ${COLUMNS} from channel_stops where until > $1 or kind = 'not_answering' order by stopped_at`,
    [at.toISOString()],
  );
}

/** Of one channel, as above. */
export function findStop(queries: Queries, channelId: string, at: Date): Promise<ChannelStop | undefined> {
  return queries.one<ChannelStop>(
    `select ${COLUMNS} from channel_stops where channel_id = $1 and (until > $2 or kind = 'not_answering')`,
    [channelId, at.toISOString()],
  );
}

/** Without the webhook endpoints that do not answer: those are the merchants' own systems. */
export const listChannelStops = async (queries: Queries, at: Date): Promise<ChannelStop[]> =>
  (await listStops(queries, at)).filter(({ channel_id }) => !channel_id.startsWith(`${ENDPOINT}:`));

/** Stops within this time of each other count as one. */
const SAME_STOP_MS = 60 * 60_000;

/**
 * A channel that refuses us and then does not answer stays `refused`, until the time is over or somebody resumes it. Only
 * that is an event: the worker soon retries a channel that does not answer.
 */
export async function stopChannel(
  queries: Database | Transaction,
  stop: ChannelStop,
  at: Date,
): Promise<void> {
  if (stop.kind === 'not_answering') return writeStop(queries, stop, at);
  await inTransaction(queries, async (tx) => {
    await writeStop(tx, stop, at);
    const about = { channel_id: stop.channel_id };
    await recordEvent(tx, { what: 'channel.stopped', merchantId: null, who: SERVER, at, about });
  });
}

async function writeStop(queries: Queries, stop: ChannelStop, at: Date): Promise<void> {
  await queries.run(
    `insert into channel_stops (${COLUMNS}) values ($1, $2, $3, $4, $5, $6)
      on conflict (channel_id) do update set kind = excluded.kind, code = excluded.code, until = excluded.until,
        probes = excluded.probes,
        stopped_at = case when channel_stops.until < $7 then excluded.stopped_at else channel_stops.stopped_at end
        where excluded.kind = 'refused' or channel_stops.kind <> 'refused' or channel_stops.until <= $8
      returning channel_id`,
    [
      stop.channel_id,
      stop.kind,
      stop.code,
      stop.stopped_at,
      stop.until,
      stop.probes,
      new Date(at.getTime() - SAME_STOP_MS).toISOString(),
      at.toISOString(),
    ],
  );
}

const REFUSED_MS = 5 * 60_000;
/** A value of `until`: only `channel resume` ends the stop. */
export const UNTIL_RESUMED = '9999-01-01T00:00:00.000Z';

/** For five minutes, or until somebody resumes it. */
export const refusedStop = (
  channelId: string,
  code: string,
  at: Date,
  untilResumed = false,
): ChannelStop => ({
  channel_id: channelId,
  kind: 'refused',
  code,
  stopped_at: at.toISOString(),
  until: untilResumed ? UNTIL_RESUMED : new Date(at.getTime() + REFUSED_MS).toISOString(),
  probes: 0,
});

/** Only one of all workers may send the probe. The others wait for its result. */
export async function takeProbe(queries: Queries, stop: ChannelStop, until: Date): Promise<boolean> {
  const rows = await queries.run(
    `update channel_stops set until = $3 where channel_id = $1 and until = $2 and kind = 'not_answering'
      returning channel_id`,
    [stop.channel_id, stop.until, until.toISOString()],
  );
  return rows.length > 0;
}

/** Returns until when queues rest because of it, if it was open. */
export async function clearBreaker(queries: Queries, channelId: string): Promise<string[]> {
  const rows = await queries.run<{ until: string }>(
    `delete from channel_stops where channel_id = $1 and kind = 'not_answering' returning until`,
    [channelId],
  );
  return rows.map(({ until }) => until);
}

/** Every stopped channel is used again immediately, also for the messages that waited for it. */
export async function resumeChannels(tx: Queries, at: Date): Promise<ChannelStop[]> {
  const stops = await tx.run<ChannelStop>(`delete from channel_stops returning ${COLUMNS}`);
  if (stops.length > 0) await wakeRestingQueues(tx, at);
  return stops;
}
