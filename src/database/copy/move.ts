import { type Database, DatabaseProblem } from '../database.ts';
import { migrate } from '../migrate.ts';
import { holdMoved, SENDING_HOLD } from '../sendingHold.ts';
import {
  beginCopy,
  copyRows,
  endCopy,
  isCopied,
  markIncomplete,
  type OnProgress,
  type Sums,
} from './copy.ts';
import { completeSchema, isEmpty, openFrozen, openLocked, type Place } from './place.ts';
import { createTables, incomplete, withDatabase } from './restore.ts';

interface MoveOptions {
  now: () => Date;
  onProgress: OnProgress;
  /** What is written to the target at the end. */
  record: (database: Database) => Promise<void>;
}

/**
 * Copies everything into an empty database of either engine, while nobody writes to the source. An interrupted move goes on
 * when it is run again. At the end sending is held in the source: somebody may start a server on it by mistake.
 */
export async function move(from: Place, to: Place, { now, onProgress, record }: MoveOptions): Promise<Sums> {
  const source = await openFrozen(from);
  try {
    const version = await completeSchema(source);
    if (version === undefined)
      throw new DatabaseProblem('The database has no tables: there is nothing to move.');
    const target = await openLocked(to);
    try {
      const goesOn = await incomplete(target);
      if (!goesOn && !(await isEmpty(target)))
        throw new DatabaseProblem('The target is not empty. Move into an empty database.');
      await markIncomplete(target);
      try {
        await target.requireUnused();
      } catch (error) {
        if (!goesOn) await endCopy(target);
        throw error;
      }
      await beginCopy(target, `move from ${from.databaseUrl === undefined ? from.dataDir : 'PostgreSQL'}`);
      if (!(await isCopied(target))) await createTables(target, version, now);
      const sums = await copyRows(source, target, onProgress);
      await withDatabase(target, async (database) => {
        await migrate(database, now);
        await record(database);
      });
      await endCopy(target);
      if (SENDING_HOLD in sums) {
        await source.query(holdMoved(now()));
        await source.query('commit');
      }
      return sums;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
