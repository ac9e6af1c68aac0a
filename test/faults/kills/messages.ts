import type { Database } from '../../../src/database/database.ts';
import type { Meta } from '../../stand-ins/meta.ts';

/** What became of every message, counted on both sides. */
export interface Messages {
  /** Attempts of which nobody knew whether they went. */
  unknownByKills: number;
  unknownByChannel: number;
  /** Accepted once more after the channel had given its answer, and its receiver was dead. */
  twiceByKills: number;
  /** Accepted once more after the channel had kept its answer to itself. */
  twiceByChannel: number;
  /** Each of these must be none. */
  wrong: {
    /** To be sent, and never accepted by the channel. */
    lost: number;
    /** Accepted under a key that nobody queued, or under more than one. */
    underOtherKeys: number;
    /** More often accepted than its own unknown outcomes explain. */
    unexplained: number;
    /** Accepted before an earlier one to the same customer. */
    overtaken: number;
    /** Accepted by the channel, and not known to be. */
    unsettled: number;
  };
}

interface Row {
  id: number;
  key: string;
  content: string;
  recipient: string;
  state: string;
  /** Besides the states that follow, a timeline says 'sending' once for each outcome that stayed unknown. */
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
  const counted = (which: string) =>
    `(select count(*) from delivery_events e where e.delivery_id = d.id and e.merchant_id = d.merchant_id and ${which})`;
  const rows = await database.all<Row>(
    `select id, key, content, recipient, state, ${counted(`state = 'sending' and code is null`)} as by_kills,
        ${counted(`state = 'sending' and code is not null`)} as by_channel,
        ${counted(`state = 'failed'`)} as failures
      from deliveries d order by id`,
  );
  const byKey = Map.groupBy(meta.accepted, ({ key }) => key);
  const keysOf = Map.groupBy(meta.accepted, ({ content }) => content);
  const known = new Set(rows.map(({ key }) => key));
  const times = rows.map(({ key, ...row }) => {
    // The last one needs no explanation: it was not repeated.
    const repeated = byKey.get(key)?.slice(0, -1) ?? [];
    const withheld = repeated.filter((message) => message.withheld).length;
    return { ...row, withheld, given: repeated.length - withheld };
  });
  return {
    unknownByKills: sum(rows.map(({ by_kills }) => by_kills)),
    unknownByChannel: sum(rows.map(({ by_channel }) => by_channel)),
    twiceByKills: sum(times.map(({ given }) => given)),
    twiceByChannel: sum(times.map(({ withheld }) => withheld)),
    wrong: {
      lost: contents.filter((content) => !keysOf.has(content)).length,
      underOtherKeys:
        [...byKey.keys()].filter((key) => !known.has(key)).length +
        [...keysOf.values()].filter((list) => new Set(list.map(({ key }) => key)).size > 1).length,
      unexplained: sum(
        // Whoever was killed before it missed the answer has left an unknown outcome all the same.
        times.map(({ given, withheld, by_kills, by_channel }) =>
          Math.max(0, given - by_kills, given + withheld - by_kills - by_channel),
        ),
      ),
      overtaken: overtaken(
        // One that failed let the others pass, before it was tried again.
        rows.filter(({ failures }) => failures === 0),
        meta,
      ),
      unsettled: rows.filter(({ key, state }) => byKey.has(key) && !SETTLED.has(state)).length,
    },
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

function overtaken(rows: readonly Row[], meta: Meta): number {
  const firstAt = new Map<string, number>();
  for (const [n, { key }] of meta.accepted.entries()) if (!firstAt.has(key)) firstAt.set(key, n);
  let count = 0;
  for (const list of Map.groupBy(rows, ({ recipient }) => recipient).values()) {
    const order = list.flatMap(({ key }) => firstAt.get(key) ?? []);
    count += order.filter((at, n) => n > 0 && at < order[n - 1]!).length;
  }
  return count;
}
