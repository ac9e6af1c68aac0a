import type pg from 'pg';
import { type Chain, type ChainWithIds, chainParams, chainSql } from './chain.ts';
import { runSteps } from './chainSteps.ts';
import { DatabaseUnavailable, type Param, type Queries } from './database.ts';
import { DeadlinePassed, msLeft } from './deadline.ts';
import { lockUntilCommit } from './locks.ts';
import { drawIds, withIds } from './newIds.ts';
import { isQueryTimeout, translatePostgresError } from './postgresErrors.ts';

/** The most for one statement. In a request, what is left of its time bounds it: see `deadline.ts`. */
export const QUERY_TIMEOUT_MS = 3000;

/**
 * Statements with more parameters insert many rows, and each number of rows is a text of its own: PostgreSQL would keep a
 * plan of up to 1 MB for each, on every connection.
 */
const PREPARED_PARAMS_MAX = 64;

export type Query = <Row>(sql: string, params?: readonly Param[]) => Promise<Row[]>;

/** All kinds of queries, by one function. On a cluster, a chain needs that of a transaction. */
export const queriesWith = (query: Query, isSpread: boolean): Queries => {
  const lock = async (name: string) => void (await query(`select ${lockUntilCommit('$1')}`, [name]));
  const count = async (sql: string, params: readonly Param[]) =>
    (await query(`${sql} returning 1 as found`, params)).length;
  const queries: Queries = {
    engine: 'postgres',
    isSpread,
    all: query,
    one: async <Row>(sql: string, params?: readonly Param[]) => (await query<Row>(sql, params))[0],
    run: query,
    async chain<Row>(given: Chain | ChainWithIds) {
      const chain = await withIds(given, async (wanted) => (await drawIds(query, [wanted]))[0]!);
      return isSpread
        ? runSteps<Row>(chain, { ...queries, lock, count })
        : query<Row>(chainSql(chain), chainParams([chain]));
    },
    newIds: async (table, count) => (await drawIds(query, [{ [table]: count }]))[0]![table]!,
  };
  return queries;
};

interface StatementParts {
  preparedStatements: boolean;
  /** The host does not do what it should: another one may have become the primary. */
  onUnavailable: () => void;
}

/** Sends statements, each within its time, and translates what can go wrong. */
export function createStatements({ preparedStatements, onUnavailable }: StatementParts) {
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

  /** `keptMs` of the request's time are left for a commit. */
  const queryOn = async <Row>(
    client: Pick<pg.ClientBase, 'query'>,
    keptMs: number,
    sql: string,
    params: readonly Param[] = [],
  ): Promise<Row[]> => {
    const leftMs = msLeft() - keptMs;
    if (leftMs <= 0) throw new DeadlinePassed();
    try {
      const result = await client.query({
        text: sql,
        values: [...params],
        name: preparedStatements && params.length <= PREPARED_PARAMS_MAX ? nameOf(sql) : undefined,
        query_timeout: Math.min(leftMs, QUERY_TIMEOUT_MS),
      } as pg.QueryConfig);
      return result.rows as Row[];
    } catch (error) {
      throw failure(error, leftMs);
    }
  };

  return { failure, queryOn };
}
