import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../../contract/ids.ts';
import type { Confident } from '../../contract/merchant.ts';
import type { Queries } from '../../database/database.ts';
import { confidentColumn, readConfident } from '../../merchants/store.ts';
import { listOutcomes } from './store.ts';
import { type Learned, learnThreshold, thresholdFor } from './threshold.ts';

/** From which score on a merchant's answers are given without asking a person. */
export interface Confidence {
  read(merchantId: MerchantId): Promise<ConfidenceState>;
}

interface ConfidenceState {
  setting: Confident;
  /** In force. Null: never. */
  threshold: number | null;
  /** False: only for the same question, because nothing but the default says that it is safe. */
  isEarned: boolean;
  learned: Learned;
  resetAt: string | null;
}

const REMEMBERED_MAX = 10_000;

/** Learns only if an outcome has changed since the last time: otherwise it costs one look-up by key. */
export function createConfidence(database: Queries): Confidence {
  const remembered = new LRUCache<MerchantId, { version: number; learned: Learned }>({ max: REMEMBERED_MAX });

  async function learnedBy(merchantId: MerchantId, version: number, resetAt: string | null) {
    const known = remembered.get(merchantId);
    if (known?.version === version) return known.learned;
    // Version 0: there never was an outcome.
    const outcomes = version === 0 ? [] : await listOutcomes(database, merchantId, resetAt);
    const learned = learnThreshold(
      outcomes.map(({ score, outcome }) => ({ score, isRight: outcome === 'right' })),
    );
    // An outcome that is newer than the version only makes the next call learn again.
    remembered.set(merchantId, { version, learned });
    return learned;
  }

  return {
    async read(merchantId) {
      const row = await database.one<{ setting: string | null; version: number; reset_at: string | null }>(
        `select ${confidentColumn('$1')} as setting,
          coalesce((select c.version from confidence c where c.merchant_id = $1), 0) as version,
          (select c.reset_at from confidence c where c.merchant_id = $1) as reset_at`,
        [merchantId],
      );
      const setting = readConfident(row?.setting ?? 'learned');
      const resetAt = row?.reset_at ?? null;
      const learned = await learnedBy(merchantId, row?.version ?? 0, resetAt);
      const isEarned = setting === 'learned' ? learned.isEarned : true;
      return { setting, threshold: thresholdFor(setting, learned), isEarned, learned, resetAt };
    },
  };
}
