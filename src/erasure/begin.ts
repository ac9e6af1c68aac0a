import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordOfConversations, type Who } from '../audit/record.ts';
import type { MerchantId } from '../contract/ids.ts';
import { findPerson, findWithPhone, lockConversations } from '../conversations/person.ts';
import { customersChanged } from '../conversations/searchChange.ts';
import { renewVersion } from '../conversations/storage.ts';
import { NO_NAME } from '../conversations/store.ts';
import { wrongPhonesOf } from '../conversations/wrongPhones.ts';
import type { Transaction } from '../database/database.ts';
import { cancelOpen } from '../delivery/queue/ofPerson.ts';
import { dropHeld } from '../notifications/ofCustomer.ts';
import { ownNumbers } from './person/numbers.ts';
import { knowing, NOBODY, type Person } from './person/person.ts';
import { blankRows } from './rows.ts';
import { addErasure, type EraseParts, type Erasure, savePerson } from './store.ts';

/** Conversations of one person in one transaction: others wait for it. */
const CONVERSATIONS_MAX = 50;

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
  if (ids.length === 0) return undefined;
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
  const wrong = await wrongPhonesOf(tx, merchantId, taken);
  await blankRows(tx, merchantId, taken, at);
  await customersChanged(tx, merchantId, taken);
  await renewVersion(tx, merchantId);
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
export async function takeOthers(
  { database, pause = nextTurn }: EraseParts,
  erasure: Erasure,
): Promise<void> {
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
