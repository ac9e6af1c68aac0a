import { setImmediate as nextTurn } from 'node:timers/promises';
import { redactSavedReplies, whoHasPhone } from '../conversations/erase.ts';
import type { Database } from '../database/database.ts';
import { eraseTestPhone, forgetReached } from '../delivery/erase.ts';
import { documentsWith, redactDocument, redactRecognitions, redactRemovals } from '../knowledge/erase.ts';
import { eraseStoredResponses, type StoredResponse } from '../notifications/erase.ts';
import { hasWord, redactionOf, singleNames } from './person.ts';
import { BATCH_MAX, type EraseParts, type Erasure } from './store.ts';
import { END_OF_TIME, forgetOwnWindows } from './windows.ts';

/** Where else the person is named. */
export async function eraseTexts(parts: EraseParts, erasure: Erasure): Promise<void> {
  const { database, now, pause = nextTurn } = parts;
  const { merchantId, person } = erasure;
  const { everywhere: redact, certainly } = redactionOf(person, await ordinaryWords(parts, erasure));
  const quotes = (text: string) => redact(text) !== text;
  const theirs = { questions: new Set<string>(), notificationIds: new Set<number>(), redact };
  for await (const id of documentsWith(database, merchantId, quotes)) {
    await database.transaction((tx) => redactDocument(tx, merchantId, id, theirs, now()));
    await pause();
  }
  await redactRemovals(database, merchantId, quotes);
  await redactRecognitions(database, merchantId, person, quotes);
  await database.transaction((tx) => redactSavedReplies(tx, merchantId, redact));
  const isTheirs = theirResponses(erasure, { certainly, isBack: await isBack(database, erasure) });
  await eraseStoredResponses(database, merchantId, isTheirs, pause);
  for (const phone of person.phones) await eraseNumber(parts, erasure, phone);
}

/** A name of one word that more documents have is an ordinary word of the merchant, too. */
const DOCUMENTS_WITH_NAME_MAX = 10;

async function ordinaryWords(
  { database }: EraseParts,
  { merchantId, person }: Erasure,
): Promise<Set<string>> {
  const ordinary = new Set<string>();
  for (const name of singleNames(person.names)) {
    let count = 0;
    for await (const _ of documentsWith(database, merchantId, hasWord(name)))
      if (++count > DOCUMENTS_WITH_NAME_MAX) break;
    if (count > DOCUMENTS_WITH_NAME_MAX) ordinary.add(name);
  }
  return ordinary;
}

/** Whether the person has written again since the erasure began. */
async function isBack(database: Database, { merchantId, person, createdAt }: Erasure): Promise<boolean> {
  for (const phone of person.phones)
    if ((await whoHasPhone(database, merchantId, phone, createdAt)) === 'somebody since') return true;
  return false;
}

/** What has number and name only is of the new customer, if the person is back. */
function theirResponses(
  { person, createdAt }: Erasure,
  { certainly, isBack }: { certainly: (text: string) => string; isBack: boolean },
): (stored: StoredResponse) => boolean {
  const isTheirs = namesConversation(person.conversationIds);
  const documents = new Set(person.documentIds.map(String));
  const isNamed = (text: string) => certainly(text) !== text;
  return ({ key, outcome, created_at }) =>
    isTheirs(outcome) ||
    hasAny(outcome, /"document_id":(\d+)/g, documents) ||
    // A note of an earlier version does not say whose it is.
    (outcome.startsWith('{"done":{"note":') && !outcome.includes('"conversation_id":')) ||
    (!(isBack && created_at >= createdAt) && (isNamed(key) || isNamed(outcome)));
}

async function eraseNumber(
  { database, channelsOf, pause = nextTurn }: EraseParts,
  { merchantId, person, createdAt }: Erasure,
  phone: string,
): Promise<void> {
  const who = await whoHasPhone(database, merchantId, phone, createdAt);
  // A wrong number may be the right one of another customer.
  if (who === 'somebody before') return;
  // The person has written again: what is new stays.
  const known = { phone, until: who === 'nobody' ? END_OF_TIME : new Date(createdAt) };
  while ((await eraseTestPhone(database, merchantId, known, BATCH_MAX)) === BATCH_MAX) await pause();
  await database.transaction((tx) => forgetReached(tx, merchantId, known));
  await forgetOwnWindows({ database, channelsOf }, merchantId, known, person.channelIds);
}

/** Whether a JSON text is about one of these conversations. */
export function namesConversation(ids: readonly number[]): (text: string) => boolean {
  const own = new Set(ids.map(String));
  return (text) =>
    hasAny(text, /"conversation(?:_id|Id)":(\d+)/g, own) ||
    (text.includes('"customer_phone":') && hasAny(text, /"id":(\d+)/g, own));
}

const hasAny = (text: string, pattern: RegExp, ids: ReadonlySet<string>) =>
  [...text.matchAll(pattern)].some(([, id]) => ids.has(id!));
