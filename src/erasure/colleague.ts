import { forgetDevices } from '../alerts/subscriptions.ts';
import type { Who } from '../audit/record.ts';
import { forgetActor } from '../audit/store.ts';
import { closeAccount, FORMER, hasNamesake } from '../auth/leave.ts';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Database, Transaction } from '../database/database.ts';
import { numberEvents } from '../events/log.ts';
import { renameInNotes } from '../notifications/team/rename.ts';
import { NOBODY, type Person } from './person/person.ts';
import { renameInResponses } from './responses.ts';
import { deleteRowsOfUser, renameRows } from './rows.ts';
import { addErasure } from './store.ts';

/** Deletes somebody who works for a merchant, or an operator. A worker then replaces the name where it was copied. */
export async function deleteUser(tx: Transaction, userId: number, by: { who: Who; at: Date }): Promise<void> {
  const { merchant_id: merchantId, name } = await closeAccount(tx, userId, by);
  await forgetActor(tx, merchantId, userId, FORMER);
  if (merchantId !== null) await forgetDevices(tx, merchantId, userId as UserId);
  await deleteRowsOfUser(tx, merchantId, userId);
  if (merchantId === null) return;
  await addErasure(tx, merchantId, { step: 'name', person: { ...NOBODY, names: [name], userId }, at: by.at });
}

export async function eraseName(
  database: Database,
  merchantId: MerchantId,
  { names: [name = ''], userId }: Person,
  pause: () => Promise<void>,
): Promise<void> {
  // What somebody else with this name did would become the work of nobody.
  const isUnique = !(await hasNamesake(database, merchantId, name));
  const former = { userId, name, to: FORMER, isUnique };
  await renameInNotes(database, merchantId, former, pause);
  await renameInResponses(database, merchantId, former, pause);
  if (!isUnique) return;
  await numberEvents(database, merchantId);
  await renameRows(database, merchantId, { from: name, to: FORMER }, pause);
}
