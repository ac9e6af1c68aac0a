import { countProcesses } from '../auth/keyChange.ts';
import { migrationStatus } from '../database/migrate.ts';
import { distribute } from '../database/spread/distribute.ts';
import { type SpreadCounts, spreadCounts, unspreadText } from '../database/spread/status.ts';
import { command as define, PROGRAM } from './command.ts';
import { withBareDatabase, withDatabase } from './database.ts';
import { count } from './terminal.ts';
import { recordCommand } from './who.ts';

export const command = define({
  about: 'Spread the tables over the nodes of a cluster',
  details: `For a PostgreSQL with the extension Citus: all rows of a merchant are on one node. Stop all servers and workers and make a
backup first. If it is interrupted, run it again: it goes on. Run it again after an upgrade that adds tables.
See docs/scale.md.`,
  options: { 'dry-run': { type: 'boolean', about: 'Only show what it would do' } },
  run: async ({ 'dry-run': dryRun }, { json }) => {
    const done: string[] = [];
    const skipped: string[] = [];
    // On standard error, because standard output is for the result.
    const say = (line: string) => void (json || process.stderr.write(`${line}\n`));
    await withBareDatabase(
      (database) =>
        distribute(database, {
          dryRun,
          countRunning: () => countProcesses(database),
          countPendingMigrations: async () =>
            (await migrationStatus(database)).filter(({ applied_at }) => applied_at === null).length,
          onStep({ what }) {
            done.push(what);
            if (!dryRun) say(what);
          },
          onSkipped({ what, sql }, error) {
            skipped.push(sql);
            say(`${what}: failed (${(error as Error).message}).`);
          },
        }),
      { purpose: 'distribute' },
    );
    if (dryRun) {
      const text = done.length === 0 ? NOTHING_TO_DO : `${done.join('\n')}\nNothing was changed.`;
      return { text, json: { steps: done } };
    }
    // Opened again: only a new connection knows that the tables are spread.
    const counts = (await withDatabase(async (database) => {
      if (done.length > 0) await recordCommand(database, 'database.distributed', null);
      return spreadCounts(database);
    }))!;
    const lines = [
      ...(done.length === 0 ? [NOTHING_TO_DO] : []),
      spreadText(counts),
      ...(skipped.length === 0 ? [] : [leftText(skipped)]),
      ...(done.length === 0
        ? []
        : [`Servers and workers may be started. "${PROGRAM} doctor" checks the rest.`]),
    ];
    return { text: lines.join('\n'), json: { steps: done, skipped, ...counts } };
  },
});

const NOTHING_TO_DO = 'There is nothing to do: every table is where it belongs.';

const leftText = (statements: readonly string[]) =>
  `${count(statements.length, 'table')} still ${statements.length === 1 ? 'has its' : 'have their'} former rows on the coordinator's disk, where nobody sees them. Run in psql:\n${statements.map((sql) => `  ${sql};`).join('\n')}`;

/** "The tables are spread: 45 by merchant, 3 on every node, 16 on the coordinator." */
export const spreadText = ({ by_merchant, everywhere, coordinator, missing }: SpreadCounts): string =>
  `The tables are spread: ${by_merchant} by merchant, ${everywhere} on every node, ${coordinator} on the coordinator.${
    missing.length === 0 ? '' : ` ${unspreadText(missing)}`
  }`;
