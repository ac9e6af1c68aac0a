import { setTimeout as sleep } from 'node:timers/promises';
import { openFittingVault } from '../../auth/vault.ts';
import type { Config } from '../../config.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { createChannels } from '../../delivery/channels/merchantChannels.ts';
import { eraseStep } from '../../erasure/erase.ts';
import { createPause } from '../../erasure/pause.ts';
import { countErasures, type EraseParts, LEASE_MS, takeErasure } from '../../erasure/store.ts';
import { noticeWait } from '../terminal.ts';

const LOOK_EVERY_MS = 200;

/** Call it before the erasure begins: it throws if the channels cannot be read. */
export async function openEraseParts(database: Database, config: Config): Promise<EraseParts> {
  const now = () => new Date();
  const vault = await openFittingVault(database, config);
  const { idsOf } = createChannels({ database, vault, now }, config);
  return { database, channelsOf: idsOf, now };
}

/** Works until none of the merchant's erasures is left, together with running servers and workers. */
export async function finishErasures(parts: EraseParts, merchantId: MerchantId): Promise<void> {
  const { database, now } = parts;
  const notice = noticeWait(
    'What is being sent at this moment must end before the rest is erased. This takes about half a minute …',
  );
  while ((await countErasures(database, merchantId)) > 0) {
    const at = now();
    const lease = { at, leaseUntil: new Date(at.getTime() + LEASE_MS) };
    const erasure = await takeErasure(database, lease, merchantId);
    if (erasure) await eraseStep({ ...parts, pause: createPause(parts, erasure) }, erasure);
    else {
      notice();
      await sleep(LOOK_EVERY_MS);
    }
  }
}
