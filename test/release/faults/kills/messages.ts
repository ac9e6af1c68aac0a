import type { Database } from '../../../../src/database/database.ts';
import type { Meta } from '../../../support/stand-ins/meta.ts';

interface Row {
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

/** What happened to every message, counted in the database and at the channel. */
export async function countMessages(database: Database, meta: Meta, contents: readonly string[]) {
  const countEvents = (condition: string) =>
    `(select count(*) from delivery_events e where e.delivery_id = d.id and e.merchant_id = d.merchant_id and ${condition})`;
  const rows = await database.all<Row>(
    `select key, content, recipient, mode, state, ${countEvents(`state = 'sending' and code is null`)} as by_kills,
        ${countEvents(`state = 'sending' and code is not null`)} as by_channel,
        ${countEvents(`state = 'failed'`)} as failures
      from deliveries d order by id`,
  );
  const byKey = Map.groupBy(meta.accepted, ({ key }) => key);
  const keysOf = Map.groupBy(meta.accepted, ({ content }) => content);
  const known = new Set(rows.map(({ key }) => key));
  const repeats = rows.map(({ key, by_kills, by_channel }) => {
    // The last one was not repeated.
    const repeated = byKey.get(key)?.slice(0, -1) ?? [];
    const withheld = repeated.filter((message) => message.withheld).length;
    return { by_kills, by_channel, withheld, given: repeated.length - withheld };
  });
  return {
    /** Attempts with an unknown outcome. */
    unknownByKills: sum(rows.map(({ by_kills }) => by_kills)),
    unknownByChannel: sum(rows.map(({ by_channel }) => by_channel)),
    /** Accepted again, after the channel had answered a worker that was already dead. */
    twiceByKills: sum(repeats.map(({ given }) => given)),
    /** Accepted again, after the channel had not answered. */
    twiceByChannel: sum(repeats.map(({ withheld }) => withheld)),
    /** Each of these must be 0. */
    wrong: {
      'messages lost': contents.filter((content) => !keysOf.has(content)).length,
      'sent more often than unknown outcomes explain': sum(
        // A worker that was killed before it missed the answer also leaves an unknown outcome.
        repeats.map(({ given, withheld, by_kills, by_channel }) =>
          Math.max(0, given - by_kills, given + withheld - by_kills - by_channel),
        ),
      ),
      'sent with a second or an unknown key':
        [...byKey.keys()].filter((key) => !known.has(key)).length +
        [...keysOf.values()].filter((list) => new Set(list.map(({ key }) => key)).size > 1).length,
      'sent before an earlier message of the same lane': countOvertaken(
        // A failed message lets later ones pass until it is retried.
        rows.filter(({ failures }) => failures === 0),
        meta,
      ),
      'sent but not marked as sent': rows.filter(({ key, state }) => byKey.has(key) && !SETTLED.has(state))
        .length,
    },
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

/** A lane: replies or campaigns, to one customer. */
function countOvertaken(rows: readonly Row[], meta: Meta): number {
  const keys = meta.accepted.map(({ key }) => key);
  let count = 0;
  for (const list of Map.groupBy(rows, ({ recipient, mode }) => `${recipient} ${mode}`).values()) {
    const order = list.map(({ key }) => keys.indexOf(key)).filter((at) => at >= 0);
    count += order.filter((at, n) => n > 0 && at < order[n - 1]!).length;
  }
  return count;
}
