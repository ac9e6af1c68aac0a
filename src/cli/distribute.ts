import { countProcesses } from '../auth/keyChange.ts';
import { readConfig } from '../config.ts';
import type { Database } from '../database/database.ts';
import { migrationStatus } from '../database/migrate.ts';
import { distribute, type Plan } from '../database/spread/distribute.ts';
import { isUnfinished } from '../database/spread/keys.ts';
import { refuseEmbedded } from '../database/spread/refusals.ts';
import { type SpreadCounts, spreadCounts, unspreadText } from '../database/spread/status.ts';
import { command as define, PROGRAM } from './command.ts';
import { withBareDatabase } from './database.ts';
import { count } from './terminal.ts';
import { recordCommand } from './who.ts';

export const command = define({
  about: 'Spread the tables over the nodes of a cluster',
  details: `For a PostgreSQL with the extension Citus: all rows of a merchant are on one node. Stop all servers and workers and make a
backup first. If it is interrupted, run it again: it goes on. Run it again after an upgrade that adds tables.
See docs/scale.md.`,
  options: { 'dry-run': { type: 'boolean', about: 'Only show what it would do' } },
  run: async ({ 'dry-run': dryRun }, { json }) => {
    refuseEmbedded(readConfig().databaseUrl === undefined ? 'sqlite' : 'postgres');
    // On standard error, because standard output is for the result.
    const say = (line: string) => void (json || process.stderr.write(`${line}\n`));
    const { plan, done, skipped } = await distributeAll(dryRun, say);
    const planned = { foreign_keys: plan?.foreignKeys ?? 0, tables: plan?.tables ?? 0 };
    if (dryRun) {
      const text = plan ? `${planText(plan)}\n${done.join('\n')}\nNothing was changed.` : NOTHING_TO_DO;
      return { text, json: { steps: done, ...planned } };
    }
    // Opened again: only a new connection knows that the tables are spread.
    const { counts, pending } = await withBareDatabase(async (database) => {
      const pending = await countPending(database);
      if (plan && pending === 0) await recordCommand(database, 'database.distributed', null);
      return { counts: (await spreadCounts(database))!, pending };
    });
    const lines = [
      ...(plan ? [] : [NOTHING_TO_DO]),
      spreadText(counts),
      ...(skipped.length === 0 ? [] : [leftText(skipped)]),
      ...(pending > 0 ? [pendingText(pending)] : plan ? [READY] : []),
    ];
    return { text: lines.join('\n'), json: { steps: done, skipped, ...planned, ...counts } };
  },
});

interface Done {
  /** Undefined: there was nothing to do. */
  plan?: Plan;
  done: string[];
  /** The statements that failed. */
  skipped: string[];
}

async function distributeAll(dryRun: boolean, say: (line: string) => void): Promise<Done> {
  const result: Done = { done: [], skipped: [] };
  const work = (database: Database) =>
    distribute(database, {
      dryRun,
      countRunning: () => countProcesses(database),
      countPendingMigrations: () => countPending(database),
      onPlan(plan) {
        result.plan = plan;
        if (!dryRun) say(planText(plan));
      },
      onStep({ what }, number, of) {
        result.done.push(what);
        if (!dryRun) say(`${what} (${number} of ${of})`);
      },
      onSkipped({ what, sql }, error) {
        result.skipped.push(sql);
        say(`${what}: failed (${(error as Error).message}).`);
      },
    });
  await withBareDatabase(
    (database) =>
      stoppable(
        database,
        () => (dryRun ? undefined : result.done.at(-1)),
        () => work(database),
      ),
    { purpose: 'distribute' },
  );
  return result;
}

/** On Ctrl-C or SIGTERM it ends at once: the step that runs is a transaction, and may take hours. */
async function stoppable<T>(
  database: Database,
  currentStep: () => string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const stop = async (signal: keyof typeof EXIT_CODES) => {
    const step = currentStep();
    const isClosed = step !== undefined && (await isUnfinished(database).catch(() => true));
    const where = step === undefined ? 'Stopped. Nothing was changed.' : `Stopped at "${step}".`;
    process.stderr.write(
      `${where}${isClosed ? ' Nothing else can open the database until you run it again.' : ''}\n`,
    );
    process.exit(EXIT_CODES[signal]);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work();
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

const countPending = async (database: Database): Promise<number> =>
  (await migrationStatus(database)).filter(({ applied_at }) => applied_at === null).length;

const planText = ({ foreignKeys, tables, isResumed }: Plan): string =>
  `${isResumed ? 'Going on after an interruption. ' : ''}${count(tables, 'table')} to distribute, ${count(foreignKeys, 'foreign key')} to add again.`;

const READY = `Servers and workers may be started. "${PROGRAM} doctor" checks the rest.`;

const pendingText = (pending: number) =>
  `The tables are not up to date: ${count(pending, 'migration')} pending. Run "${PROGRAM} db migrate", and then this command again.`;

const NOTHING_TO_DO = 'There is nothing to do: every table is where it belongs.';

const leftText = (statements: readonly string[]) =>
  `${count(statements.length, 'table')} still ${statements.length === 1 ? 'has its' : 'have their'} former rows on the coordinator's disk, where nobody sees them. Save this list: it is not shown again. Run in psql:\n${statements.map((sql) => `  ${sql};`).join('\n')}`;

/** "The tables are spread: 46 by merchant, 3 on every node, 16 on the coordinator." */
export const spreadText = ({ by_merchant, everywhere, coordinator, missing }: SpreadCounts): string =>
  `The tables are spread: ${by_merchant} by merchant, ${everywhere} on every node, ${coordinator} on the coordinator.${
    missing.length === 0 ? '' : ` ${unspreadText(missing)}`
  }`;
