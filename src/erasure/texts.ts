import { setImmediate as nextTurn } from 'node:timers/promises';
import { whoHasPhone } from '../conversations/person.ts';
import { deleteBatch } from '../database/deleteBatch.ts';
import { pagesOf } from '../database/pages.ts';
import { forgetReached } from '../delivery/queue/ofPerson.ts';
import { redactRecognitions } from '../knowledge/confidence/redact.ts';
import { documentTexts, type Redact, redactDocument, textsOf } from '../knowledge/documents/redact.ts';
import { findIn, type Lookup, without } from './person/find.ts';
import { lookupOf, lookupWithout } from './person/person.ts';
import { eraseResponses } from './responses.ts';
import { redactRows } from './rows.ts';
import { BATCH_MAX, type EraseParts, type Erasure } from './store.ts';
import { END_OF_TIME, forgetOwnWindows } from './windows.ts';

/** A name or number that more of the merchant's other texts have is a phrase, or the shop's own number. */
const TEXTS_WITH_NAME_MAX = 5;
const TEST_PHONES = { name: 'simulator_messages' };
const SAVED_REPLIES = { name: 'saved_replies' };

/** Where else the person is named. */
export async function eraseTexts(parts: EraseParts, erasure: Erasure): Promise<void> {
  const { database, now, pause = nextTurn } = parts;
  const { merchantId, person } = erasure;
  const { lookup, documents } = await findTexts(parts, erasure);
  for (const id of documents) {
    const texts = await textsOf(database, merchantId, id);
    const redact = await redactionOf(texts, lookup, pause);
    const theirs = { questions: new Set<string>(), notificationIds: new Set<number>(), redact };
    await database.transaction((tx) => redactDocument(tx, merchantId, id, theirs, now()));
    await pause();
  }
  const redact = (text: string) => without(text, lookup);
  await redactRows(database, merchantId, redact, { pause });
  await redactRecognitions(database, merchantId, person, redact, pause);
  const changed = new Set([...person.documentIds, ...documents]);
  await eraseResponses(database, merchantId, { person, changed }, pause);
  for (const phone of person.phones) {
    await eraseNumber(parts, erasure, phone);
    await pause();
  }
}

/** Reads long texts outside of a transaction, so that it is short and others have their turn. */
export async function redactionOf(
  texts: readonly string[],
  lookup: Lookup,
  pause: () => Promise<void>,
): Promise<Redact> {
  const results = new Map<string, string>();
  for (const text of texts) {
    results.set(text, without(text, lookup));
    await pause();
  }
  return (text) => results.get(text) ?? without(text, lookup);
}

/** The documents that name the person, and by what, without ordinary words of the merchant. */
async function findTexts(
  { database, pause = nextTurn }: EraseParts,
  { merchantId, person }: Erasure,
): Promise<{ lookup: Lookup; documents: number[] }> {
  const all = await lookupOf(person, 'as written', pause);
  const learned = new Set(person.documentIds);
  const counts = new Map<string, number>();
  const count = (found: Iterable<string>) => {
    for (const what of found) counts.set(what, (counts.get(what) ?? 0) + 1);
  };
  const byDocument = new Map<number, Set<string>>();
  for await (const { id, texts } of documentTexts(database, merchantId)) {
    const found = new Set<string>();
    for (const text of texts) {
      for (const { what } of findIn(text, all)) found.add(what);
      await pause();
    }
    if (found.size > 0) byDocument.set(id, found);
    if (!learned.has(id)) count(found);
  }
  const replies = pagesOf<{ title: string; text: string }>(
    database,
    SAVED_REPLIES,
    merchantId,
    'title, text',
  );
  for await (const page of replies) {
    for (const { title, text } of page) {
      count(new Set(findIn(`${title}\n${text}`, all).map(({ what }) => what)));
      await pause();
    }
  }
  const ordinary = new Set([...counts].flatMap(([what, n]) => (n > TEXTS_WITH_NAME_MAX ? [what] : [])));
  const documents = [...byDocument].flatMap(([id, found]) =>
    [...found].some((what) => !ordinary.has(what)) ? [id] : [],
  );
  return { lookup: lookupWithout(all, ordinary), documents };
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
  const some = {
    where: 'phone = $2 and at <= $3',
    params: [phone, known.until.toISOString()],
    limit: BATCH_MAX,
  };
  const erase = () => database.transaction((tx) => deleteBatch(tx, TEST_PHONES, merchantId, some));
  while ((await erase()) === BATCH_MAX) await pause();
  await database.transaction((tx) => forgetReached(tx, merchantId, known));
  await forgetOwnWindows({ database, channelsOf }, merchantId, known, person.channelIds);
}
