// The queue before the check of a password. The release tests fill that of a server with real sign-ins.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serviceUnavailable } from '../../../src/errors.ts';
import { createFairSlots } from '../../../src/http/limits/fairSlots.ts';

const WAITING_MAX = 4;

/** One password is being checked, and these wait. Returns who got a turn, in order, and who was refused. */
async function checkAll(waiting: readonly { name: string; group: string; isKnown?: boolean }[]) {
  const inSlot = createFairSlots(1, WAITING_MAX);
  const first = Promise.withResolvers<void>();
  const running = inSlot({ group: 'first', isKnown: false }, () => first.promise);
  const checked: string[] = [];
  const refused: string[] = [];
  const all = waiting.map(({ name, group, isKnown = false }) =>
    inSlot({ group, isKnown }, async () => void checked.push(name)).catch((error) => {
      assert.deepEqual(error, serviceUnavailable());
      refused.push(name);
    }),
  );
  first.resolve();
  await Promise.all([running, ...all]);
  return { checked, refused };
}
const guests = (count: number, groupOf: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => ({ name: `guest ${n}`, group: groupOf(n) }));

describe('while more sign-ins arrive than can be checked', () => {
  it('from one address, somebody at another one gets in, and those that do not fit get 503', async () => {
    const owner = { name: 'owner', group: 'home' };
    const { checked, refused } = await checkAll([...guests(6, () => 'attacker'), owner]);
    assert.deepEqual(checked, ['guest 0', 'owner', 'guest 1', 'guest 2']);
    assert.deepEqual(refused, ['guest 4', 'guest 5', 'guest 3']);
  });

  it('from hundreds of addresses, somebody gets in from where they have signed in before', async () => {
    const owner = { name: 'owner', group: 'home', isKnown: true };
    const { checked, refused } = await checkAll([...guests(300, (n) => `address ${n}`), owner]);
    assert.deepEqual(checked.slice(0, 2), ['owner', 'guest 0']);
    assert.equal(refused.length, 300 - WAITING_MAX);
  });
});
