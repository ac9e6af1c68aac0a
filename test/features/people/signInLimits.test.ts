import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { SERVER } from '../../../src/audit/record.ts';
import { createPasswords } from '../../../src/auth/passwords/passwords.ts';
import { setPassword } from '../../../src/auth/users.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { DASHBOARD } from '../../support/factors.ts';
import {
  AURORA,
  addUser,
  assertError,
  BOREALIS,
  type Deskbell,
  login,
  onEachEngine,
  type Reply,
  startDeskbell,
  useDeskbell,
} from '../../support/server.ts';

const FAILURES_MAX = 10;
const WINDOW_SECONDS = 15 * 60;

type User = { email: string; password: string };
const from = (address: string) => ({ 'x-forwarded-for': address });
const retryAfter = ({ headers }: Reply) => Number(headers.get('retry-after'));

async function guessWrong(
  deskbell: Deskbell,
  { email }: Pick<User, 'email'>,
  times = FAILURES_MAX,
  headers: Record<string, string> = {},
): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const reply = await login(deskbell, { email, password: `guess ${count}` }, headers);
    assertError(reply, 401, 'INVALID_CREDENTIALS');
  }
}

async function assertLocked(deskbell: Deskbell, user: User, headers?: Record<string, string>) {
  const reply = await login(deskbell, user, headers);
  assertError(reply, 429, 'RATE_LIMITED');
  assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
  return retryAfter(reply);
}

async function assertOpen(deskbell: Deskbell, user: User, headers?: Record<string, string>) {
  const reply = await login(deskbell, user, headers);
  assert.equal(reply.status, 200, reply.text);
}

onEachEngine('the limit for failed sign-ins', (engine) => {
  // Not about the database.
  const once = { skip: engine === 'postgres' };
  const deskbell = useDeskbell(engine);

  it('after ten wrong passwords even the right one gets 429, until Retry-After has passed', async () => {
    const user = await addUser(deskbell);
    const nobody = { email: 'nobody@limits.example', password: 'guess' };
    // Those that succeed do not count, and reset nothing.
    await guessWrong(deskbell, user, 1);
    for (let count = 0; count < FAILURES_MAX; count += 1) await assertOpen(deskbell, user);
    await guessWrong(deskbell, nobody, 1);
    for (const one of [user, nobody]) {
      await guessWrong(deskbell, one, FAILURES_MAX - 1);
      const seconds = await assertLocked(deskbell, one);
      assert.ok(seconds > WINDOW_SECONDS - 30 && seconds <= WINDOW_SECONDS, `${seconds}`);
    }
    // Other accounts at the same address are not locked.
    await assertOpen(deskbell, BOREALIS);
    await deskbell.clock.advance(WINDOW_SECONDS);
    await assertOpen(deskbell, user);
  });

  it('an email address in capitals or with spaces is the same account', once, async () => {
    const user = await addUser(deskbell);
    const spellings = [user.email.toUpperCase(), ` ${user.email}`, user.email.replace('@a', '@A')];
    await guessWrong(deskbell, user, FAILURES_MAX - spellings.length);
    for (const email of spellings) await guessWrong(deskbell, { email }, 1);
    await assertLocked(deskbell, user);
    await assertLocked(deskbell, { ...user, email: user.email.toUpperCase() });
  });

  it('only guesses within the limit are checked if forty come at once, and the right one after them is refused', async () => {
    const user = await addUser(deskbell);
    // Checking a real hash takes so long that the others arrive meanwhile.
    const { database, clock } = deskbell;
    await setPassword(database, user.id, await createPasswords(1).hash(user.password), clock.now(), SERVER);
    const guess = async (password: string): Promise<Reply> => {
      const reply = await login(deskbell, { ...user, password });
      // A server that has no time refuses a request before it does anything.
      return reply.status === 503 ? guess(password) : reply;
    };
    const wrong = Array.from({ length: 39 }, (_, count) => guess(`guess ${count}`));
    // The right password comes last: it is checked when the limit is used up.
    await setImmediate();
    const right = await login(deskbell, user);
    const statuses = (await Promise.all(wrong)).map(({ status }) => status);
    assertError(right, 429, 'RATE_LIMITED');
    assert.ok(retryAfter(right) > WINDOW_SECONDS - 30);
    // If the wrong ones got 401, the only 429 would reveal the right password.
    const checked = statuses.filter((status) => status === 401).length;
    const inFlightMax = deskbell.config.hashesAtOnce + deskbell.config.databasePoolSize;
    assert.ok(checked >= FAILURES_MAX && checked <= FAILURES_MAX + inFlightMax, `${checked} were checked`);
    assert.equal(statuses.filter((status) => status === 429).length, statuses.length - checked);
    await assertLocked(deskbell, user);
  });

  it('failed sign-ins to the dashboard and to the API count together', once, async () => {
    const user = await addUser(deskbell);
    const signIn = (password: string) =>
      deskbell.call('POST', '/session/login', { headers: DASHBOARD, body: { ...user, password } });
    await guessWrong(deskbell, user, FAILURES_MAX - 1);
    assertError(await signIn('guess'), 401, 'INVALID_CREDENTIALS');
    assertError(await signIn(user.password), 429, 'RATE_LIMITED');
    await assertLocked(deskbell, user);
  });

  it('without TRUST_PROXY another address in a header gives nobody a new allowance', once, async () => {
    const user = await addUser(deskbell);
    for (let count = 0; count < FAILURES_MAX; count += 1) {
      await guessWrong(deskbell, user, 1, from(`203.0.113.${count}`));
    }
    await assertLocked(deskbell, user, from('203.0.113.99'));
  });
});

onEachEngine('failed sign-ins over all accounts and addresses', (engine) => {
  const deskbell = useDeskbell(engine, { TRUST_PROXY: '1' });
  const LIMIT = 100;
  /** A failed sign-in, and copies of it with this account or address, because a hundred real ones take seconds. */
  async function failTimes(times: number, email: string, address: string, copy: 'account' | 'address') {
    await guessWrong(deskbell, { email }, 1, from(address));
    const [account, place] =
      copy === 'account' ? [`concat('copy ', i)`, 'address'] : ['account', `concat('10.9.9.', i)`];
    await deskbell.database.run(
      `insert into sign_in_failures (account, address, failed_at)
        with recursive n (i) as (select 1 union all select i + 1 from n where i < ${times - 1})
        select ${account}, ${place}, failed_at from n, (select * from sign_in_failures order by failed_at desc limit 1) one`,
    );
  }

  it('an attacker at one address does not lock out the owner at another', async () => {
    const user = await addUser(deskbell);
    // The address that the proxy adds counts, not those that the client sent.
    for (let count = 0; count < FAILURES_MAX; count += 1)
      await guessWrong(deskbell, user, 1, from(`192.0.2.${count}, 203.0.113.7`));
    await assertLocked(deskbell, user, from('192.0.2.99, 203.0.113.7'));
    await assertOpen(deskbell, user, from('203.0.113.7, 198.51.100.1'));
  });

  it('an address gets 429 for all accounts after a hundred, except for those who have signed in there', async () => {
    const office = from('203.0.113.50');
    const [colleague, stranger] = [await addUser(deskbell), await addUser(deskbell)];
    await assertOpen(deskbell, colleague, office);
    await failTimes(LIMIT - 1, 'spray-1@limits.example', '203.0.113.50', 'account');
    await guessWrong(deskbell, { email: 'spray-2@limits.example' }, 1, office);
    const another = { email: 'spray-3@limits.example', password: 'guess' };
    const seconds = await assertLocked(deskbell, another, office);
    assert.ok(seconds > WINDOW_SECONDS - 30 && seconds <= WINDOW_SECONDS, `${seconds}`);
    await assertLocked(deskbell, stranger, office);
    await assertOpen(deskbell, colleague, office);
    await guessWrong(deskbell, colleague, 1, office);
    await assertOpen(deskbell, stranger, from('203.0.113.51'));
    await deskbell.clock.advance(seconds);
    await assertOpen(deskbell, stranger, office);
  });

  it('an account gets 429 at new addresses after a hundred, and opens where its owner has signed in', async () => {
    const owner = await addUser(deskbell);
    const home = from('192.0.2.10');
    await assertOpen(deskbell, owner, home);
    for (const { email } of [owner, { email: 'nobody@limits.example' }]) {
      await failTimes(LIMIT - 1, email, '198.51.100.1', 'address');
      await guessWrong(deskbell, { email }, 1, from('198.51.100.2'));
      await assertLocked(deskbell, { email, password: 'guess' }, from('198.51.100.3'));
    }
    const seconds = await assertLocked(deskbell, owner, from('198.51.100.3'));
    assert.ok(seconds > 3570 && seconds <= 3600, `${seconds}`);
    await assertOpen(deskbell, owner, home);
    await guessWrong(deskbell, owner, 1, home);
    await assertOpen(deskbell, owner, home);
    await assertOpen(deskbell, BOREALIS, from('198.51.100.3'));
    await deskbell.clock.advance(seconds);
    await assertOpen(deskbell, owner, from('198.51.100.3'));
  });

  it('a new password works at once, and other places have to prove themselves again', async () => {
    const user = await addUser(deskbell);
    const [home, thief] = [from('192.0.2.20'), from('198.51.100.20')];
    for (const place of [home, thief]) await assertOpen(deskbell, user, place);
    await guessWrong(deskbell, user, FAILURES_MAX, home);
    await assertLocked(deskbell, user, home);
    const { database, clock } = deskbell;
    await setPassword(database, user.id, await createPasswords(1).hash(user.password), clock.now(), SERVER);
    await assertOpen(deskbell, user, home);
    await failTimes(LIMIT, user.email, '198.51.100.21', 'address');
    await assertOpen(deskbell, user, home);
    await assertLocked(deskbell, user, thief);
  });

  it('all addresses of an IPv6 network of 64 bits count as one', async () => {
    const user = await addUser(deskbell);
    for (let count = 1; count <= FAILURES_MAX; count += 1) {
      await guessWrong(deskbell, user, 1, from(`2001:db8:1:2:${count}::${count}`));
    }
    await assertLocked(deskbell, user, from('2001:db8:1:2::99'));
    await assertOpen(deskbell, user, from('2001:db8:1:3::1'));
  });
});

it('a server after a restart knows the failed sign-ins from before', async () => {
  const testDatabase = await createDemoDatabase('sqlite', 'weak');
  const first = await startDeskbell('sqlite', {}, testDatabase);
  await guessWrong(first, AURORA).finally(() => first.close());
  const second = await startDeskbell('sqlite', {}, testDatabase);
  await assertLocked(second, AURORA).finally(() => second.close());
  await testDatabase.remove();
});
