import { createLogger } from '../../../src/log.ts';
import { startResealing } from '../../../src/reseal.ts';
import { createVault, newSecretKey, readOrMakeSecretKey } from '../../../src/secrets.ts';
import type { Deskbell } from '../server.ts';
import { until } from '../shops.ts';

/** Encrypts everything with another key, and again with the first one, which the server knows. */
export async function changeKey({ database, config }: Deskbell): Promise<void> {
  const own = config.secretKey ?? readOrMakeSecretKey(config.secretKeyFile);
  const other = newSecretKey();
  for (const [current, previous] of [
    [other, own],
    [own, other],
  ] as const) {
    const vault = createVault(current, previous);
    vault.change!.sealWithCurrent();
    const lines: string[] = [];
    const log = createLogger({ logLevel: 'info', logPretty: false }, { write: (line) => lines.push(line) });
    const alone = { ...database, countAnnounced: async () => 1 };
    const resealing = startResealing({ database: alone, vault, log, lookEveryMs: 1 })!;
    const isDone = () => lines.some((line) => line.includes('can be removed'));
    // Thousands of rows.
    await until('everything is encrypted again', isDone, 120_000);
    await resealing.stop();
  }
}
