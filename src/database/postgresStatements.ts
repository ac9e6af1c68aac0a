import type pg from 'pg';
import { Batch } from './batch.ts';
import { DatabaseUnavailable, type Param, type Queries } from './database.ts';
import { DeadlinePassed, msLeft } from './deadline.ts';
import { CommitFailed, isCommitFailure, isQueryTimeout, translatePostgresError } from './postgresErrors.ts';
import { identityOf } from './spread/identity.ts';

/** The most for one statement. In a request, what is left of its time bounds it: see `deadline.ts`. */
export const QUERY_TIMEOUT_MS = 3000;
/** A commit has at least this. In a request, the statements before it leave this much of its time. */
export const COMMIT_MIN_MS = 500;

/**
 * Statements with more parameters insert many rows, and each number of rows is a text of its own: PostgreSQL would keep a
 * plan of up to 1 MB for each, on every connection.
 */
const PREPARED_PARAMS_MAX = 64;

export type Query = <Row>(sql: string, params?: readonly Param[]) => Promise<Row[]>;

/**
 * All kinds of queries, by one function. Numbers are drawn in a statement without a table: beside a table that is spread
 * over a cluster, a node would draw them.
 */
export const queriesWith = (query: Query, isSpread: boolean): Queries => ({
  engine: 'postgres',
  isSpread,
  all: query,
  one: async <Row>(sql: string, params?: readonly Param[]) => (await query<Row>(sql, params))[0],
  run: query,
  write: async (sql, params) => void (await query(sql, params)),
  async newIds(table, count) {
    const draw = `nextval('${table}_${identityOf(table)}_seq')`;
    if (count === 1) return (await query<{ id: number }>(`select ${draw} as id`)).map(({ id }) => id);
    // As one text, because each row of a result takes 2 µs.
    const [row] = await query<{ drawn: string }>(
      `select string_agg(${draw}::text, ' ') as drawn from generate_series(1, cast($1 as integer))`,
      [count],
    );
    return row!.drawn.split(' ').map(Number);
  },
});

interface StatementParts {
  preparedStatements: boolean;
  types: pg.CustomTypesConfig;
  /** The host does not do what it should: another one may have become the primary. */
  onUnavailable: () => void;
}

export interface Statement {
  sql: string;
  params?: readonly Param[] | undefined;
  /** Whether somebody reads the rows that it returns. */
  returns?: boolean;
}

type Client = Pick<pg.ClientBase, 'query'>;

/** Sends statements, each within its time, and translates what can go wrong. */
export function createStatements({ preparedStatements, types, onUnavailable }: StatementParts) {
  /** `timeoutMs`: how long the request could wait for this. A short one says nothing about the host. */
  const failure = (error: unknown, timeoutMs = Number.POSITIVE_INFINITY): unknown => {
    if (error instanceof DeadlinePassed) return error;
    const translated = translatePostgresError(error);
    // Waiting for somebody else's lock does not mean that the host has a problem.
    const isLock = (error as { code?: string }).code === '55P03';
    const isShort = timeoutMs < QUERY_TIMEOUT_MS && isQueryTimeout(error);
    if (translated instanceof DatabaseUnavailable && !isLock && !isShort) onUnavailable();
    return translated;
  };

  const names = new Map<string, string>();
  const nameOf = (sql: string): string => {
    let name = names.get(sql);
    if (!name) {
      name = `deskbell_${names.size}`;
      names.set(sql, name);
    }
    return name;
  };
  const configOf = ({ sql, params = [] }: Statement) => ({
    text: sql,
    values: [...params],
    name: preparedStatements && params.length <= PREPARED_PARAMS_MAX ? nameOf(sql) : undefined,
  });

  /** `keptMs` of the request's time are left for a commit. */
  const queryOn = async <Row>(client: Client, statement: Statement, keptMs = 0): Promise<Row[]> => {
    const leftMs = msLeft() - keptMs;
    if (leftMs <= 0) throw new DeadlinePassed();
    try {
      const query_timeout = Math.min(leftMs, QUERY_TIMEOUT_MS);
      const result = await client.query({ ...configOf(statement), query_timeout } as pg.QueryConfig);
      return result.rows as Row[];
    } catch (error) {
      throw failure(error, leftMs);
    }
  };

  /** Sends statements in one round trip, and returns what they return. If one fails, so does this. */
  const sendAll = async (
    client: Client,
    statements: readonly Statement[],
    timeoutMs: number,
  ): Promise<readonly pg.QueryResult[]> => {
    const batch = new Batch(
      statements.map((statement) => ({ ...configOf(statement), returns: statement.returns ?? false })),
      types,
    );
    try {
      return await new Promise((resolve, reject) => {
        batch.callback = (error, results) => (error ? reject(error) : resolve(results!));
        client.query(Object.assign(batch, { query_timeout: Math.min(timeoutMs, QUERY_TIMEOUT_MS) }));
      });
    } catch (error) {
      const isCommit = statements[batch.done]?.sql === 'commit';
      throw isCommit && isCommitFailure(error) ? new CommitFailed(error) : failure(error, timeoutMs);
    }
  };

  return { failure, queryOn, sendAll };
}
