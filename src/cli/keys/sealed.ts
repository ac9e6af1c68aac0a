import { countWithoutKey } from '../../auth/keyChange.ts';
import type { Database } from '../../database/database.ts';
import { countSealed, SEALED, type SealedCounts } from '../../reseal.ts';
import type { Vault } from '../../secrets.ts';
import { count } from '../terminal.ts';

/** What is encrypted with which key, and whether SECRET_KEY_PREVIOUS is still needed. */
export interface SealedReport {
  rows: ({ what: string } & SealedCounts)[];
  total: SealedCounts;
  previousNeeded: boolean;
  /** In one or two sentences. */
  summary: string;
}

export async function reportSealed(database: Database, vault: Vault): Promise<SealedReport> {
  const rows: SealedReport['rows'] = [];
  const total: SealedCounts = { current: 0, previous: 0, neither: 0 };
  for (const sealed of SEALED) {
    const counts = await countSealed(database, vault, sealed);
    rows.push({ what: sealed.about, ...counts });
    for (const which of ['current', 'previous', 'neither'] as const) total[which] += counts[which];
  }
  return {
    rows,
    total,
    previousNeeded: total.previous > 0,
    summary: await summaryOf(database, vault, total),
  };
}

async function summaryOf(database: Database, vault: Vault, total: SealedCounts): Promise<string> {
  if (!vault.change) {
    return total.neither === 0
      ? 'SECRET_KEY has encrypted everything.'
      : `SECRET_KEY cannot decrypt ${count(total.neither, 'row')}. Set the key before it as SECRET_KEY_PREVIOUS.`;
  }
  // After a change that is finished, and before one that begins with the keys in the wrong places, it looks the same.
  if (total.previous === 0)
    return (
      'SECRET_KEY has encrypted everything that can be decrypted, SECRET_KEY_PREVIOUS nothing. Are the two swapped? ' +
      'If SECRET_KEY is the old key, exchange them. If it is the new one, SECRET_KEY_PREVIOUS can be removed.'
    );
  const without = await countWithoutKey(database, vault);
  return [
    `${count(total.previous, 'row')} still encrypted with SECRET_KEY_PREVIOUS: keep it.`,
    without > 0
      ? `${without === 1 ? '1 process is running without the new SECRET_KEY: restart it' : `${without} processes are running without the new SECRET_KEY: restart them`} with both keys.`
      : 'A server or worker encrypts them with SECRET_KEY, a minute after all of them know it.',
  ].join(' ');
}
