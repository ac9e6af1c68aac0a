import type { Database } from '../../src/database/database.ts';
import type { Meta } from '../stand-ins/meta.ts';

/** What became of every answer, counted on both sides. */
export interface Tally {
  answers: number;
  acknowledged: number;
  states: Record<string, number>;
  kills: number;
  /** Attempts of which nobody knew whether they went: killed holders, cut connections, time-outs. */
  unknownOutcomes: number;
  accepted: number;
  /** Accepted more than once, under the same key. */
  duplicates: number;
  /** Each of these must be none. */
  wrong: {
    /** Acknowledged, and never accepted by the channel. */
    lost: number;
    /** Acknowledged once, and queued never or more than once. */
    notOneDelivery: number;
    /** Accepted under a key that nobody queued. */
    strangers: number;
    /** More often accepted than its own unknown outcomes explain. */
    unexplained: number;
    /** Accepted before an earlier one to the same customer. */
    overtaken: number;
    /** Accepted by the channel, and not known to be. */
    unsettled: number;
  };
}

export const contentOf = (n: number) => `Answer ${n}`;

interface Row {
  id: number;
  key: string;
  content: string;
  recipient: string;
  state: string;
  unknowns: number;
}

export async function tallyOf(found: {
  database: Database;
  meta: Meta;
  acknowledged: ReadonlySet<number>;
  answers: number;
  kills: number;
}): Promise<Tally> {
  const { database, meta, acknowledged, answers, kills } = found;
  // Besides the states that follow, a timeline says 'sending' once for each outcome that stayed unknown.
  const rows = await database.all<Row>(
    `select id, key, content, recipient, state,
        (select count(*) from delivery_events e where e.delivery_id = d.id and e.state = 'sending') as unknowns
      from deliveries d order by id`,
  );
  const byContent = Map.groupBy(rows, ({ content }) => content);
  const tally = meta.tally();
  const times = (key: string) => tally.get(key) ?? 0;
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
  const queued = [...acknowledged].map((n) => byContent.get(contentOf(n)) ?? []);
  const known = new Set(rows.map(({ key }) => key));

  return {
    answers,
    acknowledged: acknowledged.size,
    states: Object.fromEntries(
      [...Map.groupBy(rows, ({ state }) => state)].map(([state, list]) => [state, list.length]),
    ),
    kills,
    unknownOutcomes: sum(rows.map(({ unknowns }) => unknowns)),
    accepted: meta.accepted.length,
    duplicates: sum(rows.map(({ key }) => Math.max(0, times(key) - 1))),
    wrong: {
      lost: queued.filter((list) => list.every(({ key }) => times(key) === 0)).length,
      notOneDelivery: queued.filter((list) => list.length !== 1).length,
      strangers: [...tally.keys()].filter((key) => !known.has(key)).length,
      unexplained: sum(rows.map(({ key, unknowns }) => Math.max(0, times(key) - 1 - unknowns))),
      overtaken: overtaken(rows, meta),
      unsettled: rows.filter(({ key, state }) => times(key) > 0 && !SETTLED.has(state)).length,
    },
  };
}

const SETTLED = new Set(['sent', 'delivered', 'read']);

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
