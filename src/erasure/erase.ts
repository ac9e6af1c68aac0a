import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordEvent, SERVER, type Who } from '../audit/record.ts';
import type { MerchantId } from '../contract/ids.ts';
import {
  blankConversations,
  eraseMessages,
  lockPerson,
  removeConversations,
} from '../conversations/erase.ts';
import { bytesOfSent, countSent } from '../conversations/messages.ts';
import { NO_NAME } from '../conversations/store.ts';
import { CHANGES, type Transaction } from '../database/database.ts';
import { cancelOpen, eraseDeliveries, eraseEndpointDeliveries, hasDeliveries } from '../delivery/erase.ts';
import { eraseEvents } from '../events/erase.ts';
import { learnedFrom, questionKey, redactDocument, redactRemovals } from '../knowledge/erase.ts';
import {
  dropHeld,
  eraseAsks,
  lockNotifications,
  othersAmong,
  removeForGood,
} from '../notifications/erase.ts';
import { eraseName } from './colleague.ts';
import { NOBODY, redactionOf } from './person.ts';
import {
  addErasure,
  BATCH_MAX,
  type EraseParts,
  type Erasure,
  moveErasure,
  removeErasure,
  type Step,
  savePerson,
} from './store.ts';
import { eraseTexts, namesConversation } from './texts.ts';

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
    documentIds: [],
  };
  await dropHeld(tx, merchantId, conversationIds);
  await cancelOpen(tx, merchantId, conversationIds, at);
  await addErasure(tx, merchantId, { step: 'rows', person, at });
  for (const id of conversationIds) {
    const about = { conversation_id: id };
    await recordEvent(tx, { what: 'conversation.erased', merchantId, who, at, about });
  }
  return conversationIds;
}

const unique = (texts: readonly string[]) => [...new Set(texts.filter((text) => text !== ''))];

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
        await eraseMessagesTo(parts, erasure);
        await eraseRows(parts, erasure);
        return { step: 'sending', dueAt: now() };
      case 'sending':
        return (await eraseMessagesTo(parts, erasure))
          ? { step: 'texts', dueAt: now() }
          : { step: 'sending', ...soon };
      case 'texts':
        await eraseTexts(parts, erasure);
        return { step: 'again', dueAt: new Date(Date.parse(erasure.createdAt) + AGAIN_AFTER_MS) };
      case 'again':
        if (!(await eraseMessagesTo(parts, erasure))) return { step: 'again', ...soon };
        await eraseRows(parts, erasure);
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

/** The messages to the person. False if one is being sent: then again, a moment later. */
async function eraseMessagesTo(parts: EraseParts, erasure: Erasure): Promise<boolean> {
  const { database, pause = nextTurn } = parts;
  let isComplete = true;
  for (const conversationId of erasure.person.conversationIds) {
    while (await eraseSome(parts, erasure, conversationId)) await pause();
    isComplete &&= !(await hasDeliveries(database, erasure.merchantId, conversationId));
  }
  return isComplete;
}

/** Some messages to the person, and what is known from them. Returns whether there may be more. */
async function eraseSome(
  { database, now }: EraseParts,
  erasure: Erasure,
  conversationId: number,
): Promise<boolean> {
  const { merchantId, id, person } = erasure;
  const { known, count } = await database.transaction(async (tx) => {
    // In the lock order: see `Transaction`.
    await countSent(tx, merchantId, 0);
    const options = { at: now(), limit: BATCH_MAX };
    const removed = await eraseDeliveries(tx, merchantId, conversationId, options);
    const known = {
      ...person,
      phones: unique([...person.phones, ...removed.recipients]),
      channelIds: unique([...person.channelIds, ...removed.channelIds]),
    };
    if (removed.count > 0) await savePerson(tx, merchantId, id, known);
    const bytes = removed.written.reduce((sum, text) => sum + bytesOfSent(text), 0);
    if (bytes > 0) await countSent(tx, merchantId, -bytes);
    return { known, count: removed.count };
  });
  erasure.person = known;
  return count === BATCH_MAX;
}

/** What else belongs to the person's conversations. */
async function eraseRows(parts: EraseParts, erasure: Erasure): Promise<void> {
  const { database, pause = nextTurn } = parts;
  const { merchantId, person } = erasure;
  const { conversationIds } = person;
  const isTheirs = namesConversation(conversationIds);
  for (const conversationId of conversationIds) {
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
    const learned = await learnedFrom(tx, merchantId, ids);
    const known = {
      ...person,
      phones: unique([...person.phones, ...phones]),
      documentIds: [...new Set([...person.documentIds, ...learned])],
    };
    await savePerson(tx, merchantId, id, known);
    const theirs = {
      questions: new Set(notifications.map(({ question }) => questionKey(question))),
      notificationIds: new Set(ids),
      redact: redactionOf(known).closely,
    };
    for (const documentId of learned) await redactDocument(tx, merchantId, documentId, theirs, now());
    await removeForGood(tx, merchantId, ids);
    await redactRemovals(tx, merchantId, (title) => theirs.questions.has(questionKey(title)));
    return { known, isFull: ids.length === NOTIFICATIONS_MAX };
  });
  if (!erased) return false;
  erasure.person = erased.known;
  return erased.isFull;
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
