import type { Database } from '../../../../src/database/database.ts';
import type { Meta } from '../../../support/stand-ins/meta.ts';

/** What happened to every message, counted in the database and at the channel. */
export interface Messages {
  /** Attempts with an unknown outcome. */
  unknownByKills: number;
  unknownByChannel: number;
  /** Accepted again, after the channel had answered a worker that was already dead. */
  twiceByKills: number;
  /** Accepted again, after the channel had not answered. */
  twiceByChannel: number;
  /** Each of these must be 0. */
  wrong: {
    /** Never accepted by the channel. */
    lost: number;
    /** Accepted with an unknown key, or with more than one key. */
    underOtherKeys: number;
    /** Accepted more often than its unknown outcomes explain. */
    unexplained: number;
    /** Accepted before an earlier message of the same lane, replies or campaigns, to the same customer. */
    overtaken: number;
    /** Accepted by the channel, but not marked as sent. */
    unsettled: number;
  };
}

interface Row {
  id: number;
  key: string;
  content: string;
  recipient: string;
  mode: string;
  state: string;
  /** A timeline has one extra 'sending' for each unknown outcome. */
  by_kills: number;
  by_channel: number;
  failures: number;
}

const SETTLED = new Set(['sent', 'delivered', 'read']);

export async function countMessages(
  database: Database,
  meta: Meta,
  contents: readonly string[],
): Promise<Messages> {
  const countEvents = (condition: string) =>
    `(select count(*) from delivery_events e where e.delivery_id = d.id and e.merchant_id = d.merchant_id and ${condition})`;
  const rows = await database.all<Row>(
    `select id, key, content, recipient, mode, state, ${countEvents(`state = 'sending' and code is null`)} as by_kills,
        ${countEvents(`state = 'sending' and code is not null`)} as by_channel,
        ${countEvents(`state = 'failed'`)} as failures
      from deliveries d order by id`,
  );
  const byKey = Map.groupBy(meta.accepted, ({ key }) => key);
  const keysOf = Map.groupBy(meta.accepted, ({ content }) => content);
  const known = new Set(rows.map(({ key }) => key));
  const repeats = rows.map(({ key, ...row }) => {
    // The last one was not repeated.
    const repeated = byKey.get(key)?.slice(0, -1) ?? [];
    const withheld = repeated.filter((message) => message.withheld).length;
    return { ...row, withheld, given: repeated.length - withheld };
  });
  return {
    unknownByKills: sum(rows.map(({ by_kills }) => by_kills)),
    unknownByChannel: sum(rows.map(({ by_channel }) => by_channel)),
    twiceByKills: sum(repeats.map(({ given }) => given)),
    twiceByChannel: sum(repeats.map(({ withheld }) => withheld)),
    wrong: {
      lost: contents.filter((content) => !keysOf.has(content)).length,
      underOtherKeys:
        [...byKey.keys()].filter((key) => !known.has(key)).length +
        [...keysOf.values()].filter((list) => new Set(list.map(({ key }) => key)).size > 1).length,
      unexplained: sum(
        // A worker that was killed before it missed the answer also leaves an unknown outcome.
        repeats.map(({ given, withheld, by_kills, by_channel }) =>
          Math.max(0, given - by_kills, given + withheld - by_kills - by_channel),
        ),
      ),
      overtaken: countOvertaken(
        // A failed message lets later ones pass until it is retried.
        rows.filter(({ failures }) => failures === 0),
        meta,
      ),
      unsettled: rows.filter(({ key, state }) => byKey.has(key) && !SETTLED.has(state)).length,
    },
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

function countOvertaken(rows: readonly Row[], meta: Meta): number {
  const firstAt = new Map<string, number>();
  for (const [n, { key }] of meta.accepted.entries()) if (!firstAt.has(key)) firstAt.set(key, n);
  let count = 0;
  for (const list of Map.groupBy(rows, ({ recipient, mode }) => `${recipient} ${mode}`).values()) {
    const order = list.flatMap(({ key }) => firstAt.get(key) ?? []);
    count += order.filter((at, n) => n > 0 && at < order[n - 1]!).length;
  }
  return count;
}
