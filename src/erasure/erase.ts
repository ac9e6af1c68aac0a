import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordOfConversations, SERVER, type Who } from '../audit/record.ts';
import type { MerchantId } from '../contract/ids.ts';
import {
  blankConversations,
  eraseMessages,
  findPerson,
  findWithPhone,
  lockConversations,
  removeConversations,
} from '../conversations/erase.ts';
import { bytesOfSent, countSent } from '../conversations/messages.ts';
import { NO_NAME } from '../conversations/store.ts';
import { CHANGES, type Transaction } from '../database/database.ts';
import { cancelOpen, eraseDeliveries, eraseEndpointDeliveries, hasDeliveries } from '../delivery/erase.ts';
import { eraseEvents } from '../events/erase.ts';
import { learnedFrom, questionKey, redactDocument, redactRemovals, textsOf } from '../knowledge/erase.ts';
import {
  dropHeld,
  eraseAsks,
  listNotifications,
  othersAmong,
  removeForGood,
} from '../notifications/erase.ts';
import { eraseName } from './colleague.ts';
import type { Lookup } from './person/find.ts';
import { ownNumbers } from './person/numbers.ts';
import { addPhone, knowing, lookupOf, NOBODY, type Person } from './person/person.ts';
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
import { eraseTexts, redactionOf } from './texts.ts';

const NOTIFICATIONS_MAX = 100;
/** Conversations of one person in one transaction: others wait for it. */
const CONVERSATIONS_MAX = 50;
/** A request or a worker that began before the erasure has ended by now: nothing of the person is written after this. */
export const AGAIN_AFTER_MS = 30_000;
const RETRY_MS = 1000;

/**
 * The customer is gone for everybody at once; if there are very many conversations, most of them a moment later. What was
 * said and written is removed by a worker, in steps. Returns the conversations of this person, or undefined if there is
 * none.
 */
export async function beginErasure(
  tx: Transaction,
  merchantId: MerchantId,
  conversationId: number,
  { who, at }: { who: Who; at: Date },
): Promise<number[] | undefined> {
  const ids = await findPerson(tx, merchantId, conversationId);
  const others = ids.filter((id) => id !== conversationId);
  const first = [conversationId, ...others.slice(0, CONVERSATIONS_MAX - 1)];
  const whose = { merchantId, createdAt: at.toISOString(), person: NOBODY };
  const { person, phone } = await takeConversations(tx, whose, first);
  if (person.conversationIds.length === 0) return undefined;
  const isAll = ids.length <= CONVERSATIONS_MAX;
  await addErasure(tx, merchantId, {
    ...{ step: 'rows', at },
    person: { ...person, othersWith: isAll ? '' : phone },
  });
  const event = { what: 'conversation.erased', merchantId, who, at } as const;
  await recordOfConversations(tx, event, isAll ? person.conversationIds : [conversationId, ...others]);
  return isAll ? person.conversationIds : ids;
}

/** Hides these conversations, and stops what would still be sent. Returns what is known of the person. */
async function takeConversations(
  tx: Transaction,
  whose: Pick<Erasure, 'merchantId' | 'createdAt' | 'person'>,
  ids: readonly number[],
): Promise<{ person: Person; phone: string }> {
  const { merchantId, createdAt, person } = whose;
  const at = new Date(createdAt);
  const conversations = await lockConversations(tx, merchantId, ids);
  const taken = conversations.map(({ id }) => id);
  const phones = conversations.map(({ customer_phone }) => customer_phone);
  const wrong = await blankConversations(tx, merchantId, taken, at);
  await dropHeld(tx, merchantId, taken);
  await cancelOpen(tx, merchantId, taken, at);
  const known = knowing(person, { phones });
  const names = conversations.map(({ customer_name }) => customer_name.trim());
  return {
    person: knowing(
      { ...known, conversationIds: [...person.conversationIds, ...taken] },
      {
        phones: await ownNumbers(tx, { ...whose, person: known }, wrong),
        names: names.filter((name) => !phones.includes(name) && name !== NO_NAME),
        references: conversations.flatMap(({ reference }) => reference ?? []),
      },
    ),
    phone: phones[0] ?? '',
  };
}

/** The other conversations of a person who has very many. */
async function takeOthers({ database, pause = nextTurn }: EraseParts, erasure: Erasure): Promise<void> {
  const { merchantId, id, createdAt } = erasure;
  while (erasure.person.othersWith !== '') {
    erasure.person = await database.transaction(async (tx) => {
      const which = { phone: erasure.person.othersWith, until: createdAt, limit: CONVERSATIONS_MAX };
      const ids = await findWithPhone(tx, merchantId, which);
      const { person } = await takeConversations(tx, erasure, ids);
      const known = ids.length < CONVERSATIONS_MAX ? { ...person, othersWith: '' } : person;
      await savePerson(tx, merchantId, id, known);
      return known;
    });
    await pause();
  }
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
        await takeOthers(parts, erasure);
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
        await removeAll(parts, erasure);
        return { step: 'files', dueAt: now() };
      case 'name':
        await eraseName(database, merchantId, erasure.person, parts.pause ?? nextTurn);
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
    const event = { what: 'conversation.erasure_finished', merchantId, who: SERVER, at: now() } as const;
    await recordOfConversations(tx, event, person.conversationIds);
  });
}

async function removeAll({ database, pause = nextTurn }: EraseParts, erasure: Erasure): Promise<void> {
  const { merchantId, person } = erasure;
  for (let from = 0; from < person.conversationIds.length; from += BATCH_MAX) {
    const ids = person.conversationIds.slice(from, from + BATCH_MAX);
    await database.transaction((tx) => removeConversations(tx, merchantId, ids));
    await pause();
  }
}

/** The messages to the person. False if one is being sent: then again, a moment later. */
async function eraseMessagesTo(parts: EraseParts, erasure: Erasure): Promise<boolean> {
  const { database, pause = nextTurn } = parts;
  let isComplete = true;
  for (const conversationId of erasure.person.conversationIds) {
    while (await eraseSome(parts, erasure, conversationId)) await pause();
    await pause();
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
    const known = knowing(person, {
      phones: await ownNumbers(tx, erasure, removed.recipients),
      channelIds: removed.channelIds,
    });
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
  const { merchantId } = erasure;
  const { conversationIds } = erasure.person;
  const lookup = await lookupOf(erasure.person, 'closely', pause);
  for (const conversationId of conversationIds) {
    while (await eraseNotifications(parts, erasure, { conversationId, lookup })) await pause();
    const batch = [merchantId, conversationId, BATCH_MAX] as const;
    while ((await eraseAsks(database, ...batch)) === BATCH_MAX) await pause();
    while ((await eraseMessages(database, ...batch)) === BATCH_MAX) await pause();
    await pause();
  }
  const own = new Set<unknown>(conversationIds);
  const isTheirs = (data: string) => own.has(JSON.parse(data).conversation_id);
  await eraseEvents(database, merchantId, isTheirs, pause);
  const find = (contents: readonly string[]) => theirContents(parts, erasure, contents);
  await eraseEndpointDeliveries(database, merchantId, find, pause);
}

/** Some notifications, and what was learned from them. Returns whether there may be more. */
async function eraseNotifications(
  { database, now, pause = nextTurn }: EraseParts,
  erasure: Erasure,
  { conversationId, lookup }: { conversationId: number; lookup: Lookup },
): Promise<boolean> {
  const { merchantId, id } = erasure;
  const notifications = await listNotifications(database, merchantId, conversationId, NOTIFICATIONS_MAX);
  if (notifications.length === 0) return false;
  const ids = notifications.map((one) => one.id);
  const phones = await ownNumbers(
    database,
    erasure,
    notifications.flatMap(({ leadPhone }) => leadPhone ?? []),
  );
  for (const phone of phones) addPhone(lookup, phone);
  const questions = new Set(notifications.map(({ question }) => questionKey(question)));
  // Each document in its own transaction. Nothing is learned from a question of a customer who is being erased.
  for (let learned: number[] = []; ; ) {
    const known = new Set(learned);
    learned = await learnedFrom(database, merchantId, ids);
    const person = knowing(erasure.person, { phones });
    const documentIds = [...new Set([...person.documentIds, ...learned])];
    erasure.person = { ...person, documentIds };
    await savePerson(database, merchantId, id, erasure.person);
    for (const documentId of learned.filter((one) => !known.has(one))) {
      const redact = await redactionOf(await textsOf(database, merchantId, documentId), lookup, pause);
      const theirs = { questions, notificationIds: new Set(ids), redact };
      await database.transaction((tx) => redactDocument(tx, merchantId, documentId, theirs, now()));
      await pause();
    }
    if (learned.every((one) => known.has(one))) break;
  }
  await database.transaction(async (tx) => {
    await removeForGood(tx, merchantId, ids);
    await redactRemovals(tx, merchantId, (title) => (questions.has(questionKey(title)) ? '…' : title));
  });
  return ids.length === NOTIFICATIONS_MAX;
}

/** Of what endpoints and devices get. An alert names only the notification, which may be gone. */
async function theirContents(
  { database, pause = nextTurn }: EraseParts,
  { merchantId, person: { conversationIds } }: Erasure,
  contents: readonly string[],
): Promise<boolean[]> {
  const own = new Set<unknown>(conversationIds);
  const read: { isTheirs: boolean; alertOf: number }[] = [];
  for (const text of contents) {
    const content = JSON.parse(text) as Sent;
    // Only the event's own field: the assistant's metadata may have one with the same name.
    const isTheirs = own.has(content.data?.conversation_id);
    read.push({ isTheirs, alertOf: content.kind === undefined ? 0 : (content.notification_id ?? 0) });
    await pause();
  }
  const alerts = read.flatMap(({ alertOf }) => (alertOf > 0 ? [alertOf] : []));
  const others = await othersAmong(database, merchantId, alerts, conversationIds);
  return read.map(({ isTheirs, alertOf }) => isTheirs || (alertOf > 0 && !others.has(alertOf)));
}

/** An event for a webhook endpoint, or an alert for a device. */
interface Sent {
  data?: { conversation_id?: number };
  kind?: string;
  notification_id?: number;
}
