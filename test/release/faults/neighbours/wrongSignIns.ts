import { Agent } from 'node:http';
import { AURORA } from '../../../support/server.ts';
import type { Finding } from '../fault.ts';
import type { Attack } from './attack.ts';
import { post } from './post.ts';

const CONNECTIONS = 260;
const SIGN_INS = 12;
/** Where the owner signs in before the attack begins. */
const HOME = '192.0.2.1';

/** Wrong sign-ins on many connections, while an owner at another address signs in with the right password. */
const wrongSignIns = (
  what: string,
  attackerAddress: (attempt: number) => string,
  ownerAddress: (attempt: number) => string,
): Attack => ({
  what,
  settings: { TRUST_PROXY: '1' },
  async run({ server }) {
    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
    const signIn = (email: string, password: string, address: string) =>
      post(server, agent, '/api/v1/auth/login', { email, password }, address);
    await signIn(AURORA.email, AURORA.password, HOME);

    let attempts = 0;
    let stopped = false;
    const attackers = Array.from({ length: CONNECTIONS }, async () => {
      while (!stopped) {
        attempts += 1;
        await signIn(`guest-${attempts}@shop.example`, 'wrong', attackerAddress(attempts)).catch(() => 0);
      }
    });
    const findings: Finding[] = [];
    try {
      let gotIn = 0;
      let longestMs = 0;
      for (let n = 0; n < SIGN_INS; n += 1) {
        const startedAt = performance.now();
        const status = await signIn(AURORA.email, AURORA.password, ownerAddress(n)).catch(() => 0);
        longestMs = Math.max(longestMs, performance.now() - startedAt);
        if (status === 200) gotIn += 1;
      }
      findings.push(
        { what: `${what}: sign-ins of an owner elsewhere`, value: SIGN_INS },
        { what: `${what}: … that succeeded`, value: gotIn, atLeast: SIGN_INS },
        { what: `${what}: … the longest`, value: longestMs, unit: 'ms' },
      );
    } finally {
      stopped = true;
      await Promise.all(attackers);
      agent.destroy();
    }
    return [{ what: `${what}: wrong sign-ins`, value: attempts }, ...findings];
  },
});

export const wrongSignInsFromOneAddress = wrongSignIns(
  'wrong sign-ins from one address',
  () => '203.0.113.7',
  // Each time from another place, so that none is known.
  (n) => `198.51.100.${n}`,
);

export const wrongSignInsFromManyAddresses = wrongSignIns(
  'wrong sign-ins from thousands of addresses',
  (n) => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`,
  () => HOME,
);
