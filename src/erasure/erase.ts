import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordOfConversations, SERVER } from '../audit/record.ts';
import { countBytes } from '../conversations/storage.ts';
import { CHANGES } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { pagesOf } from '../database/pages.ts';
import { eraseDeliveries, eraseEndpointDeliveries, hasDeliveries } from '../delivery/queue/ofPerson.ts';
import { numberEvents } from '../events/log.ts';
import { learnedFrom, questionKey, redactDocument, textsOf } from '../knowledge/documents/redact.ts';
import { listNotifications, othersAmong, removeForGood } from '../notifications/ofCustomer.ts';
import { takeOthers } from './begin.ts';
import { eraseName } from './colleague.ts';
import { type Lookup, without } from './person/find.ts';
import { ownNumbers } from './person/numbers.ts';
import { addPhone, knowing, lookupOf, NOBODY, type Person } from './person/person.ts';
import { deleteRows, redactRows, removeBlankRows } from './rows.ts';
import {
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
/** A request or a worker that began before the erasure has ended by now: nothing of the person is written after this. */
export const AGAIN_AFTER_MS = 30_000;
const RETRY_MS = 1000;

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
        await eraseMessages(parts, erasure);
        await eraseRows(parts, erasure);
        return { step: 'sending', dueAt: now() };
      case 'sending':
        return (await eraseMessages(parts, erasure))
          ? { step: 'texts', dueAt: now() }
          : { step: 'sending', ...soon };
      case 'texts':
        await eraseTexts(parts, erasure);
        return { step: 'again', dueAt: new Date(Date.parse(erasure.createdAt) + AGAIN_AFTER_MS) };
      case 'again':
        if (!(await eraseMessages(parts, erasure))) return { step: 'again', ...soon };
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
    await database.transaction((tx) => removeBlankRows(tx, merchantId, ids));
    await pause();
  }
}

/** The messages to the person. False if one is being sent: then again, a moment later. */
async function eraseMessages(parts: EraseParts, erasure: Erasure): Promise<boolean> {
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
    await countBytes(tx, merchantId, 0);
    const options = { at: now(), limit: BATCH_MAX };
    const removed = await eraseDeliveries(tx, merchantId, conversationId, options);
    const known = knowing(person, {
      phones: await ownNumbers(tx, erasure, removed.recipients),
      channelIds: removed.channelIds,
    });
    if (removed.count > 0) await savePerson(tx, merchantId, id, known);
    if (removed.bytes > 0) await countBytes(tx, merchantId, -removed.bytes);
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
    await deleteRows(database, merchantId, conversationId, pause);
  }
  await eraseEvents(parts, erasure);
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
  const learned = await learnedFrom(database, merchantId, ids);
  const know = (person: Person, documentIds: readonly number[]) => {
    const all = new Set([...person.documentIds, ...documentIds]);
    return { ...knowing(person, { phones }), documentIds: [...all] };
  };
  erasure.person = know(erasure.person, learned);
  await savePerson(database, merchantId, id, erasure.person);
  const theirs = { questions, notificationIds: new Set(ids) };
  for (const documentId of learned) {
    const redact = await redactionOf(await textsOf(database, merchantId, documentId), lookup, pause);
    await database.transaction((tx) =>
      redactDocument(tx, merchantId, documentId, { ...theirs, redact }, now()),
    );
    await pause();
  }
  erasure.person = await database.transaction(async (tx) => {
    await removeForGood(tx, merchantId, ids);
    // From an answer that was being written when the erasure began.
    const late = (await learnedFrom(tx, merchantId, ids)).filter((one) => !learned.includes(one));
    const redact = (text: string) => without(text, lookup);
    for (const documentId of late)
      await redactDocument(tx, merchantId, documentId, { ...theirs, redact }, now());
    const person = know(erasure.person, late);
    if (late.length > 0) await savePerson(tx, merchantId, id, person);
    const redactTitle = (title: string) => (questions.has(questionKey(title)) ? '…' : title);
    await redactRows(tx, merchantId, redactTitle, { only: 'knowledge_removals' });
    return person;
  });
  return ids.length === NOTIFICATIONS_MAX;
}

/** The events that are about the person. Their positions are not used again. */
async function eraseEvents(
  { database, pause = nextTurn }: EraseParts,
  { merchantId, person: { conversationIds } }: Erasure,
): Promise<void> {
  await numberEvents(database, merchantId);
  const own = new Set<unknown>(conversationIds);
  const events = { name: 'events', key: 'position' };
  for await (const page of pagesOf<{ data: string }>(database, events, merchantId, 'data')) {
    const theirs = page.filter(({ data }) => own.has(JSON.parse(data).conversation_id));
    const positions = theirs.map(({ page_key }) => Number(page_key));
    if (positions.length > 0)
      await database.run(`delete from events where ${ownIdIn(database, '$1', '$2', 'position')}`, [
        ...[merchantId, positions],
      ]);
    await pause();
  }
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
    const content = readSent(text);
    // Only the event's own field: the assistant's metadata may have one with the same name.
    const isTheirs = own.has(content.data?.conversation_id);
    read.push({ isTheirs, alertOf: content.kind === undefined ? 0 : (content.notification_id ?? 0) });
    await pause();
  }
  const alerts = read.flatMap(({ alertOf }) => (alertOf > 0 ? [alertOf] : []));
  const others = await othersAmong(database, merchantId, alerts, conversationIds);
  return read.map(({ isTheirs, alertOf }) => isTheirs || (alertOf > 0 && !others.has(alertOf)));
}

function readSent(text: string): Sent {
  try {
    return JSON.parse(text) as Sent;
  } catch {
    return {};
  }
}

/** An event for a webhook endpoint, or an alert for a device. */
interface Sent {
  data?: { conversation_id?: number };
  kind?: string;
  notification_id?: number;
}
