import { spreadCounts } from '../../database/spread/status.ts';
import { bad, type Check, good, withTables } from '../checks.ts';
import { spreadText } from '../distribute.ts';

/** Several processes on one PostgreSQL rely on both. */
const engine: Check = async ({ database }) => {
  if (!database || database.engine === 'sqlite') return [];
  const problem = await database.engineProblem();
  return problem
    ? bad(problem, 'See "Other engines" in docs/scale.md.')
    : good('Locks hold and signals arrive.');
};

/** Whether every table is where it belongs, if they are spread over the nodes of a cluster. */
const tables = withTables(async ({ database }) => {
  const counts = await spreadCounts(database);
  if (!counts) return [];
  const text = spreadText(counts);
  return counts.missing.length === 0
    ? good(text)
    : bad(text, 'See "Spread over a cluster" in docs/scale.md.');
});

export const CLUSTER_CHECKS: readonly Check[] = [engine, tables];
