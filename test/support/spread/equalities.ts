import type { Source } from './scopes.ts';

/** A side of `a = b`: a parameter or number as it is written, or the column of a source. */
export type Term = { value: string } | { source: Source; column: string };

export interface Equality {
  sides: readonly [Term, Term];
  /** The sources whose rows it restricts. An outer join restricts only one side. */
  restricts: ReadonlySet<Source> | 'all';
}

const isSame = (a: Term, b: Term): boolean =>
  'value' in a
    ? 'value' in b && a.value === b.value
    : 'source' in b && a.source === b.source && a.column === b.column;

/**
 * The value that a column is equal to in all rows that are read: directly, or through other columns, as PostgreSQL's
 * planner derives it.
 */
export function valueOfColumn(
  equalities: readonly Equality[],
  source: Source,
  column: string,
): string | undefined {
  const reached: Term[] = [{ source, column }];
  for (const term of reached) {
    if ('value' in term) return term.value;
    for (const { sides, restricts } of equalities) {
      for (const [side, other] of [sides, [sides[1], sides[0]] as const]) {
        if (!isSame(side, term) || (restricts !== 'all' && !restricts.has(term.source))) continue;
        if (!reached.some((known) => isSame(known, other))) reached.push(other);
      }
    }
  }
  return undefined;
}

/** The sources whose merchant is the same as this one's, directly or through others. */
export function sourcesWithMerchantOf(equalities: readonly Equality[], source: Source): Set<Source> {
  const reached: Term[] = [{ source, column: 'merchant_id' }];
  for (const term of reached) {
    for (const { sides } of equalities) {
      for (const [side, other] of [sides, [sides[1], sides[0]] as const]) {
        if (isSame(side, term) && !reached.some((known) => isSame(known, other))) reached.push(other);
      }
    }
  }
  return new Set(reached.flatMap((term) => ('source' in term ? [term.source] : [])));
}
