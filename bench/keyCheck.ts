import { openKeyring } from '../src/auth/keys.ts';
import { createMachineKey } from '../src/auth/machineKeys/store.ts';
import { createMachineKeys } from '../src/auth/machineKeys/verify.ts';
import { createTokens } from '../src/auth/tokens.ts';
import { openVault } from '../src/auth/vault.ts';
import type { MerchantId } from '../src/contract/ids.ts';
import type { Database } from '../src/database/database.ts';
import { createLogger } from '../src/log.ts';
import { MERCHANTS } from './data.ts';
import type { Instance } from './instance.ts';
import { median } from './measure.ts';
import type { Row } from './report.ts';

const CHECKS = 200_000;
const TURNS = 9;
const now = () => new Date();

/**
 * What each request pays for its key or token, once the server knows it. Both take turns in this process, and the CPU
 * time counts: next to a whole request, which takes 50 times as long, the difference would be lost in the noise.
 */
export const compareKeyCheck = (instance: Instance): Promise<Row> =>
  instance.query(async (database) => {
    const { config, engine } = instance;
    const nothing = { isRevoked: () => false };
    const keyring = await openKeyring({ database, vault: openVault(config), log: console, now });
    const tokens = createTokens(keyring, nothing, { issuer: config.tokenIssuer, ...config }, now);
    const log = createLogger({ ...config, logLevel: 'silent' });
    const keys = createMachineKeys({ ...config, database, revocations: nothing, log, now });
    const keyTexts = await createKeys(database);
    for (const token of instance.tokens) await tokens.verify('access', token);
    for (const key of keyTexts) await keys.verify(key);

    const times = Array.from({ length: TURNS }, () => ({
      token: microsPerCheck(instance.tokens, tokens.cached),
      key: microsPerCheck(keyTexts, keys.cached),
    }));
    const of = (kind: 'token' | 'key') => median(times.map((each) => each[kind])).toFixed(2);
    console.log(`${engine}: ${of('key')} µs for a key, ${of('token')} µs for a token`);
    return {
      id: 'key',
      title: 'check of a key',
      engine,
      value: median(times.map(({ key, token }) => key / token)),
      unit: 'of token',
      target: { atMost: 1 },
    };
  });

function microsPerCheck(texts: readonly string[], check: (text: string) => unknown): number {
  // A new string for each check, as for each request: its hash is not known yet.
  const headers = texts.map((text) => Buffer.from(text));
  const before = process.cpuUsage();
  for (let n = 0; n < CHECKS; n += 1) {
    if (!check(headers[n % headers.length]!.toString('latin1'))) throw new Error('this should be known');
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CHECKS;
}

/** One for each merchant. */
const createKeys = (database: Database): Promise<string[]> =>
  database.transaction(async (tx) => {
    const wanted = { name: 'Bench', scopes: ['ask'], expiresAt: undefined, at: now() } as const;
    const keys: string[] = [];
    for (let merchant = 1; merchant <= MERCHANTS; merchant += 1) {
      keys.push((await createMachineKey(tx, merchant as MerchantId, wanted))!.key);
    }
    return keys;
  });
