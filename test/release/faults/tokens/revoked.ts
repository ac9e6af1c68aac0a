import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER } from '../../../../src/audit/record.ts';
import { rotateKeys } from '../../../../src/auth/keys.ts';
import { revokeMachineKey } from '../../../../src/auth/machineKeys/store.ts';
import { endSession } from '../../../../src/auth/sessions/store.ts';
import { disableUser, setPassword } from '../../../../src/auth/users.ts';
import { openVault } from '../../../../src/auth/vault.ts';
import type { MerchantId } from '../../../../src/contract/ids.ts';
import { openDatabase } from '../../../../src/database/open.ts';
import { listen } from '../../../support/listening.ts';
import { addUser, type Deskbell, login, NOTIFICATIONS } from '../../../support/server.ts';

/**
 * How long the server accepts an access token or a program's key, and keeps its stream open, after another process has committed that it is
 * revoked. On SQLite such a process cannot send a signal.
 */
export async function measureRevocations(deskbell: Deskbell, rounds: number) {
  const { config, clock } = deskbell;
  const other = await openDatabase(config, 'command');
  const signIn = async () => {
    const user = await addUser(deskbell);
    const token: string = (await login(deskbell, user)).json.access_token;
    const { sid } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
    return { token, userId: user.id, sessionId: String(sid) };
  };
  /** Each returns a token and a function that revokes it. */
  const ways: (() => Promise<{ token: string; revoke: () => Promise<unknown> }>)[] = [
    async () => {
      const { token, userId, sessionId } = await signIn();
      return {
        token,
        revoke: () => other.transaction((tx) => endSession(tx, userId, sessionId, clock.now())),
      };
    },
    async () => {
      const { token, userId } = await signIn();
      return { token, revoke: () => setPassword(other, userId, 'unused', clock.now(), SERVER) };
    },
    async () => {
      const { token, userId } = await signIn();
      return { token, revoke: () => disableUser(other, userId, clock.now(), SERVER) };
    },
    async () => {
      const body = { name: 'Revoked', scopes: ['notifications:read'] };
      const { json } = await deskbell.call('POST', '/api/v1/keys', { token: await deskbell.signIn(), body });
      const revoke = () =>
        other.transaction((tx) => revokeMachineKey(tx, 1 as MerchantId, json.id, clock.now()));
      return { token: json.key, revoke };
    },
    async () => {
      const { token } = await signIn();
      return {
        token,
        revoke: () => rotateKeys(other, openVault(config), clock.now(), { revoke: true }, SERVER),
      };
    },
  ];
  const tokenMs: number[] = [];
  const streamMs: number[] = [];
  try {
    for (let round = 0; round < rounds * ways.length; round += 1) {
      const { token, revoke } = await ways[round % ways.length]!();
      const stream = await listen(deskbell, token);
      // At different times between two polls.
      await sleep(Math.random() * 500);
      await revoke();
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
