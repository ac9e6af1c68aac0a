import { PROGRAM } from '../../installation.ts';
import { type Database, DatabaseProblem } from '../database.ts';
import { planDistribution, type Step } from './plan.ts';
import { readTables } from './status.ts';

/**
 * Spreads the tables over the nodes of Citus. It can be repeated after a failure, and after an upgrade that has added
 * tables. Nobody else may use the database meanwhile: foreign keys are missing.
 */
interface DistributeOptions {
  /** How many servers and workers run. */
  countRunning: () => Promise<number>;
  countPendingMigrations: () => Promise<number>;
  /** Before each step. */
  onStep: (step: Step) => void;
  /** An optional step has failed. */
  onSkipped: (step: Step, error: unknown) => void;
  /** Only say what would be done. */
  dryRun: boolean;
}

/** How many steps there were. */
export async function distribute(database: Database, options: DistributeOptions): Promise<number> {
  await refuse(database, options);
  const { dryRun, onStep, onSkipped } = options;
  if (dryRun) {
    const steps = await planDistribution(database);
    for (const step of steps) onStep(step);
    return steps.length;
  }
  // Under the lock of the migrations: neither can run while the other does.
  return database.exclusively('migrate', async () => {
    await refuse(database, options);
    const steps = await planDistribution(database);
    for (const step of steps) {
      onStep(step);
      try {
        await database.script(step.sql);
      } catch (error) {
        if (!step.isOptional) throw failed(step, error);
        onSkipped(step, error);
      }
    }
    return steps.length;
  });
}

function failed({ what }: Step, error: unknown): DatabaseProblem {
  const { message, detail } = error as { message: string; detail?: string };
  return new DatabaseProblem(
    `It failed at "${what}": ${message}${detail ? ` (${detail})` : ''}. Nothing is lost. Fix it and run the same command again: it goes on from there. Servers do not start before it has finished.`,
    { cause: error },
  );
}

async function refuse(
  database: Database,
  { countRunning, countPendingMigrations }: DistributeOptions,
): Promise<void> {
  if (database.engine === 'sqlite')
    throw new DatabaseProblem(
      `The embedded database cannot be spread. Move it to a PostgreSQL with Citus first: "${PROGRAM} move --help".`,
    );
  if (!(await readTables(database)))
    throw new DatabaseProblem(
      'Citus is not installed in this database. As a superuser, run "create extension citus" in it on every node, then on the ' +
        `coordinator "select citus_set_coordinator_host('ADDRESS')" and "select citus_add_node('ADDRESS', 5432)" for each worker. See docs/scale.md.`,
    );
  if (!(await database.one('select 1 from pg_dist_node where groupid = 0')))
    throw new DatabaseProblem(
      `The other nodes do not know the coordinator's address. As a superuser, run "select citus_set_coordinator_host('ADDRESS')". See docs/scale.md.`,
    );
  const pending = await countPendingMigrations();
  if (pending > 0)
    throw new DatabaseProblem(
      `The tables are not up to date: ${pending} ${pending === 1 ? 'migration is' : 'migrations are'} pending. Run "${PROGRAM} db migrate" first.`,
    );
  const running = await countRunning();
  if (running > 0)
    throw new DatabaseProblem(
      `${running} ${running === 1 ? 'server or worker runs' : 'servers and workers run'} on this database. Stop all of them first: foreign keys are missing for a while, and a running server does not notice that its tables are spread.`,
    );
}
