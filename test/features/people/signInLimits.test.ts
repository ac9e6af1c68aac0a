import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { SERVER } from '../../../src/audit/record.ts';
import { createPasswords } from '../../../src/auth/passwords/passwords.ts';
import { setPassword } from '../../../src/auth/users.ts';
import { createDemoDatabase } from '../../support/databases.ts';
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
type Caller = Pick<Deskbell, 'call'>;
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

/** A server that has no time refuses a request before it does anything. */
async function guessOnce(...guess: Parameters<typeof login>): Promise<Reply> {
  for (;;) {
    const reply = await login(...guess);
    if (reply.status !== 503) return reply;
    await sleep(50);
  }
}

async function assertLocked(deskbell: Deskbell, user: User, headers?: Record<string, string>) {
  const reply = await login(deskbell, user, headers);
  assertError(reply, 429, 'RATE_LIMITED');
  assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
  return retryAfter(reply);
}

async function assertOpen(deskbell: Caller, user: User, headers?: Record<string, string>) {
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
    for (const one of [user, nobody]) {
      await guessWrong(deskbell, one);
      const seconds = await assertLocked(deskbell, one);
      assert.ok(seconds > WINDOW_SECONDS - 30 && seconds <= WINDOW_SECONDS, `${seconds}`);
    }
    // Other accounts at the same address are not locked.
    await assertOpen(deskbell, BOREALIS);
    await deskbell.clock.advance(WINDOW_SECONDS);
    await assertOpen(deskbell, user);
  });

  it('successful sign-ins do not count, and do not reset the failed ones', async () => {
    const user = await addUser(deskbell);
    for (let count = 0; count <= FAILURES_MAX; count += 1) await assertOpen(deskbell, user);
    await guessWrong(deskbell, user, FAILURES_MAX - 1);
    await assertOpen(deskbell, user);
    await guessWrong(deskbell, user, 1);
    await assertLocked(deskbell, user);
  });

  it('an invalid body does not count as a failed sign-in', once, async () => {
    const user = await addUser(deskbell);
    for (let count = 0; count <= FAILURES_MAX; count += 1) {
      const reply = await deskbell.call('POST', '/api/v1/auth/login', { body: { email: user.email } });
      assertError(reply, 422, 'VALIDATION_ERROR', 'password');
    }
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

  it('the 15 minutes are a sliding window: each failure expires separately', async () => {
    const user = await addUser(deskbell);
    deskbell.clock.stop();
    await guessWrong(deskbell, user, 5);
    await deskbell.clock.advance(600);
    await guessWrong(deskbell, user, 5);
    const seconds = await assertLocked(deskbell, user);
    assert.ok(seconds > 270 && seconds <= 300, `${seconds}`);
    // Another attempt while locked out does not extend the time.
    await deskbell.clock.advance(seconds - 10);
    assert.ok((await assertLocked(deskbell, user)) <= 10);
    await deskbell.clock.advance(12);
    await assertOpen(deskbell, user);
    await guessWrong(deskbell, user, 5);
    await assertLocked(deskbell, user);
    deskbell.clock.go();
  });

  it('only guesses within the limit are checked if forty come at once, and the right one after them is refused', async () => {
    const user = await addUser(deskbell);
    // Checking a real hash takes so long that the others arrive meanwhile.
    const { database, clock } = deskbell;
    await setPassword(database, user.id, await createPasswords(1).hash(user.password), clock.now(), SERVER);
    const wrong = Array.from({ length: 39 }, (_, count) =>
      guessOnce(deskbell, { email: user.email, password: `guess ${count}` }),
    );
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
    const seconds = await assertLocked(
      deskbell,
      { email: 'spray-3@limits.example', password: 'guess' },
      office,
    );
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

  it('guesses that come at once are not checked beyond these limits', async () => {
    const before = 90;
    await failTimes(before, 'parallel@limits.example', '203.0.113.60', 'account');
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        guessOnce(deskbell, { email: `many-${n}@limits.example`, password: 'guess' }, from('203.0.113.60')),
      ),
    );
    const checked = replies.filter(({ status }) => status === 401).length;
    const inFlightMax = deskbell.config.hashesAtOnce + deskbell.config.databasePoolSize;
    assert.ok(
      checked >= LIMIT - before && checked <= LIMIT - before + inFlightMax,
      `${checked} were checked`,
    );
    assert.equal(replies.filter(({ status }) => status === 429).length, replies.length - checked);
  });

  it('all addresses of an IPv6 network of 64 bits count as one', async () => {
    const user = await addUser(deskbell);
    for (let count = 1; count <= FAILURES_MAX; count += 1) {
      await guessWrong(deskbell, user, 1, from(`2001:db8:1:2:${count}::${count}`));
    }
    await assertLocked(deskbell, user, from('2001:db8:1:2::99'));
    await assertOpen(deskbell, user, from('2001:db8:1:3::1'));
  });

  it('the twenty places where a user signed in last are remembered, and a new password forgets them', async () => {
    const user = await addUser(deskbell);
    for (let count = 0; count <= 20; count += 1) {
      await assertOpen(deskbell, user, from(`192.0.2.${100 + count}`));
      await deskbell.clock.advance(1);
    }
    await failTimes(LIMIT, user.email, '198.51.100.1', 'address');
    await assertLocked(deskbell, user, from('192.0.2.100'));
    for (const last of [101, 120]) await assertOpen(deskbell, user, from(`192.0.2.${last}`));
    const { password_hash } = (await deskbell.database.one<{ password_hash: string }>(
      'select password_hash from users where id = $1',
      [user.id],
    ))!;
    await setPassword(deskbell.database, user.id, password_hash, deskbell.clock.now(), SERVER);
    await assertOpen(deskbell, user, from('198.51.100.9'));
    await failTimes(LIMIT, user.email, '198.51.100.1', 'address');
    await assertLocked(deskbell, user, from('192.0.2.120'));
  });

  it('a place that cannot be stored does not prevent the sign-in', async () => {
    const table = 'sign_in_places';
    await deskbell.database.script(
      engine === 'sqlite'
        ? `create trigger refuse before insert on ${table} begin select raise(abort, 'refused'); end;`
        : `alter table ${table} add constraint refuse check (false) not valid;`,
    );
    await assertOpen(deskbell, AURORA, from('192.0.2.77'));
    await deskbell.database.script(
      engine === 'sqlite' ? 'drop trigger refuse;' : `alter table ${table} drop constraint refuse;`,
    );
    assert.match(deskbell.logged.join(''), /cannot remember from where a user signed in/);
  });
});

onEachEngine('failed sign-ins in the database', (engine) => {
  // Only one server can use the embedded database, so the next one is the same server after a restart.
  const next = engine === 'postgres' ? 'a second server' : 'the server after a restart';
  it(`${next} knows the failures of the first`, async () => {
    const testDatabase = await createDemoDatabase(engine, 'weak');
    const first = await startDeskbell(engine, {}, testDatabase);
    let second: Deskbell | undefined;
    try {
      await guessWrong(first, AURORA, FAILURES_MAX - 1);
      if (engine === 'sqlite') await first.close();
      second = await startDeskbell(engine, {}, testDatabase);
      await guessWrong(second, AURORA, 1);
      await assertLocked(second, AURORA);
      if (engine === 'postgres') await assertLocked(first, AURORA);
    } finally {
      await first.close();
      await second?.close();
      await testDatabase.remove();
    }
  });
});

it('TRUST_PROXY=true is accepted with a warning, because it believes any header', async () => {
  const deskbell = await startDeskbell('sqlite', { TRUST_PROXY: 'true' });
  await deskbell.close();
  assert.match(deskbell.logged.join(''), /"level":"warn".*TRUST_PROXY is true/);
});
