import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Chain, type ChainWithIds, chainKey, chainSql } from '../../../src/database/chain.ts';
import { runSteps } from '../../../src/database/chainSteps.ts';
import type { Database, Dialect, Engine, Queries, Reads } from '../../../src/database/database.ts';
import { openDatabase as open } from '../../../src/database/open.ts';
import { type Caller, caller } from './caller.ts';

export * from '../../../src/database/open.ts';

/** A statement that the program ran, as it is written: with `$1` on both engines. */
export interface Statement extends Caller {
  engine: Engine;
  /** It ran where the tables are spread over a cluster. */
  isSpread: boolean;
  sql: string;
}

/** The database that records each statement once in a process, if the program ran it and not a test. */
export async function openDatabase(...given: Parameters<typeof open>): Promise<Database> {
  const database = await open(...given);
  return {
    ...recording(database),
    urgent: recording(database.urgent),
    transaction: (work) => database.transaction((tx) => work(recording(tx))),
    snapshot: async () => recording(await database.snapshot()),
  };
}

const { TEST_STATEMENTS: folder } = process.env;
const seen = new Set<string>();

function recording<Q extends Reads | Queries>(queries: Q): Q {
  const recorded = { ...queries } as Queries;
  const first = <Call extends (...args: never[]) => unknown>(
    what: (...args: Parameters<Call>) => void,
    call: Call,
  ) =>
    ((...args: Parameters<Call>) => {
      what(...args);
      return call(...args);
    }) as Call;
  recorded.all = first((sql) => record(queries, sql), recorded.all);
  recorded.one = first((sql) => record(queries, sql), recorded.one);
  recorded.run = first((sql) => record(queries, sql), recorded.run);
  recorded.chain = first((chain) => recordChain(queries, chain), recorded.chain);
  return recorded as Q;
}

function record({ engine, isSpread }: Dialect, sql: string, known?: Caller): void {
  const key = `${engine} ${isSpread} ${sql}`;
  if (seen.has(key)) return;
  const found = known ?? caller();
  if (!found) return;
  seen.add(key);
  const statement: Statement = { engine, isSpread, ...found, sql };
  if (folder) appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(statement)}\n`);
}

/** A chain is several statements, and PostgreSQL's are others where the tables are spread: both are recorded. */
function recordChain(dialect: Dialect, given: Chain | ChainWithIds): void {
  const chain = 'build' in given ? given.build(numbersFor(given.newIds)) : given;
  const key = `${dialect.engine} chain ${chainKey(chain)}`;
  if (seen.has(key)) return;
  const found = caller();
  if (!found) return;
  seen.add(key);
  const by = { ...found, isAdapted: true };
  const { engine, isSpread } = dialect;
  if (engine === 'postgres' && !isSpread) record(dialect, chainSql(chain), by);
  const steps = { engine, isSpread: engine === 'postgres' };
  // A condition may end a chain if it finds a row, or if it finds none.
  for (const rows of [[], [{}]]) {
    const see = (sql: string) => record(steps, sql, by);
    void runSteps(chain, {
      ...steps,
      async run<Row>(sql: string) {
        see(sql);
        return rows as Row[];
      },
      async count(sql) {
        see(sql);
        return 1;
      },
      newIds: async (_table, count) => numbers(count),
    }).catch(() => {});
  }
}

const numbersFor = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(counts).map(([table, count]) => [table, numbers(count)]));
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
