import { caughtBy, type Mutation } from './mutation.ts';

/** Backups, restores, moves, and the hold after a restore. */
export const BACKUP_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/database/backup.test.ts', [
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
  ...caughtBy('test/database/backup.test.ts', [
    {
      name: 'a backup that was killed half-way can be restored',
      file: 'src/database/copy/backupFile.ts',
      find: `throw new Error('it is not complete');`,
      replace: '{}',
      test: 'does not overwrite a file, and leaves none behind when it is killed',
    },
  ]),
  ...caughtBy('test/database/restoreHold.test.ts', [
    {
      name: 'held answers are sent right after a restore',
      file: 'src/notifications/answers/release.ts',
      find: 'if (await isHeld()) return;',
      replace: '',
      test: 'no message, held answer, webhook event, alert or mail goes out before the release, and each is counted',
    },
    {
      name: 'events that are in no queue yet are not counted',
      file: 'src/cli/backup/toSend.ts',
      find: 'webhooks: webhooks + (await countUndispatched(queries)),',
      replace: 'webhooks,',
      test: 'no message, held answer, webhook event, alert or mail goes out before the release, and each is counted',
    },
  ]),
  ...caughtBy('test/database/backupVersions.test.ts', [
    {
      name: 'a backup has the background changes of a newer version',
      file: 'src/database/copy/knownPart.ts',
      find: 'Number(row[place]) <= newestKnown',
      replace: 'Number(row[place]) > 0',
      test: 'has everything that this version knows, if a newer one has added tables, and both can restore it',
    },
  ]),
  ...caughtBy('test/database/doctorDamage.test.ts', [
    {
      name: 'doctor does not compare indexes with their tables',
      file: 'src/cli/backup/checks.ts',
      find: `'pragma integrity_check(1)'`,
      replace: `'pragma quick_check(1)'`,
      test: 'is reported by doctor, whatever is damaged: a table, an index, or only one value in an index',
    },
  ]),
  ...caughtBy('test/database/move.test.ts', [
    {
      name: 'an interrupted move does not read the source again',
      file: 'src/database/copy/copy.ts',
      find: 'else if (isResumed) await requireSame(source, target, found, onProgress);',
      replace: '',
      test: 'begins again if the source was used after an interruption',
    },
  ]),
];
