import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { recordEvent, SERVER } from '../../../src/audit/record.ts';
import { disableUser, setPassword } from '../../../src/auth/users.ts';
import type { AuditEvent } from '../../../src/contract/audit.ts';
import { refusedStop, stopChannel } from '../../../src/delivery/worker/stops.ts';
import { run, settingsOf } from '../../support/command.ts';
import {
  AURORA,
  addUser,
  assertError,
  BOREALIS,
  login,
  logout,
  OPERATOR,
  onEachEngine,
  raise,
  refresh,
  useDeskbell,
} from '../../support/server.ts';
import { AURORA_ID, phoneOf, putAll } from '../../support/shops.ts';

/** The merchant is shown to operators only. */
type Event = AuditEvent & { merchant_id?: number | null };

onEachEngine('the audit log', (engine) => {
  const deskbell = useDeskbell(engine, {
    TRUST_PROXY: 'true',
    SESSIONS_PER_USER: '3',
  });
  const audit = (token: string, query = '') => deskbell.call('GET', `/api/v1/audit${query}`, { token });
  const eventsOf = async (token: string, query = ''): Promise<Event[]> => {
    const reply = await audit(token, query);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  const command = (...args: string[]) => run(args, { env: settingsOf(deskbell) });
  /** As the operator sees them. */
  const allEvents = async (...args: string[]): Promise<Event[]> => {
    const { json, stderr } = await command('audit', 'list', '--json', ...args);
    assert.equal(stderr, '');
    return json;
  };
  const from = (address: string) => ({ 'x-forwarded-for': address });
  /** Nothing is done that cannot be written down. */
  const withoutLog = async (work: () => Promise<void>) => {
    await deskbell.database.script('alter table audit_events rename to audit_events_away;');
    await work().finally(() =>
      deskbell.database.script('alter table audit_events_away rename to audit_events;'),
    );
  };
  let owner: string;
  before(async () => {
    owner = await deskbell.signIn();
  });

  it('shows an owner who signed in, by their name at that time, from roughly where and when, and who failed to', async () => {
    const user = await addUser(deskbell);
    const startedAt = deskbell.clock.now().toISOString();
    const { refresh_token } = (await login(deskbell, user, from('203.0.113.77'))).json;
    await login(deskbell, { ...user, password: 'wrong' }, from('2001:db8:1:2::3'));
    await logout(deskbell, refresh_token);
    await refresh(deskbell, refresh_token);

    await deskbell.database.run(`update users set name = 'New Name' where id = $1`, [user.id]);
    const events = await eventsOf(owner, `?user_id=${user.id}`);
    const who = { kind: 'user', user_id: user.id, name: 'Alma Reyes' };
    assert.deepEqual(
      events.map(({ what, who, from, about, count }) => ({ what, who, from, about, count })),
      [
        ['session.refused', '127.0.0.0/24'],
        ['session.ended', '127.0.0.0/24'],
        ['sign_in.failed', '2001:db8:1::/48'],
        ['sign_in.succeeded', '203.0.113.0/24'],
      ].map(([what, from]) => ({ what, who, from, about: {}, count: 1 })),
    );
    for (const { at } of events)
      assert.ok(at >= startedAt && at <= deskbell.clock.now().toISOString(), `${at} ${startedAt}`);
  });

  it('repeats of a sign-in within an hour are one event with a count', async () => {
    const user = await addUser(deskbell);
    deskbell.clock.stop();
    for (let n = 0; n < 3; n += 1) await login(deskbell, user, from(`198.51.100.${n}`));
    await deskbell.clock.advance(3600);
    await login(deskbell, user, from('198.51.100.9'));
    deskbell.clock.go();
    const events = await eventsOf(await deskbell.signIn(), `?user_id=${user.id}`);
    assert.deepEqual(
      events.map(({ what, count, from }) => [what, count, from]),
      [
        ['sign_in.succeeded', 1, '198.51.100.0/24'],
        ['sign_in.succeeded', 3, '198.51.100.0/24'],
      ],
    );
    owner = await deskbell.signIn();
  });

  it('guesses from many networks add a bounded number of events', async () => {
    const user = await addUser(deskbell);
    const guesses = 100;
    const at = deskbell.clock.now();
    // Not over HTTP: other limits refuse so many guesses.
    for (let n = 0; n < guesses; n += 1) {
      const who = { kind: 'user', userId: user.id, address: `10.0.${n}.1` } as const;
      await recordEvent(deskbell.database, { what: 'sign_in.failed', merchantId: 1, who, at });
    }
    const events = await eventsOf(owner, `?user_id=${user.id}&limit=200`);
    assert.ok(events.length <= 64, `${events.length} events`);
    assert.equal(
      events.reduce((sum, { count }) => sum + count, 0),
      guesses,
    );
    const shared = events.filter(({ count }) => count > 1);
    assert.ok(shared.length > 0 && shared.every(({ from }) => from === 'several'));
  });

  it('a sign-in to an unknown account is for the operator only, without the address that was typed', async () => {
    const email = 'nobody-knows@shop.example';
    await login(deskbell, { email, password: 'wrong' }, from('192.0.2.99'));
    const [event] = await allEvents('--what', 'sign_in.failed');
    assert.deepEqual(
      [event!.merchant_id, event!.who, event!.from, event!.about],
      [null, { kind: 'unknown', user_id: null, name: null }, '192.0.2.0/24', {}],
    );
    const rows = await deskbell.database.all('select * from audit_events');
    for (const hidden of ['nobody-knows', '192.0.2.99', '203.0.113.77', AURORA.email, AURORA.password])
      assert.ok(!JSON.stringify(rows).includes(hidden), hidden);
    for (const { who } of await eventsOf(owner, '?what=sign_in.failed')) assert.equal(who.kind, 'user');
  });

  it('deleting is written down together with the deletion', async () => {
    const path = await raise(deskbell, owner);
    const id = Number(path.split('/').at(-1));
    assert.equal((await deskbell.call('DELETE', path, { token: owner })).status, 200);
    const [document] = (await deskbell.call('GET', '/api/v1/knowledge/', { token: owner })).json;
    await deskbell.call('DELETE', `/api/v1/knowledge/${document.id}`, { token: owner });
    const [second, first] = await eventsOf(owner);
    assert.deepEqual([first!.what, first!.about], ['notification.deleted', { notification_id: id }]);
    assert.deepEqual([second!.what, second!.about], ['document.deleted', { document_id: document.id }]);
    assert.deepEqual(first!.who, { kind: 'user', user_id: 1, name: 'Alma Reyes' });

    // Neither without the other.
    assertError(await deskbell.call('DELETE', path, { token: owner }), 404, 'NOTIFICATION_NOT_FOUND');
    assert.deepEqual((await eventsOf(owner))[0], second);
    const kept = await raise(deskbell, owner);
    await withoutLog(async () => {
      assert.equal((await deskbell.call('DELETE', kept, { token: owner })).status, 500);
    });
    assert.equal((await deskbell.call('GET', kept, { token: owner })).status, 200);
  });

  it('sending again and cancelling are written down, one by one and for all', async () => {
    const user = await addUser(deskbell);
    const token = await deskbell.signIn(user.email, user.password);
    const post = async (path: string, body?: unknown) => {
      const { status, json } = await deskbell.call('POST', `/api/v1/delivery/${path}`, { token, body });
      assert.equal(status, 200);
      return json;
    };
    const recipients = Array.from({ length: 120 }, (_, n) => phoneOf(n));
    const ids = await putAll(
      deskbell,
      recipients.map((recipient) => ({ merchantId: AURORA_ID, recipient })),
    );
    await deskbell.allSent();
    const setState = (state: string) =>
      deskbell.database.run(`update deliveries set state = $1 where merchant_id = $2`, [state, AURORA_ID]);
    await setState('failed');
    await post(`${ids[0]}/cancel`);
    await post(`${ids[0]}/retry`);
    await deskbell.allSent();
    // Refused: it was sent.
    assert.equal((await deskbell.call('POST', `/api/v1/delivery/${ids[0]}/cancel`, { token })).status, 409);
    const { count: cancelled } = await post('cancel', { state: 'failed' });
    const { count: retried } = await post('retry', { state: 'cancelled' });
    assert.ok(cancelled >= 119, 'more than one transaction');
    assert.equal((await post('retry', { state: 'failed' })).count, 0);
    const events = await eventsOf(owner, `?user_id=${user.id}&limit=4`);
    assert.deepEqual(
      events.map(({ what, about, count, who: { name } }) => [what, about, count, name]),
      [
        ['delivery.retried', { state: 'cancelled' }, retried, 'Alma Reyes'],
        ['delivery.cancelled', { state: 'failed' }, cancelled, 'Alma Reyes'],
        ['delivery.retried', { delivery_id: ids[0] }, 1, 'Alma Reyes'],
        ['delivery.cancelled', { delivery_id: ids[0] }, 1, 'Alma Reyes'],
      ],
    );

    // Neither without the other.
    await setState('failed');
    await withoutLog(async () => {
      for (const path of [`${ids[0]}/cancel`, `${ids[0]}/retry`, 'cancel', 'retry']) {
        const body = { state: 'failed' };
        const reply = await deskbell.call('POST', `/api/v1/delivery/${path}`, { token, body });
        assert.equal(reply.status, 500);
      }
    });
    const left = await deskbell.call('GET', '/api/v1/delivery/?state=failed&limit=1000', { token });
    assert.ok(left.json.length >= 120);
  });

  it('a session that ends because there are too many is written down', async () => {
    const user = await addUser(deskbell);
    // In the next hour it would be another event.
    deskbell.clock.stop();
    for (let n = 0; n < 5; n += 1) await login(deskbell, user);
    deskbell.clock.go();
    const ended = (await eventsOf(owner, '?what=session.ended')).filter(
      ({ about }) => about.user_id === user.id,
    );
    assert.deepEqual(
      ended.map(({ who, count }) => [who.kind, count]),
      [['server', 2]],
    );
  });

  it('a disabled user is written down in the same transaction', async () => {
    const user = await addUser(deskbell);
    await disableUser(deskbell.database, user.id, deskbell.clock.now(), SERVER);
    const [event] = await eventsOf(owner, '?what=user.disabled');
    assert.deepEqual([event!.about, event!.who.kind], [{ user_id: user.id }, 'server']);

    const other = await addUser(deskbell);
    await withoutLog(async () => {
      await assert.rejects(disableUser(deskbell.database, other.id, deskbell.clock.now(), SERVER));
      await assert.rejects(setPassword(deskbell.database, other.id, '-', deskbell.clock.now(), SERVER));
    });
    assert.equal((await login(deskbell, other)).status, 200);
  });

  it('a channel that refuses our messages is an event of the server, for the operator', async () => {
    const { database, clock } = deskbell;
    const at = clock.now();
    for (let n = 0; n < 2; n += 1) await stopChannel(database, refusedStop('webhook:1', '401', at), at);
    const [event, ...more] = await allEvents('--what', 'channel.stopped');
    const { merchant_id, who, from, about, count } = event!;
    assert.deepEqual(
      [merchant_id, who.kind, from, about, count],
      [null, 'server', null, { channel_id: 'webhook:1' }, 2],
    );
    assert.deepEqual(more, []);
  });

  it('another merchant’s events are invisible, with every filter', async () => {
    const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const mine = await eventsOf(borealis, '?limit=200');
    assert.ok(mine.length > 0);
    assert.deepEqual(new Set(mine.map(({ who }) => who.user_id)), new Set([2]));
    for (const query of ['?user_id=1', '?what=user.disabled', '?what=document.deleted&since=2020-01-01'])
      assert.deepEqual(await eventsOf(borealis, query), []);
    assert.deepEqual(
      (await eventsOf(owner, '?limit=200')).filter(({ who }) => who.user_id === 2),
      [],
    );
  });

  it('only an owner may read it', async () => {
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [user.id]);
    assertError(await audit(await deskbell.signIn(user.email)), 403, 'FORBIDDEN');
    const operator = await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    assertError(await audit(operator), 401, 'INVALID_TOKEN');
    assertError(await deskbell.call('GET', '/api/v1/audit'), 401, 'INVALID_TOKEN');
  });

  it('pages lead through all events, newest first, and filters are checked', async () => {
    const all = await eventsOf(owner, '?limit=200');
    const times = all.map(({ at }) => at);
    assert.deepEqual(times, [...times].sort().reverse());
    const paged: Event[] = [];
    for (let path: string | undefined = '/api/v1/audit?limit=2'; path; ) {
      const reply = await deskbell.call('GET', path, { token: owner });
      assert.ok(reply.json.length <= 2);
      paged.push(...reply.json);
      path = /<([^>]+)>/.exec(reply.headers.get('link') ?? '')?.[1];
    }
    assert.deepEqual(paged, all);
    const since = all[2]!.at;
    assert.deepEqual(
      await eventsOf(owner, `?since=${since}&limit=200`),
      all.filter(({ at }) => at >= since),
    );
    for (const field of ['what', 'user_id', 'since', 'limit', 'cursor'])
      assertError(await audit(owner, `?${field}=x`), 422, 'VALIDATION_ERROR', field);
    assertError(await audit(owner, '?limit=201'), 422, 'VALIDATION_ERROR', 'limit');
  });

  // The process counts them, whatever the database.
  if (engine === 'sqlite')
    it('a user who deletes in a loop adds a bounded number of events', async () => {
      const user = await addUser(deskbell);
      const who = { kind: 'user', userId: user.id, address: '10.0.0.1' } as const;
      const at = deskbell.clock.now();
      // Not over HTTP: this would take minutes.
      for (let id = 1; id <= 1003; id += 1) {
        const event = { what: 'notification.deleted', merchantId: 1, who, at } as const;
        await recordEvent(deskbell.database, { ...event, about: { notification_id: id } });
      }
      const [last, before] = await eventsOf(owner, `?user_id=${user.id}`);
      assert.deepEqual([last!.about, last!.count], [{}, 3]);
      assert.deepEqual([before!.about, before!.count], [{ notification_id: 1000 }, 1]);
    });
});
