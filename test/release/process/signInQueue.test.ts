import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { type Serving, serve } from '../../support/process.ts';
import { AURORA, assertError, call, type Deskbell, login, type Reply } from '../../support/server.ts';

/** More than may wait for a check of their password. */
const GUESTS = 260;
const from = (address: string) => ({ 'x-forwarded-for': address });

// The queue uses no database: one engine is enough. Its order is tested in test/features/people/signInQueue.test.ts.
let database: TestDatabase;
let program: Serving;
before(async () => {
  database = await createDemoDatabase('sqlite', 'weak');
  const settings = { TRUST_PROXY: '1', RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };
  // Only the length of the queue decides, not the speed of the machine.
  program = await serve({ ...database.env, ...settings, REQUEST_DEADLINE_SECONDS: '60' });
});
after(async () => {
  // The process dies with its queue: checking two hundred passwords would take seconds.
  await program?.stop('SIGKILL');
  await database?.remove();
});

it('while more sign-ins arrive than can be checked, the owner gets in from a known place, and the others get 503', async () => {
  const server: Pick<Deskbell, 'call'> = { call: (...request) => call(program.url, ...request) };
  const assertOpen = async () => {
    const { status, text } = await login(server, AURORA, from('192.0.2.1'));
    assert.equal(status, 200, text);
  };
  await assertOpen();
  const refused: Reply[] = [];
  const isFull = Promise.withResolvers<void>();
  let isOver = false;
  let guests = 0;
  const sendGuests = async () => {
    while (!isOver) {
      guests += 1;
      const guest = { email: `guest-${guests}@limits.example`, password: 'guess' };
      const reply = await login(server, guest, from(`10.1.${guests >> 8}.${guests & 255}`));
      if (reply.status === 503) refused.push(reply);
      if (reply.status === 503) isFull.resolve();
      await sleep(20);
    }
  };
  // They come at the same moment, even if it takes this process seconds to send them.
  program.child.kill('SIGSTOP');
  const others = Promise.allSettled(Array.from({ length: GUESTS }, sendGuests));
  // In turns of this process: the time in which it does not run does not count.
  for (let turns = 0; turns < 50; turns += 1) await sleep(10);
  program.child.kill('SIGCONT');
  await isFull.promise;
  for (let n = 0; n < 4; n += 1) await assertOpen();
  isOver = true;
  await program.stop('SIGKILL');
  await others;
  for (const reply of refused) {
    assertError(reply, 503, 'SERVICE_UNAVAILABLE');
    assert.ok(Number(reply.headers.get('retry-after')) > 0);
  }
});
