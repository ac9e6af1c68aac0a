import type { ColumnRef, JoinExpr } from 'libpg-query';
import type { Equality } from './equalities.ts';
import type { Table } from './layout.ts';
import { columnOf } from './tree.ts';

/** A table, or anything else that can be in the `from` of a query. */
export interface Source {
  /** What the query calls it. */
  name: string;
  /** Undefined for a select, a function, or the result of a CTE. */
  table?: string;
  /** Undefined also for tables of PostgreSQL's catalog. */
  known?: Table;
  use: 'read' | 'insert' | 'update' | 'delete';
  isLocked: boolean;
  scope: Scope;
}

/**
 * What PostgreSQL plans as one: it carries `a.merchant_id = b.merchant_id and a.merchant_id = $1` over to b within a
 * level, but not into another.
 */
export type Level = Equality[];

/** A query: the names that it can use. An `exists` has names of its own, but is planned together with its query. */
export interface Scope {
  sources: Source[];
  level: Level;
  outer: Scope | undefined;
  /** Refers to the query around it. */
  isCorrelated: boolean;
}

/** Which sources a condition restricts: see `Equality`. */
export type Restricts = Set<Source> | 'all';

export const mayHave = ({ table, known }: Source, column: string): boolean =>
  table === undefined || known?.columns.has(column) === true;

/** An outer join restricts only the side whose rows may be missing. */
export function restrictedBy({ jointype }: JoinExpr, left: Source[], right: Source[]): Restricts {
  if (jointype === 'JOIN_INNER') return 'all';
  if (jointype === 'JOIN_FULL') return new Set();
  return new Set(jointype === 'JOIN_LEFT' ? right : left);
}

/** The source that has this column: in the query, or in one around it. */
export function sourceOf(ref: ColumnRef, scope: Scope): Source | undefined {
  const [first, second] = columnOf(ref) ?? [];
  if (first === undefined) return undefined;
  const left: Scope[] = [];
  for (let at: Scope | undefined = scope; at; at = at.outer) {
    const found =
      second === undefined
        ? (at.sources.find(({ known }) => known?.columns.has(first)) ??
          at.sources.find((source) => source.table === undefined))
        : at.sources.find(({ name }) => name === first);
    if (found) {
      for (const inner of left) inner.isCorrelated = true;
      return found;
    }
    left.push(at);
  }
  return undefined;
}
