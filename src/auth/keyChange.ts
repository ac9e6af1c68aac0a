import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import type { Vault } from '../secrets.ts';
import { isKeyChanged } from './keys.ts';

/**
 * While SECRET_KEY changes, processes are restarted one after the other. One that knows only the previous key could not
 * open what the current one seals. So each process announces its keys, and nobody seals with the current key before
 * every process has known it for a while.
 */
export interface KeyFollower {
  stop(): void;
}

const PROCESSES = 'deskbell processes';
const KNOWS = (keyName: string) => `deskbell processes that know the key ${keyName}`;
const SEALS = (keyName: string) => `deskbell processes that seal with the key ${keyName}`;

const CHECK_EVERY_MS = 5000;
/** In a row: a process whose connection has broken is missing for a moment. */
const CHECKS_MIN = 6;

interface FollowParts {
  database: Database;
  vault: Vault;
  log: Logger;
  checkEveryMs?: number | undefined;
}

export async function followKeyChange(parts: FollowParts): Promise<KeyFollower> {
  const { database, vault, log, checkEveryMs = CHECK_EVERY_MS } = parts;
  const { change, keyName } = vault;
  const begin = async () => {
    change?.sealWithCurrent();
    await database.announce(SEALS(keyName));
  };
  await database.announce(PROCESSES);
  await database.announce(KNOWS(keyName));
  // Another process may have finished before it could see this one. Those that finish later see it, and wait.
  if (change && (await isKeyChanged(database, vault))) change.sealWithCurrent();
  if (change?.sealsWith !== 'previous' || database.engine === 'sqlite') {
    await begin();
    return { stop() {} };
  }
  let inARow = 0;
  let running = false;
  const timer = setInterval(async () => {
    if (running) return;
    running = true;
    try {
      inARow = (await areAll(database, KNOWS(keyName))) ? inARow + 1 : 0;
      if (inARow < CHECKS_MIN) return;
      await begin();
      clearInterval(timer);
      log.info('every process knows SECRET_KEY: it encrypts from now on');
    } catch {
      // The database cannot be reached. That says nothing about the other processes.
    } finally {
      running = false;
    }
  }, checkEveryMs).unref();
  return { stop: () => clearInterval(timer) };
}

/** Whether all servers and workers seal with the current key, so that nothing new needs the previous one. */
export const everybodySeals = (database: Database, { keyName }: Vault): Promise<boolean> =>
  areAll(database, SEALS(keyName));

/** How many servers and workers run on this database. */
export const countProcesses = (database: Database): Promise<number> => database.countAnnounced(PROCESSES);

/** How many servers and workers do not know the current key yet. */
export async function countWithoutKey(database: Database, { keyName }: Vault): Promise<number> {
  const knowing = await database.countAnnounced(KNOWS(keyName));
  return Math.max(0, (await database.countAnnounced(PROCESSES)) - knowing);
}

async function areAll(database: Database, name: string): Promise<boolean> {
  const some = await database.countAnnounced(name);
  // After a restart of PostgreSQL nobody is announced for a moment, not even this process.
  return some > 0 && some >= (await database.countAnnounced(PROCESSES));
}
