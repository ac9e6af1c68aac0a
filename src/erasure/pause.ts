import { inSlices } from '../http/limits/slices.ts';
import { type EraseParts, type Erasure, LEASE_MS, moveErasure } from './store.ts';

const RENEW_AFTER_MS = LEASE_MS / 4;

/** Thrown by a pause when the process stops. */
export class Stopped extends Error {}

/**
 * What a step calls between two pages or texts: others have their turn, and nobody else takes the erasure while the step
 * goes on.
 */
export function createPause(
  { database, now }: Pick<EraseParts, 'database' | 'now'>,
  { merchantId, id, step }: Erasure,
  isStopped: () => boolean = () => false,
): () => Promise<void> {
  const turn = inSlices();
  let renewedMs = now().getTime();
  return async () => {
    await turn();
    if (isStopped()) throw new Stopped();
    const nowMs = now().getTime();
    if (nowMs - renewedMs < RENEW_AFTER_MS) return;
    renewedMs = nowMs;
    await moveErasure(database, merchantId, id, { step, dueAt: new Date(nowMs + LEASE_MS) });
  };
}
