import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { eraseStep } from '../../erasure/erase.ts';
import { countErasures, takeErasure } from '../../erasure/store.ts';

const LOOK_EVERY_MS = 200;
const LEASE_MS = 60_000;

/** Works until none of the merchant's erasures is left, together with running servers and workers. */
export async function finishErasures(database: Database, merchantId: MerchantId): Promise<void> {
  const now = () => new Date();
  while ((await countErasures(database, merchantId)) > 0) {
    const at = now();
    const erasure = await takeErasure(database, at, new Date(at.getTime() + LEASE_MS));
    if (erasure) await eraseStep({ database, now }, erasure);
    else await sleep(LOOK_EVERY_MS);
  }
}
