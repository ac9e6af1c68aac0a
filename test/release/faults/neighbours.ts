import type { Engine } from '../../../src/database/database.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { serve } from '../../support/process.ts';
import { AURORA, call } from '../../support/server.ts';
import { type Fault, type Finding, mayRetry, none, type Size } from './fault.ts';
import { accents } from './neighbours/accents.ts';
import type { Attack, Target } from './neighbours/attack.ts';
import { largeContexts, longList } from './neighbours/largeLists.ts';
import { watchOthers } from './neighbours/others.ts';
import { slowWebhook } from './neighbours/slowWebhook.ts';
import { unsignedWebhook } from './neighbours/unsignedWebhook.ts';
import { waitingAssistants } from './neighbours/waiting.ts';
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
  accents,
  unsignedWebhook,
  slowWebhook,
  waitingAssistants,
  largeContexts,
  longList,
];
/** The others take too long, or a plain test shows what they show. */
const SHORT_ATTACKS: readonly Attack[] = [largeContexts, accents, unsignedWebhook];

export const neighbours: Fault = {
  name: 'neighbours',
  title: 'one caller tries to slow down all others',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const findings: Finding[] = [];
    // In the short version one server is attacked in every way, first in the one that measures its memory.
    const groups = size === 'short' ? [SHORT_ATTACKS] : ATTACKS.map((attack) => [attack]);
    for (const attacks of groups) {
      const all = await runAttacks(attacks, engine, size);
      for (const [n, attack] of attacks.entries()) {
        let measured = all[n]!;
        // Here, so that one disturbed attack does not repeat them all.
        for (let again = 0; again < AGAIN_MAX && mayRetry(measured); again += 1) {
          [measured = []] = await runAttacks([attack], engine, size);
        }
        findings.push(...measured);
      }
    }
    return findings;
  },
};

/** Attacks one server, one attack after another. Returns the figures of each attack. */
async function runAttacks(attacks: readonly Attack[], engine: Engine, size: Size): Promise<Finding[][]> {
  const testDatabase = await createDemoDatabase(engine);
  try {
    for (const { prepare } of attacks) await prepare?.(testDatabase, size);
    const server = await serve({
      ...testDatabase.env,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ...Object.assign({}, ...attacks.map(({ settings }) => settings)),
    });
    try {
      const { json } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
      const target = { server, testDatabase, engine, size, token: json.access_token as string };
      const findings: Finding[][] = [];
      for (const attack of attacks) findings.push(await runAttack(attack, target));
      return findings;
    } finally {
      await server.stop();
    }
  } finally {
    await testDatabase.remove();
  }
}

async function runAttack({ what, warmUp, run }: Attack, target: Target): Promise<Finding[]> {
  await warmUp?.(target);
  const others = await watchOthers(target.server);
  const own = await run(target);
  const { requests, failed, longestMs } = await others.stop();
  return [
    ...own,
    { what: `${what}: requests of others`, value: requests, atLeast: 10, dependsOnSpeed: true },
    // A server that the host stops for a second is overloaded then, and refuses with 503.
    { ...none(`${what}: requests of others that failed`, failed), dependsOnSpeed: true },
    {
      what: `${what}: longest wait of others`,
      value: longestMs,
      unit: 'ms',
      atMost: target.size === 'short' ? SHORT_MAX_MS : OTHERS_MAX_MS,
    },
  ];
}
