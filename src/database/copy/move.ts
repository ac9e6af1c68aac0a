import { type Database, DatabaseProblem } from '../database.ts';
import { migrate } from '../migrate.ts';
import { beginCopy, copyRows, endCopy, type OnProgress, type Sums } from './copy.ts';
import { isEmpty, openFrozen, openLocked, type Place, schemaVersion } from './place.ts';
import { incomplete, withDatabase } from './restore.ts';

interface MoveOptions {
  now: () => Date;
  onProgress: OnProgress;
  /** What is written to the target at the end. */
  record: (database: Database) => Promise<void>;
}

/**
 * Copies everything into an empty database of either engine, while nobody writes to the source. The source is not changed.
 * An interrupted move goes on when it is run again.
 */
export async function move(from: Place, to: Place, { now, onProgress, record }: MoveOptions): Promise<Sums> {
  const source = await openFrozen(from);
  try {
    const version = await schemaVersion(source);
    if (version === undefined)
      throw new DatabaseProblem('The database has no tables: there is nothing to move.');
    const target = await openLocked(to);
    try {
      if (!(await incomplete(target)) && !(await isEmpty(target)))
        throw new DatabaseProblem('The target is not empty. Move into an empty database.');
      await beginCopy(target, `move from ${from.databaseUrl === undefined ? from.dataDir : 'PostgreSQL'}`);
      await withDatabase(target, (database) => migrate(database, now, undefined, version));
      if ((await schemaVersion(target)) !== version)
        throw new DatabaseProblem('The target has tables of another version. Use a database without tables.');
      const sums = await copyRows(source, target, onProgress);
      await withDatabase(target, async (database) => {
        await migrate(database, now);
        await record(database);
      });
      await endCopy(target);
      return sums;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
