import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { withinDeadline, withoutDeadline } from '../../database/deadline.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { readInboxVersion } from '../inboxes.ts';
import { groupsOf } from './group.ts';
import type { Question } from './question.ts';
import { listPending, readQuestions } from './store.ts';

/** A merchant's pending questions, and which of them belong together. */
export interface Pending {
  questions: ReadonlyMap<number, Question>;
  /** Largest first, then the newest. Each is in the order of ids. */
  groups: readonly (readonly Question[])[];
}

interface Known extends Pending {
  version: string;
  /** Also those that are not compared, so that they are not read again. */
  ids: ReadonlySet<number>;
}

/** A question takes its text, its words and the objects that hold them. */
const QUESTION_BYTES = 600;
const WORD_BYTES = 40;
const KEPT_MAX_BYTES = 32 * 1024 * 1024;

/**
 * Pending questions, kept in memory and brought up to date when somebody looks, so raising one costs nothing more. What a
 * look returns is never older than the look.
 */
export function createPendingQuestions(database: Database): (merchantId: MerchantId) => Promise<Pending> {
  const kept = new LRUCache<MerchantId, Known>({
    maxSize: KEPT_MAX_BYTES,
    maxEntrySize: KEPT_MAX_BYTES / 4,
    sizeCalculation: bytesOf,
  });
  const running = new Map<MerchantId, { current: Promise<Pending>; next: Promise<Pending> | undefined }>();

  async function refresh(merchantId: MerchantId): Promise<Pending> {
    const version = await readInboxVersion(database, merchantId);
    const before = kept.get(merchantId);
    if (before?.version === version) return before;
    const now = await update(database, merchantId, before);
    kept.set(merchantId, { ...now, version });
    return now;
  }

  function start(merchantId: MerchantId): Promise<Pending> {
    const entry = { current: withoutDeadline(() => refresh(merchantId)), next: undefined };
    running.set(merchantId, entry);
    const done = () => {
      if (running.get(merchantId) === entry) running.delete(merchantId);
    };
    entry.current.then(done, done);
    return entry.current;
  }

  return (merchantId) => {
    const now = running.get(merchantId);
    if (!now) return withinDeadline(start(merchantId));
    // What runs may have read before a change that this caller knows of, so it waits for the next, like all others.
    now.next ??= now.current.then(
      () => start(merchantId),
      () => start(merchantId),
    );
    return withinDeadline(now.next);
  };
}

async function update(
  database: Database,
  merchantId: MerchantId,
  before: Known | undefined,
): Promise<Omit<Known, 'version'>> {
  const pause = inSlices();
  const rows = await listPending(database, merchantId);
  const missing = rows.map(({ id }) => id).filter((id) => !before?.ids.has(id));
  const found = await readQuestions(database, merchantId, missing);
  const questions = new Map<number, Question>();
  const grouped: Question[] = [];
  for (const { id, ungrouped } of rows) {
    const question = found.get(id) ?? before?.questions.get(id);
    if (!question) continue;
    questions.set(id, question);
    if (ungrouped === 0) grouped.push(question);
  }
  const groups = await groupsOf(grouped, pause);
  groups.sort((a, b) => b.length - a.length || b.at(-1)!.id - a.at(-1)!.id);
  return { questions, groups, ids: new Set(rows.map(({ id }) => id)) };
}

function bytesOf({ questions, ids }: Known): number {
  let bytes = 1024 + 16 * ids.size;
  for (const { text, words } of questions.values())
    bytes += QUESTION_BYTES + 2 * text.length + WORD_BYTES * words.size;
  return bytes;
}
