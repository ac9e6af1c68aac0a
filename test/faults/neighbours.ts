import type { Engine } from '../../src/database/database.ts';
import { createTestDatabase } from '../databases.ts';
import { AURORA, call } from '../harness.ts';
import { serve } from '../process.ts';
import { type Fault, type Finding, mayRetry, none, type Size } from './fault.ts';
import { accents } from './neighbours/accents.ts';
import type { Attack } from './neighbours/attack.ts';
import { silentConnections } from './neighbours/connections.ts';
import { endedSession } from './neighbours/endedSession.ts';
import { largeContexts, longList } from './neighbours/largeLists.ts';
import { watchOthers } from './neighbours/others.ts';
import { slowWebhook } from './neighbours/slowWebhook.ts';
import { eventStreams } from './neighbours/streams.ts';
import { unsignedWebhook } from './neighbours/unsignedWebhook.ts';
import { wrongSignInsFromManyAddresses, wrongSignInsFromOneAddress } from './neighbours/wrongSignIns.ts';

/** How long another merchant's request may take during an attack. */
const OTHERS_MAX_MS = 100;
/** Tests of other files run beside the short version, so it only notices an attack that stops everybody. */
const SHORT_MAX_MS = 1500;

/** A single wait is easily disturbed: the server, its database, the attacker and the others share the cores. */
const AGAIN_MAX = 2;

/** A new attack is one entry here. */
const ATTACKS: readonly Attack[] = [
  wrongSignInsFromOneAddress,
  wrongSignInsFromManyAddresses,
  endedSession,
  accents,
  unsignedWebhook,
  slowWebhook,
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
    for (const attack of attacks) {
      let measured = await runAttack(attack, engine, size);
      // Here, so that one disturbed attack does not repeat them all.
      for (let again = 0; again < AGAIN_MAX && mayRetry(measured); again += 1) {
        measured = await runAttack(attack, engine, size);
      }
      findings.push(...measured);
    }
    return findings;
  },
};

async function runAttack(attack: Attack, engine: Engine, size: Size): Promise<Finding[]> {
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
          atMost: size === 'short' ? SHORT_MAX_MS : OTHERS_MAX_MS,
        },
      ];
    } finally {
      await server.stop();
    }
  } finally {
    await testDatabase.remove();
  }
}
