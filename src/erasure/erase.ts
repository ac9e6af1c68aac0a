import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordEvent, SERVER, type Who } from '../audit/record.ts';
import type { MerchantId } from '../contract/ids.ts';
import {
  blankConversations,
  eraseMessages,
  isOthersPhone,
  isOwnPhone,
  lockPerson,
  redactSavedReplies,
  removeConversations,
} from '../conversations/erase.ts';
import { bytesOfSent, countSent } from '../conversations/messages.ts';
import { NO_NAME } from '../conversations/store.ts';
import { CHANGES, type Database, type Transaction } from '../database/database.ts';
import {
  eraseDeliveries,
  eraseEndpointDeliveries,
  eraseTestPhone,
  forgetReached,
  forgetWindows,
  hasDeliveries,
} from '../delivery/erase.ts';
import { eraseEvents } from '../events/erase.ts';
import {
  documentsWith,
  learnedFrom,
  questionKey,
  redactDocument,
  redactRecognitions,
  redactRemovals,
} from '../knowledge/erase.ts';
import {
  eraseAsks,
  eraseStoredResponses,
  lockNotifications,
  othersAmong,
  removeForGood,
} from '../notifications/erase.ts';
import { eraseName } from './colleague.ts';
import { type Person, redactionOf } from './person.ts';
import { addErasure, type Erasure, moveErasure, removeErasure, type Step, savePerson } from './store.ts';

/** In one transaction. Others wait for its rows no longer than for an ordinary write. */
const BATCH_MAX = 500;
/** With each of these, documents may be rewritten. */
const NOTIFICATIONS_MAX = 100;
/** A request or a worker that began before the erasure has ended by now: nothing of the person is written after this. */
export const AGAIN_AFTER_MS = 30_000;
const RETRY_MS = 1000;

/**
 * The customer is gone for everybody at once. What was said and written is removed by a worker, in steps. Returns the
 * conversations of this person, or undefined if there is none.
 */
export async function beginErasure(
  tx: Transaction,
  merchantId: MerchantId,
  conversationId: number,
  { who, at }: { who: Who; at: Date },
): Promise<number[] | undefined> {
  const conversations = await lockPerson(tx, merchantId, conversationId);
  if (conversations.length === 0) return undefined;
  const conversationIds = conversations.map(({ id }) => id);
  const wrong = await blankConversations(tx, merchantId, conversationIds, at);
  const phones = unique([...conversations.map(({ customer_phone }) => customer_phone), ...wrong]);
  const names = unique(conversations.map(({ customer_name }) => customer_name));
  const person = {
    conversationIds,
    phones,
    names: names.filter((name) => !phones.includes(name) && name !== NO_NAME),
    references: unique(conversations.flatMap(({ reference }) => reference ?? [])),
    channelIds: [],
  };
  await addErasure(tx, merchantId, { step: 'rows', person, at });
  for (const id of conversationIds) {
    const about = { conversation_id: id };
    await recordEvent(tx, { what: 'conversation.erased', merchantId, who, at, about });
  }
  return conversationIds;
}

const NOBODY: Person = { conversationIds: [], phones: [], names: [], references: [], channelIds: [] };

const unique = (texts: readonly string[]) => [...new Set(texts.filter((text) => text !== ''))];

interface EraseParts {
  database: Database;
  now: () => Date;
  /** Between two pages: other work goes on, and the lease is renewed. */
  pause?: () => Promise<void>;
}

interface Next {
  step: Step | 'done';
  dueAt: Date;
}

/** Does one step. It may end half-way at any time and begin again: what is gone stays gone. */
export async function eraseStep(parts: EraseParts, erasure: Erasure): Promise<Next> {
  const { database, now } = parts;
  const { merchantId, id } = erasure;
  const next = await (async (): Promise<Next> => {
    const soon = { dueAt: new Date(now().getTime() + RETRY_MS) };
    switch (erasure.step) {
      case 'rows':
        return (await eraseRows(parts, erasure))
          ? { step: 'texts', dueAt: now() }
          : { step: 'rows', ...soon };
      case 'texts':
        await eraseTexts(parts, erasure);
        return { step: 'again', dueAt: new Date(Date.parse(erasure.createdAt) + AGAIN_AFTER_MS) };
      case 'again':
        if (!(await eraseRows(parts, erasure))) return { step: 'again', ...soon };
        await eraseTexts(parts, erasure);
        await database.transaction((tx) =>
          removeConversations(tx, merchantId, erasure.person.conversationIds),
        );
        return { step: 'files', dueAt: now() };
      case 'name':
        await eraseName(database, merchantId, erasure.person.names[0] ?? '', parts.pause ?? nextTurn);
        return { step: 'files', dueAt: now() };
      case 'files':
        // The row itself has the name and the number.
        await savePerson(database, merchantId, id, {
          ...NOBODY,
          conversationIds: erasure.person.conversationIds,
        });
        return (await database.scrub()) ? { step: 'done', dueAt: now() } : { step: 'files', ...soon };
    }
  })();
  const { step, dueAt } = next;
  if (step !== 'done') await moveErasure(database, merchantId, id, { step, dueAt });
  else await finish(parts, erasure);
  database.signal(CHANGES);
  return next;
}

async function finish({ database, now }: EraseParts, { merchantId, id, person }: Erasure): Promise<void> {
  await database.transaction(async (tx) => {
    if (!(await removeErasure(tx, merchantId, id))) return;
    for (const conversationId of person.conversationIds)
      await recordEvent(tx, {
        what: 'conversation.erasure_finished',
        ...{ merchantId, who: SERVER, at: now(), about: { conversation_id: conversationId } },
      });
  });
}

/** What belongs to the person's conversations. False if a message is being sent: then again, a moment later. */
async function eraseRows(parts: EraseParts, erasure: Erasure): Promise<boolean> {
  const { database, now, pause = nextTurn } = parts;
  const { merchantId, person } = erasure;
  const { conversationIds } = person;
  const isTheirs = namesConversation(conversationIds);
  let isComplete = true;
  // First, so that nothing that waits is sent.
  for (const conversationId of conversationIds) {
    for (let count = BATCH_MAX; count === BATCH_MAX; await pause()) {
      const options = { at: now(), limit: BATCH_MAX };
      const removed = await eraseDeliveries(database, merchantId, conversationId, options);
      count = removed.count;
      await learnMore(parts, erasure, { phones: removed.recipients, channelIds: removed.channelIds });
      const bytes = removed.written.reduce((sum, text) => sum + bytesOfSent(text), 0);
      if (bytes > 0) await countSent(database, merchantId, -bytes);
    }
    isComplete &&= !(await hasDeliveries(database, merchantId, conversationId));
    while (await eraseNotifications(parts, erasure, conversationId)) await pause();
    const batch = [merchantId, conversationId, BATCH_MAX] as const;
    while ((await eraseAsks(database, ...batch)) === BATCH_MAX) await pause();
    while ((await eraseMessages(database, ...batch)) === BATCH_MAX) await pause();
  }
  await eraseEvents(database, merchantId, isTheirs, pause);
  await eraseEndpointDeliveries(
    database,
    merchantId,
    (contents) => theirContents(parts, erasure, contents),
    pause,
  );
  return isComplete;
}

/** Some notifications, and what was learned from them. Returns whether there may be more. */
async function eraseNotifications(
  { database, now }: EraseParts,
  erasure: Erasure,
  conversationId: number,
): Promise<boolean> {
  const { merchantId, id, person } = erasure;
  const erased = await database.transaction(async (tx) => {
    const notifications = await lockNotifications(tx, merchantId, conversationId, NOTIFICATIONS_MAX);
    if (notifications.length === 0) return undefined;
    const ids = notifications.map((one) => one.id);
    const phones = notifications.flatMap(({ leadPhone }) => leadPhone ?? []);
    const known = { ...person, phones: unique([...person.phones, ...phones]) };
    await savePerson(tx, merchantId, id, known);
    const theirs = {
      questions: new Set(notifications.map(({ question }) => questionKey(question))),
      notificationIds: new Set(ids),
      redact: redactionOf(known).closely,
    };
    for (const documentId of await learnedFrom(tx, merchantId, ids))
      await redactDocument(tx, merchantId, documentId, theirs, now());
    await removeForGood(tx, merchantId, ids);
    await redactRemovals(tx, merchantId, (title) => theirs.questions.has(questionKey(title)));
    return { known, isFull: ids.length === NOTIFICATIONS_MAX };
  });
  if (!erased) return false;
  erasure.person = erased.known;
  return erased.isFull;
}

async function learnMore(
  { database }: EraseParts,
  erasure: Erasure,
  { phones, channelIds }: Pick<Person, 'phones' | 'channelIds'>,
): Promise<void> {
  const { person } = erasure;
  const known = {
    ...person,
    phones: unique([...person.phones, ...phones]),
    channelIds: unique([...person.channelIds, ...channelIds]),
  };
  if (JSON.stringify(known) === JSON.stringify(person)) return;
  await savePerson(database, erasure.merchantId, erasure.id, known);
  erasure.person = known;
}

/** Where else the person is named. */
async function eraseTexts({ database, now, pause = nextTurn }: EraseParts, erasure: Erasure): Promise<void> {
  const { merchantId, person } = erasure;
  const { everywhere: redact } = redactionOf(person);
  const quotes = (text: string) => redact(text) !== text;
  const theirs = { questions: new Set<string>(), notificationIds: new Set<number>(), redact };
  for await (const id of documentsWith(database, merchantId, quotes)) {
    await database.transaction((tx) => redactDocument(tx, merchantId, id, theirs, now()));
    await pause();
  }
  await redactRemovals(database, merchantId, quotes);
  await redactRecognitions(database, merchantId, person.conversationIds, quotes);
  await database.transaction((tx) => redactSavedReplies(tx, merchantId, redact));
  const isTheirs = namesConversation(person.conversationIds);
  await eraseStoredResponses(database, merchantId, (text) => quotes(text) || isTheirs(text), pause);
  for (const phone of person.phones) await eraseNumber(database, erasure, phone, pause);
}

async function eraseNumber(
  database: Database,
  { merchantId, person }: Erasure,
  phone: string,
  pause: () => Promise<void>,
): Promise<void> {
  // A wrong number may be the right one of another customer.
  if (await isOwnPhone(database, merchantId, phone)) return;
  while ((await eraseTestPhone(database, merchantId, phone, BATCH_MAX)) === BATCH_MAX) await pause();
  await database.transaction((tx) => forgetReached(tx, merchantId, phone));
  if (await isOthersPhone(database, phone)) return;
  await database.transaction((tx) => forgetWindows(tx, phone, person.channelIds));
}

/** Whether a JSON text is about one of these conversations. */
function namesConversation(ids: readonly number[]): (text: string) => boolean {
  const own = new Set(ids.map(String));
  const hasAny = (text: string, pattern: RegExp) =>
    [...text.matchAll(pattern)].some(([, id]) => own.has(id!));
  return (text) =>
    hasAny(text, /"conversation_id":(\d+)/g) ||
    (text.includes('"customer_phone":') && hasAny(text, /"id":(\d+)/g));
}

/** Of what endpoints and devices get. An alert names only the notification, which may be gone. */
async function theirContents(
  { database }: EraseParts,
  { merchantId, person: { conversationIds } }: Erasure,
  contents: readonly string[],
): Promise<boolean[]> {
  const isTheirs = namesConversation(conversationIds);
  const named = contents.map((text) =>
    text.startsWith('{"kind":') ? Number(/"notification_id":(\d+)/.exec(text)?.[1]) : undefined,
  );
  const others = await othersAmong(
    database,
    merchantId,
    named.filter((id) => id !== undefined && id > 0) as number[],
    conversationIds,
  );
  return contents.map((text, index) => {
    const id = named[index];
    return isTheirs(text) || (id !== undefined && id > 0 && !others.has(id));
  });
}
