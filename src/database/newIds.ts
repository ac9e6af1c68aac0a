import { batchPerTick } from './batchPerTick.ts';
import type { Chain, ChainWithIds, NewIds } from './chain.ts';
import type { Query } from './postgresStatements.ts';
import { identityOf } from './spread/identity.ts';

type Wanted = Readonly<Record<string, number>>;
export type DrawIds = (wanted: Wanted) => Promise<NewIds>;

/**
 * Draws numbers from PostgreSQL's sequences, in a statement without a table: beside a table that is spread over a cluster,
 * a node would draw them.
 */
export const drawIds = async (query: Query, wanted: readonly Wanted[]): Promise<NewIds[]> => {
  const all = wanted.flatMap((each) => Object.entries(each));
  const rows = await query<{ id: number }>(
    `select nextval(pg_get_serial_sequence(w.name, w.identity)) as id
      from json_to_recordset(cast($1 as json)) as w (name text, identity text, count integer), generate_series(1, w.count)`,
    [JSON.stringify(all.map(([name, count]) => ({ name, identity: identityOf(name), count })))],
  );
  const ids = rows.map(({ id }) => id);
  return wanted.map((each) =>
    Object.fromEntries(Object.entries(each).map(([name, count]) => [name, ids.splice(0, count)])),
  );
};

/** One statement for all that want some in the same turn of the event loop. */
export const createDrawIds = (query: Query): DrawIds =>
  batchPerTick((wanted: readonly Wanted[]) => drawIds(query, wanted));

/** The chain, with new ids where it needs some. */
export async function withIds(chain: Chain | ChainWithIds, draw: DrawIds): Promise<Chain> {
  if (!('build' in chain)) return chain;
  return chain.build(Object.keys(chain.newIds).length > 0 ? await draw(chain.newIds) : {});
}
