import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { callerFolder } from '../../config.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { type ExportSection, linesOf } from '../../export/sections.ts';
import { Failure } from '../command.ts';

/** Writes an export to a new file that only its owner can read, and returns how many lines it has. */
export async function writeExport(
  database: Database,
  merchantId: MerchantId,
  sections: readonly ExportSection[],
  file: string,
  /** When the file can be written, and before anybody can read it. */
  record: () => Promise<void>,
): Promise<number> {
  let lines = 0;
  const snapshot = await database.snapshot();
  try {
    const counted = async function* () {
      for await (const page of linesOf(snapshot, sections, merchantId)) {
        lines += page.split('\n').length - 1;
        yield page;
      }
    };
    const output = createWriteStream(resolve(callerFolder(), file), { flags: 'wx', mode: 0o600 });
    await once(output, 'open');
    await record();
    await pipeline(Readable.from(counted(), { objectMode: false }), output);
    return lines;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new Failure(`${file} exists already. Nothing was written.`);
    if (code === 'ENOENT') throw new Failure(`The folder of ${file} does not exist.`);
    if (code === 'ENOSPC') throw new Failure(`${file} is not complete: the disk is full. Delete it.`);
    throw error;
  } finally {
    snapshot.close();
  }
}
