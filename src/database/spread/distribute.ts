import { type Database, DatabaseProblem } from '../database.ts';
import { areKeysThere, type Changes } from './changes.ts';
import { forgetSql, isUnfinished } from './keys.ts';
import { type Step, stepsOf } from './plan.ts';
import { refuse, refuseRunning } from './refusals.ts';
import { type PlacedTable, readTables } from './status.ts';

/**
 * Spreads the tables over the nodes of Citus. It can be repeated after a failure, and after an upgrade that has added
 * tables. Nobody else may use the database meanwhile: foreign keys are missing.
 */
interface DistributeOptions {
  /** How many servers and workers run. */
  countRunning: () => Promise<number>;
  countPendingMigrations: () => Promise<number>;
  /** Before the first step, if there is one. */
  onPlan?: (plan: Plan) => void;
  /** Before each step. The first has number 1. */
  onStep: (step: Step, number: number, count: number) => void;
  /** An optional step has failed. */
  onSkipped: (step: Step, error: unknown) => void;
  /** Only say what would be done. */
  dryRun: boolean;
}

export interface Plan {
  /** How many are added at the end. */
  foreignKeys: number;
  /** How many are distributed. */
  tables: number;
  /** It goes on after an interruption. */
  isResumed: boolean;
}

/** How many steps there were. */
export async function distribute(database: Database, options: DistributeOptions): Promise<number> {
  const changes = await refuse(database, options);
  if (options.dryRun) {
    const steps = announce(changes, options);
    for (const [index, step] of steps.entries()) options.onStep(step, index + 1, steps.length);
    return steps.length;
  }
  // Under the lock of the migrations: neither can run while the other does.
  return database.exclusively('migrate', async () => run(database, await refuse(database, options), options));
}

function announce(changes: Changes, { onPlan }: DistributeOptions): Step[] {
  const steps = stepsOf(changes);
  const { missing, moving, isUnfinished: isResumed } = changes;
  if (steps.length > 0) onPlan?.({ foreignKeys: missing.length, tables: moving.length, isResumed });
  return steps;
}

async function run(database: Database, changes: Changes, options: DistributeOptions): Promise<number> {
  const steps = announce(changes, options);
  for (const [index, step] of steps.entries()) {
    options.onStep(step, index + 1, steps.length);
    try {
      await database.script(step.sql);
    } catch (error) {
      if (!step.isOptional) throw failed(step, error, await reopen(database, changes));
      options.onSkipped(step, error);
    }
    if (index === 0) await refuseStarted(database, changes, options);
  }
  return steps.length;
}

/**
 * From the first step on no server starts. One that started just before has announced itself by now, so it is seen here,
 * before the first foreign key is dropped.
 */
async function refuseStarted(
  database: Database,
  changes: Changes,
  options: DistributeOptions,
): Promise<void> {
  try {
    await refuseRunning(options);
  } catch (error) {
    await reopen(database, changes);
    throw error;
  }
}

/** Whether others can open the database: after a failure before the first change it is opened again. */
async function reopen(database: Database, before: Changes): Promise<boolean> {
  try {
    if (!(await isUnfinished(database))) return true;
    const placed = placedIn((await readTables(database))!);
    // What an interrupted run had distributed is not known.
    const isUnchanged = placed === (before.isUnfinished ? 0 : placedIn(before.tables));
    if (!isUnchanged || !(await areKeysThere(database))) return false;
    await database.script(forgetSql);
    return true;
  } catch {
    // The database cannot be reached. The first failure is the one to report.
    return false;
  }
}

const placedIn = (tables: readonly PlacedTable[]): number =>
  tables.filter(({ is }) => is === 'by merchant' || is === 'everywhere').length;

const GO_ON =
  'Nothing is lost. Fix it and run the same command again: it goes on from there. Servers do not start before it has finished.';
const BEGIN_AGAIN = 'Nothing was changed. Fix it and run the same command again.';

function failed({ what }: Step, error: unknown, isOpen: boolean): DatabaseProblem {
  const { message, detail, hint } = error as { message: string; detail?: string; hint?: string };
  const said = [message, detail, hint].filter((text) => text !== undefined).map(asSentence);
  return new DatabaseProblem(`It failed at "${what}": ${said.join(' ')} ${isOpen ? BEGIN_AGAIN : GO_ON}`, {
    cause: error,
  });
}

/** PostgreSQL ends details and hints with a full stop, but not messages. */
const asSentence = (text: string): string => text.replace(/\.?\s*$/, '.');
