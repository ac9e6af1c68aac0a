import { forgetAlerts } from '../alerts/erase.ts';
import type { Who } from '../audit/record.ts';
import { forgetActor } from '../audit/store.ts';
import { deletePerson, FORMER, hasNamesake } from '../auth/erase.ts';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Database, Transaction } from '../database/database.ts';
import { numberEvents } from '../events/log.ts';
import { renameInNotes, renameInResponses } from '../notifications/erase.ts';
import { NOBODY, type Person } from './person/person.ts';
import { addErasure } from './store.ts';

/** Deletes somebody who works for a merchant, or an operator. A worker then replaces the name where it was copied. */
export async function deleteUser(tx: Transaction, userId: number, by: { who: Who; at: Date }): Promise<void> {
  const { merchant_id: merchantId, name } = await deletePerson(tx, userId, by);
  await forgetActor(tx, merchantId, userId, FORMER);
  if (merchantId === null) return;
  await forgetAlerts(tx, merchantId, userId as UserId);
  await addErasure(tx, merchantId, { step: 'name', person: { ...NOBODY, names: [name], userId }, at: by.at });
}

/** Where the name of whoever did something is stored as a text. */
const COPIES = [
  { table: 'asks', column: 'answered_by', id: 'id' },
  { table: 'conversations', column: 'taken_over_by', id: 'id' },
  { table: 'deliveries', column: 'sent_by', id: 'id' },
] as const;
/** Where it is in a JSON text. */
const JSON_COPIES = [
  { table: 'events', column: 'content', id: 'position' },
  { table: 'deliveries', column: 'content', id: 'id' },
] as const;
const PAGE = 500;

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
  for (const { table, column, id } of [...COPIES, ...JSON_COPIES]) {
    for (let last = 0; ; await pause()) {
      const rows = await database.all<{ id: number; text: string | null }>(
        `select ${id} as id, ${column} as text from ${table} where merchant_id = $1 and ${id} > $2
          order by ${id} limit ${PAGE}`,
        [merchantId, last],
      );
      for (const row of rows) {
        const text = column === 'content' ? renamedIn(row.text, name) : row.text === name ? FORMER : row.text;
        if (text !== row.text)
          await database.run(`update ${table} set ${column} = $3 where merchant_id = $1 and ${id} = $2`, [
            ...[merchantId, row.id, text],
          ]);
      }
      if (rows.length < PAGE) break;
      last = rows.at(-1)!.id;
    }
  }
}

/** The texts of an event, or an event as a webhook endpoint gets it. A message to a customer is no JSON. */
function renamedIn(text: string | null, name: string): string | null {
  if (!text?.startsWith('{') || !text.includes(`"answered_by":${JSON.stringify(name)}`)) return text;
  try {
    const content = JSON.parse(text) as { answered_by?: string; data?: { answered_by?: string } };
    const names = [content, content.data].filter((one) => one?.answered_by === name);
    for (const one of names) one!.answered_by = FORMER;
    return names.length > 0 ? JSON.stringify(content) : text;
  } catch {
    return text;
  }
}
