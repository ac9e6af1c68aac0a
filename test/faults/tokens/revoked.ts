import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER } from '../../../src/audit/record.ts';
import { rotateKeys } from '../../../src/auth/keys.ts';
import { endSession } from '../../../src/auth/sessions/store.ts';
import { disableUser, setPassword } from '../../../src/auth/users.ts';
import { openVault } from '../../../src/auth/vault.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { addUser, type Deskbell, login, NOTIFICATIONS } from '../../harness.ts';
import { listen } from '../../listening.ts';

/**
 * How long the server accepts an access token, and keeps its stream open, after another process has committed that it is
 * revoked. On SQLite such a process cannot send a signal.
 */
export async function measureRevocations(deskbell: Deskbell, rounds: number) {
  const { config, clock } = deskbell;
  const other = await openDatabase(config, 'command');
  const ways = [
    (userId: number, sessionId: string) => endSession(other, userId, sessionId, clock.now()),
    (userId: number) => setPassword(other, userId, 'unused', clock.now(), SERVER),
    (userId: number) => disableUser(other, userId, clock.now(), SERVER),
    () => rotateKeys(other, openVault(config), clock.now(), { revoke: true }, SERVER),
  ];
  const tokenMs: number[] = [];
  const streamMs: number[] = [];
  try {
    for (let round = 0; round < rounds * ways.length; round += 1) {
      const user = await addUser(deskbell);
      const token: string = (await login(deskbell, user)).json.access_token;
      const { sid } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
      const stream = await listen(deskbell, token);
      // At different times between two polls.
      await sleep(Math.random() * 500);
      await ways[round % ways.length]!(user.id, sid);
      const startedAt = performance.now();
      const refused = async () => {
        while ((await deskbell.call('GET', `${NOTIFICATIONS}/?limit=1`, { token })).status === 200)
          await sleep(5);
        tokenMs.push(performance.now() - startedAt);
      };
      await Promise.all([refused(), stream.ended.then(() => streamMs.push(performance.now() - startedAt))]);
    }
  } finally {
    await other.close();
  }
  return { tokenMs: Math.max(...tokenMs), streamMs: Math.max(...streamMs) };
}
