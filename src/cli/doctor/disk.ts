import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemReason } from '../../systemErrors.ts';
import { bad, type Check, good, hint } from '../checks.ts';
import { megabytes } from '../terminal.ts';

/** Below the first nothing may be writable soon; below the second it is time to act. */
const FREE_MIN_BYTES = 100_000_000;
const FREE_LOW_BYTES = 1_000_000_000;
/** More than a commit writes. */
const TRIED_BYTES = 256 * 1024;

const FREE =
  'Free some space. Until then questions and answers are refused; nothing that was acknowledged is lost.';

/** Whether the embedded database has a disk that can be written: a full one still answers every read. */
export const disk: Check = async ({ config: { databaseUrl, dataDir } }) => {
  if (databaseUrl !== undefined || !existsSync(dataDir)) return [];
  const trial = join(dataDir, `doctor-${process.pid}.tmp`);
  try {
    writeFileSync(trial, Buffer.alloc(TRIED_BYTES, 1), { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    // Another check says so.
    if (systemReason(error) === 'permission denied') return [];
    return bad(
      `Nothing can be written in ${dataDir}: ${systemReason(error) ?? (error as Error).message}.`,
      FREE,
    );
  } finally {
    rmSync(trial, { force: true });
  }
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const text = `The disk of ${dataDir} has ${megabytes(free)} free.`;
  if (free < FREE_MIN_BYTES) return bad(text, FREE);
  return free < FREE_LOW_BYTES ? hint(text, 'Make sure that it does not become full.') : good(text);
};
