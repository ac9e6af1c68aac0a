import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { SEALED_SUBSCRIPTIONS } from './alerts/subscriptions.ts';
import { SEALED_VAPID_KEYS } from './alerts/vapid.ts';
import { SEALED_TOTP_SECRETS } from './auth/factors/totp/codes.ts';
import { everybodySeals } from './auth/keyChange.ts';
import { SEALED_SIGNING_KEYS } from './auth/keys.ts';
import type { Database, Queries } from './database/database.ts';
import { SEALED_CHANNELS } from './delivery/channels/settings.ts';
import type { Job } from './jobs/job.ts';
import { SEALED_MAILS } from './mail/queue.ts';
import type { KeyChange, Sealed, Vault, WhichKey } from './secrets.ts';
import { SEALED_ENDPOINTS } from './webhooks/store.ts';

/**
 * Everything that is sealed with SECRET_KEY. The signing keys are last: a process does not start without their key, so
 * SECRET_KEY_PREVIOUS cannot be removed too early.
 */
export const SEALED: readonly Sealed[] = [
  ...SEALED_CHANNELS,
  SEALED_TOTP_SECRETS,
  SEALED_ENDPOINTS,
  SEALED_SUBSCRIPTIONS,
  SEALED_VAPID_KEYS,
  SEALED_MAILS,
  SEALED_SIGNING_KEYS,
];

/** Decrypting them takes about 2 ms, in which nothing else happens. */
const PAGE_SIZE = 200;

type Row = Record<string, string | number> & { sealed: string };

/**
 * All rows with a sealed text, page by page in the order of their key. Rows without one are read, too: otherwise one page
 * could read any number of mails that were sent.
 */
async function* pagesOf(queries: Queries, { table, key, column }: Sealed): AsyncGenerator<Row[]> {
  const names = Object.keys(key);
  const keys = names.join(', ');
  let last: (string | number)[] = Object.values(key);
  for (;;) {
    const page = await queries.all<Row | (Row & { sealed: null })>(
      `select ${keys}, ${column} as sealed from ${table} where (${keys}) > (${names.map((_, index) => `$${index + 1}`)})
        order by ${keys} limit ${PAGE_SIZE}`,
      last,
    );
    yield page.filter((row): row is Row => row.sealed !== null);
    if (page.length < PAGE_SIZE) return;
    await nextTurn();
    last = names.map((name) => page.at(-1)![name]!);
  }
}

/** How many rows each key has sealed. */
export type SealedCounts = Record<WhichKey | 'neither', number>;

export async function countSealed(queries: Queries, { keyOf }: Vault, sealed: Sealed): Promise<SealedCounts> {
  const counts: SealedCounts = { current: 0, previous: 0, neither: 0 };
  for await (const page of pagesOf(queries, sealed)) {
    for (const row of page) counts[keyOf(row.sealed, sealed.purposeOf(row)) ?? 'neither'] += 1;
  }
  return counts;
}

/**
 * Seals the rows of a column again, one at a time, unless somebody else changes it in the meantime. Any number of
 * processes may do it at the same time. Returns how many rows the previous key had sealed.
 */
async function resealColumn(
  queries: Queries,
  vault: Vault,
  change: KeyChange,
  sealed: Sealed,
  isStopped: () => boolean,
): Promise<number> {
  const { table, column, fingerprint } = sealed;
  const key = Object.keys(sealed.key);
  const set = [column, ...(fingerprint ? [fingerprint.column] : [])];
  const isRow = [...key, column].map((name, index) => `${name} = $${set.length + index + 1}`);
  const update = `update ${table} set ${set.map((name, index) => `${name} = $${index + 1}`)}
    where ${isRow.join(' and ')} returning 1 as sealed`;
  let found = 0;
  for await (const page of pagesOf(queries, sealed)) {
    for (const row of page) {
      if (isStopped()) return found + 1;
      const purpose = sealed.purposeOf(row);
      if (vault.keyOf(row.sealed, purpose) !== 'previous') continue;
      found += 1;
      const plain = vault.open(row.sealed, purpose);
      await queries.run(update, [
        change.current.seal(plain, purpose),
        ...(fingerprint ? [fingerprint.of(plain, change.current)] : []),
        ...key.map((name) => row[name]!),
        row.sealed,
      ]);
    }
  }
  return found;
}

/** A command that was started with the old settings may seal something later. */
const LOOK_AGAIN_MS = 10 * 60_000;

interface ResealParts {
  database: Database;
  vault: Vault;
  log: Logger;
  everyMs?: number | undefined;
}

/** Seals everything again that the previous key has sealed. Undefined without one. */
export function resealRegularly({ database, vault, log, everyMs = 5000 }: ResealParts): Job | undefined {
  const { change } = vault;
  if (!change) return undefined;
  return {
    name: 'encryption',
    purpose: 'encrypt again with SECRET_KEY',
    everyMs,
    async run(_key, { at, signal }) {
      if (!(await everybodySeals(database, vault))) return 'done';
      // Again at the end: a process that was starting meanwhile may still use the previous key.
      const isDone =
        (await resealAll(database, vault, change, () => signal.aborted)) &&
        (await everybodySeals(database, vault));
      if (!isDone) return 'done';
      log.info('SECRET_KEY has encrypted everything: SECRET_KEY_PREVIOUS can be removed');
      return new Date(at.getTime() + LOOK_AGAIN_MS);
    },
  };
}

/** True if nothing needs the previous key any more. Each column is looked at until a whole look finds nothing. */
async function resealAll(
  queries: Queries,
  vault: Vault,
  change: KeyChange,
  isStopped: () => boolean,
): Promise<boolean> {
  for (const sealed of SEALED) {
    while ((await resealColumn(queries, vault, change, sealed, isStopped)) > 0) {
      if (isStopped()) return false;
    }
  }
  return true;
}
