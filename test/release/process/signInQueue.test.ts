import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDemoDatabase } from '../../support/databases.ts';
import { serve } from '../../support/process.ts';
import { AURORA, assertError, call, type Deskbell, login, type Reply } from '../../support/server.ts';

type Caller = Pick<Deskbell, 'call'>;
const from = (address: string) => ({ 'x-forwarded-for': address });

async function assertOpen(server: Caller, user: typeof AURORA, headers: Record<string, string>) {
  const reply = await login(server, user, headers);
  assert.equal(reply.status, 200, reply.text);
}

// The queue for the password hash uses no database: one engine is enough.
describe('while more sign-ins arrive than can be checked', () => {
  /** Fills the queue of a new server, and keeps it full during `work`. Returns the replies to the others. */
  async function withFullQueue(
    addressOf: (guest: number) => string,
    work: (server: Caller, fill: () => Promise<void>) => Promise<void>,
  ) {
    const testDatabase = await createDemoDatabase('sqlite', 'weak');
    const settings = {
      ...{ TRUST_PROXY: '1', RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' },
      // Only the length of the queue decides, not the speed of the machine.
      REQUEST_DEADLINE_SECONDS: '60',
    };
    const program = await serve({ ...testDatabase.env, ...settings });
    const server: Caller = { call: (...request) => call(program.url, ...request) };
    const replies: Reply[] = [];
    const isFull = Promise.withResolvers<void>();
    let guests = 0;
    let isOver = false;
    const sendGuests = async () => {
      while (!isOver) {
        guests += 1;
        const guest = { email: `guest-${guests}@limits.example`, password: 'guess' };
        const reply = await login(server, guest, from(addressOf(guests)));
        replies.push(reply);
        if (reply.status === 503) isFull.resolve();
        await sleep(20);
      }
    };
    let others: Promise<unknown> = Promise.resolve();
    const fill = async () => {
      // They come at the same moment, even if it takes this process seconds to send them. Otherwise the server may check
      // a hundred before, and then none from this address gets into the queue any more.
      program.child.kill('SIGSTOP');
      others = Promise.allSettled(Array.from({ length: 260 }, sendGuests));
      // In turns of this process: the time in which it does not run does not count.
      for (let turns = 0; turns < 50; turns += 1) await sleep(10);
      program.child.kill('SIGCONT');
      await isFull.promise;
    };
    try {
      await work(server, fill);
    } finally {
      isOver = true;
      // The process dies with its queue: checking two hundred passwords would take seconds.
      await program.stop('SIGKILL');
      await others;
      await testDatabase.remove();
    }
    return Map.groupBy(replies, ({ status }) => status);
  }

  it('from one address, the owner at another one gets in, and those that do not fit get 503 with Retry-After', async () => {
    const replies = await withFullQueue(
      () => '203.0.113.7',
      async (server, fill) => {
        await fill();
        for (let n = 0; n < 4; n += 1) await assertOpen(server, AURORA, from(`198.51.100.${n}`));
      },
    );
    for (const reply of replies.get(503)!) {
      assertError(reply, 503, 'SERVICE_UNAVAILABLE');
      assert.ok(Number(reply.headers.get('retry-after')) > 0);
    }
  });

  it('from hundreds of addresses, the owner gets in from where the owner has signed in before', async () => {
    await withFullQueue(
      (guest) => `10.1.${guest >> 8}.${guest & 255}`,
      async (server, fill) => {
        const home = from('192.0.2.1');
        await assertOpen(server, AURORA, home);
        await fill();
        for (let n = 0; n < 4; n += 1) await assertOpen(server, AURORA, home);
      },
    );
  });
});
