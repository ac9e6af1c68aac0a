import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../../support/command.ts';
import { AURORA, call, OPERATOR } from '../../../support/server.ts';
import { none } from '../fault.ts';
import type { Attack } from './attack.ts';
import { post } from './post.ts';

const CONNECTIONS = 260;
/** The command that disables a user takes one or two seconds. */
const SECONDS = 10;
const what = 'refreshes of an ended session';

/** A former employee repeats the refresh token of an ended session. Meanwhile the operator disables another user. */
export const endedSession: Attack = {
  what,
  settings: { TRUST_PROXY: '1' },
  async run({ server, testDatabase }) {
    const signIn = async (body: object) =>
      (await call(server.url, 'POST', '/api/v1/auth/login', { body })).json;
    const { refresh_token } = await signIn(AURORA);
    await call(server.url, 'POST', '/api/v1/auth/logout', { body: { refresh_token } });
    const { access_token: token } = await signIn(OPERATOR);

    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
    const until = performance.now() + SECONDS * 1000;
    let sent = 0;
    let accepted = 0;
    const attackers = Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < until) {
        sent += 1;
        const path = '/api/v1/auth/refresh';
        const status = await post(server, agent, path, { refresh_token }, '203.0.113.7').catch(() => 0);
        if (status === 200) accepted += 1;
      }
    });
    try {
      const disabled = await run(['user', 'disable', OPERATOR.email], { env: testDatabase.env });
      if (disabled.code !== 0) throw new Error(disabled.stderr);
      const since = performance.now();
      while ((await call(server.url, 'GET', '/api/v1/auth/me', { token })).status !== 401) await sleep(5);
      const refusedAfterMs = performance.now() - since;
      await Promise.all(attackers);
      return [
        { what: `${what}: requests`, value: sent },
        none(`${what}: accepted`, accepted),
        {
          what: `${what}: a disabled user is refused after`,
          value: refusedAfterMs,
          unit: 'ms',
          atMost: 1000,
        },
      ];
    } finally {
      await Promise.all(attackers);
      agent.destroy();
    }
  },
};
