import { type Chain, type ChainWithIds, drawNext, type NewIds } from './chain.ts';
import type { Query } from './postgresStatements.ts';

type Wanted = Readonly<Record<string, number>>;
export type DrawIds = (wanted: Wanted) => Promise<NewIds>;

/**
 * Draws numbers from PostgreSQL's sequences, in a statement without a table: beside a table that is spread over a cluster,
 * a node would draw them. As one text, because each row of a result takes 2 µs.
 */
export async function drawIds(query: Query, wanted: readonly Wanted[]): Promise<NewIds[]> {
  const counts = new Map<string, number>();
  for (const each of wanted) {
    for (const name in each) counts.set(name, (counts.get(name) ?? 0) + each[name]!);
  }
  const names = [...counts.keys()].sort();
  const drawn = names.map(
    (name, index) => `(select string_agg(${drawNext(name)}::text, ' ')
      from generate_series(1, cast($${index + 1} as integer))) as ${name}`,
  );
  const [row] = await query<Record<string, string>>(
    `select ${drawn}`,
    names.map((name) => counts.get(name)!),
  );
  const left = new Map(names.map((name) => [name, row![name]!.split(' ').map(Number)]));
  return wanted.map((each) =>
    Object.fromEntries(Object.entries(each).map(([name, count]) => [name, left.get(name)!.splice(0, count)])),
  );
}

/** The chain, with the new ids that must be known before. */
export async function withIds(chain: Chain | ChainWithIds, draw: DrawIds): Promise<Chain> {
  if (!('build' in chain)) return chain;
  return chain.build(Object.keys(chain.newIds).length > 0 ? await draw(chain.newIds) : {});
}
