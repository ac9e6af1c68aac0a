import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { numberEvents } from './log.ts';

const PAGE = 500;

/** Removes the events that are about a person. Their positions are not used again. */
export async function eraseEvents(
  database: Database,
  merchantId: MerchantId,
  isTheirs: (text: string) => boolean,
  pause: () => Promise<void>,
): Promise<void> {
  await numberEvents(database, merchantId);
  for (let last = 0; ; ) {
    const rows = await database.all<{ position: number; data: string }>(
      `select position, data from events where merchant_id = $1 and position > $2 order by position limit ${PAGE}`,
      [merchantId, last],
    );
    const theirs = rows.filter(({ data }) => isTheirs(data)).map(({ position }) => position);
    if (theirs.length > 0)
      await database.run(`delete from events where ${ownIdIn(database, '$1', '$2', 'position')}`, [
        merchantId,
        theirs,
      ]);
    if (rows.length < PAGE) return;
    last = rows.at(-1)!.position;
    await pause();
  }
}
