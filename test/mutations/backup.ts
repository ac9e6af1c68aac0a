import { caughtBy, type Mutation } from './mutation.ts';

/** Backups, restores, moves, and the hold after a restore. */
export const BACKUP_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/backup.test.ts', [
    {
      name: 'a restored queue is sent at once',
      file: 'src/delivery/worker/turns.ts',
      find: `if (await isHeld()) return 'held';`,
      replace: '',
      test: 'sends nothing after a restore until the release, and says so',
    },
    {
      name: 'the checksums of a backup are not compared',
      file: 'src/database/copy/backupFile.ts',
      find: 'if (info) compare(info.tables, await sumsOf(store, onProgress));',
      replace: '',
      test: 'is refused if it is damaged, cut off, no backup, or from a newer version',
    },
    {
      name: 'sessions survive a restore',
      file: 'src/cli/backup/restore.ts',
      find: 'await endAllSessions(database, at);',
      replace: '',
      test: 'has every write that was acknowledged before it began, while writes go on, and restores into both engines',
    },
  ]),
  ...caughtBy('test/move.test.ts', [
    {
      name: 'an interrupted move does not read the source again',
      file: 'src/database/copy/copy.ts',
      find: 'if (isResumed) await requireSame(source, target, found, onProgress);\n  else compare',
      replace: 'compare',
      test: 'begins again if the source was used after an interruption',
    },
  ]),
];
