import { badRequest } from '../../../errors.ts';
import { isDeeperThan } from '../../../http/json.ts';
import { createThread } from '../../../http/thread.ts';
import { type Change, readChanges } from './updates.ts';

/** Parsing this much takes a few milliseconds at most. */
const PARSED_HERE_MAX_BYTES = 64 * 1024;
const DEPTH_MAX = 64;
/** Meta sends up to 1,000 in one body. */
const UPDATES_MAX = 2000;
const parseInThread = createThread<ReturnType<typeof parseChanges>>(
  new URL('./bodyThread.ts', import.meta.url),
);

/** The changes in a body. A large one is parsed in another thread, so that requests do not wait for it. */
export async function readBody(body: Buffer): Promise<Change[]> {
  const changes = body.length <= PARSED_HERE_MAX_BYTES ? parseChanges(body) : await parseInThread(body);
  if (!changes) throw badRequest('The body is not JSON, or has too many updates.');
  return changes;
}

export function parseChanges(body: Uint8Array): Change[] | undefined {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  // Nothing of ours is that deep, and the parser takes long for it.
  if (isDeeperThan(text, DEPTH_MAX)) return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const changes = readChanges(parsed);
  const updates = changes.reduce((count, change) => count + change.updates.length, 0);
  return updates > UPDATES_MAX || changes.length > UPDATES_MAX ? undefined : changes;
}
