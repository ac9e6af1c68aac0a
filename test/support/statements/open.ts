import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
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
  recorded.write = first((sql) => record(queries, sql), recorded.write);
  return recorded as Q;
}

function record({ engine, isSpread }: Dialect, sql: string): void {
  const key = `${engine} ${isSpread} ${sql}`;
  if (seen.has(key)) return;
  const found = caller();
  if (!found) return;
  seen.add(key);
  const statement: Statement = { engine, isSpread, ...found, sql };
  if (folder) appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(statement)}\n`);
}
