import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Database } from '../database/database.ts';
import { createVault, newSecretKey } from '../secrets.ts';
import { everybodySeals } from './keyChange.ts';

const vault = createVault(newSecretKey(), newSecretKey());
const withCounts = (processes: number, sealing: number) =>
  ({
    countAnnounced: async (name: string) => (name === 'deskbell processes' ? processes : sealing),
  }) as unknown as Database;

it('everybody has the new key only if somebody is announced, and all of them have it', async () => {
  const cases: [number, number, boolean][] = [
    // PostgreSQL has just started again: nobody is announced, not even this process.
    [0, 0, false],
    [1, 0, false],
    [1, 1, true],
    [3, 2, false],
    [3, 3, true],
    // One has ended between the two looks.
    [2, 3, true],
  ];
  for (const [processes, sealing, expected] of cases)
    assert.equal(
      await everybodySeals(withCounts(processes, sealing), vault),
      expected,
      `${processes}, ${sealing}`,
    );
});
