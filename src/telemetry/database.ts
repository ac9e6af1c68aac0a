import type { Database, Param, Queries, Transaction } from '../database/database.ts';
import { currentSpan, runWithSpan, type Tracer, traced } from '../tracing.ts';

const SYSTEMS = { sqlite: 'sqlite', postgres: 'postgresql' } as const;
const TEXT_MAX = 4096;

/**
 * A span for each statement of a request or a delivery. Statements of the background, such as a worker that looks for
 * messages, have none. The text has only `$1` parameters; their values are never part of a span.
 */
export function traceDatabase(database: Database, tracer: Tracer): Database {
  const queriesOf = <Q extends Queries | Transaction>(queries: Q): Q => {
    const inSpan = <T>(sql: string, work: () => Promise<T>): Promise<T> => {
      const parent = currentSpan();
      if (!parent?.isRecorded) return work();
      const { operation, table } = describe(sql);
      const attributes = {
        'db.system.name': SYSTEMS[queries.engine],
        'db.query.text': sql.slice(0, TEXT_MAX),
        'db.operation.name': operation,
        'db.collection.name': table,
      };
      const name = table === undefined ? operation : `${operation} ${table}`;
      return traced(tracer, { name, kind: 'client', attributes, parent }, work);
    };
    return {
      ...queries,
      all: <Row>(sql: string, params?: readonly Param[]) => inSpan(sql, () => queries.all<Row>(sql, params)),
      one: <Row>(sql: string, params?: readonly Param[]) => inSpan(sql, () => queries.one<Row>(sql, params)),
      run: <Row>(sql: string, params?: readonly Param[]) => inSpan(sql, () => queries.run<Row>(sql, params)),
      write: (sql: string, params?: readonly Param[]) => inSpan(sql, () => queries.write(sql, params)),
    };
  };

  return {
    ...queriesOf(database),
    transaction(work) {
      const parent = currentSpan();
      // The engine may call it from the work of another request.
      if (!parent?.isRecorded)
        return database.transaction((tx) => runWithSpan(parent, () => work(queriesOf(tx))));
      const attributes = { 'db.system.name': SYSTEMS[database.engine] };
      return traced(tracer, { name: 'transaction', kind: 'client', attributes, parent }, (span) =>
        database.transaction((tx) => runWithSpan(span, () => work(queriesOf(tx)))),
      );
    },
    // The listeners' work is not part of the request that signals.
    signal: (topic) => runWithSpan(undefined, () => database.signal(topic)),
  };
}

const descriptions = new Map<string, { operation: string; table: string | undefined }>();
const DESCRIPTIONS_MAX = 5000;

function describe(sql: string): { operation: string; table: string | undefined } {
  let found = descriptions.get(sql);
  if (!found) {
    const [, verb] = /\b(select|insert|update|delete)\b/i.exec(sql) ?? [];
    const [, table] = /\b(?:from|into|update)\s+([a-z_]+)/i.exec(sql) ?? [];
    found = { operation: (verb ?? sql.trim().split(/\s/)[0] ?? '').toUpperCase(), table };
    if (descriptions.size < DESCRIPTIONS_MAX) descriptions.set(sql, found);
  }
  return found;
}
