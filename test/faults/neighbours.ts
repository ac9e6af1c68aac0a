import { AURORA, call, createTestDatabase } from '../harness.ts';
import { serve } from '../process.ts';
import { type Fault, type Finding, none, type Size } from './fault.ts';
import { accents } from './neighbours/accents.ts';
import type { Attack } from './neighbours/attack.ts';
import { silentConnections } from './neighbours/connections.ts';
import { largeContexts, longList } from './neighbours/largeLists.ts';
import { watchOthers } from './neighbours/others.ts';
import { eventStreams } from './neighbours/streams.ts';
import { unsignedWebhook } from './neighbours/unsignedWebhook.ts';
import { wrongSignInsFromManyAddresses, wrongSignInsFromOneAddress } from './neighbours/wrongSignIns.ts';

/**
 * How long another merchant's request may take during an attack. The aim is 100 ms. On two cores, which the attacker's
 * own client and the database share with the server, single requests take longer, so the limit leaves room for that.
 */
const OTHERS_MAX_MS: Record<Size, number> = { short: 1500, full: 400 };

/** A new attack is one entry here. */
const ATTACKS: readonly Attack[] = [
  wrongSignInsFromOneAddress,
  wrongSignInsFromManyAddresses,
  accents,
  unsignedWebhook,
  silentConnections,
  eventStreams,
  largeContexts,
  longList,
];

export const neighbours: Fault = {
  name: 'neighbours',
  title: 'one caller tries to slow down all others',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const findings: Finding[] = [];
    const attacks = ATTACKS.filter(({ fullOnly }) => size === 'full' || !fullOnly);
    for (const attack of attacks) findings.push(...(await runAttack(attack, engine, size)));
    return findings;
  },
};

async function runAttack(attack: Attack, engine: 'sqlite' | 'postgres', size: Size): Promise<Finding[]> {
  const testDatabase = await createTestDatabase(engine);
  try {
    await attack.prepare?.(testDatabase, size);
    const server = await serve({
      ...testDatabase.env,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ...attack.settings,
    });
    try {
      const { json } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
      const target = { server, testDatabase, engine, size, token: json.access_token as string };
      const others = await watchOthers(server);
      const own = await attack.run(target);
      const { requests, failed, longestMs } = await others.stop();
      return [
        ...own,
        { what: `${attack.what}: requests of others`, value: requests, atLeast: 10, dependsOnSpeed: true },
        none(`${attack.what}: requests of others that failed`, failed),
        {
          what: `${attack.what}: longest wait of others`,
          value: longestMs,
          unit: 'ms',
          atMost: OTHERS_MAX_MS[size],
        },
      ];
    } finally {
      await server.stop();
    }
  } finally {
    await testDatabase.remove();
  }
}
