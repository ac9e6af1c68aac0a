import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { SERVER } from '../../../src/audit/record.ts';
import { disableUser, setPassword } from '../../../src/auth/users.ts';
import type { AuditEvent } from '../../../src/contract/audit.ts';
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

onEachEngine('the audit log', (engine) => {
  const deskbell = useDeskbell(engine, { TRUST_PROXY: 'true' });
  const audit = (token: string, query = '') => deskbell.call('GET', `/api/v1/audit${query}`, { token });
  const eventsOf = async (token: string, query = ''): Promise<AuditEvent[]> => {
    const reply = await audit(token, query);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
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
    for (const { at } of events) assert.ok(at >= startedAt && at <= deskbell.clock.now().toISOString(), at);
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

  it('a sign-in to an unknown account is for the operator only, without the address that was typed', async () => {
    const email = 'nobody-knows@shop.example';
    await login(deskbell, { email, password: 'wrong' }, from('192.0.2.99'));
    const args = ['audit', 'list', '--json', '--what', 'sign_in.failed'];
    // As the operator sees them.
    const [event] = (await run(args, { env: settingsOf(deskbell) })).json;
    assert.deepEqual(
      [event.merchant_id, event.who, event.from, event.about],
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
    const [id] = await putAll(deskbell, [{ merchantId: AURORA_ID, recipient: phoneOf(1) }]);
    await deskbell.allSent();
    const fail = () =>
      deskbell.database.run(`update deliveries set state = 'failed' where merchant_id = $1`, [AURORA_ID]);
    await fail();
    await post(`${id}/cancel`);
    await post(`${id}/retry`);
    await deskbell.allSent();
    // Refused: it was sent.
    assert.equal((await deskbell.call('POST', `/api/v1/delivery/${id}/cancel`, { token })).status, 409);
    await fail();
    const { count: cancelled } = await post('cancel', { state: 'failed' });
    const events = await eventsOf(owner, `?user_id=${user.id}&limit=3`);
    assert.deepEqual(
      events.map(({ what, about, count }) => [what, about, count]),
      [
        ['delivery.cancelled', { state: 'failed' }, cancelled],
        ['delivery.retried', { delivery_id: id }, 1],
        ['delivery.cancelled', { delivery_id: id }, 1],
      ],
    );

    // Neither without the other.
    await fail();
    await withoutLog(async () => {
      for (const path of [`${id}/cancel`, `${id}/retry`, 'cancel', 'retry']) {
        const body = { state: 'failed' };
        const reply = await deskbell.call('POST', `/api/v1/delivery/${path}`, { token, body });
        assert.equal(reply.status, 500);
      }
    });
    const left = await deskbell.call('GET', '/api/v1/delivery/?state=failed&limit=1000', { token });
    assert.equal(left.json.length, cancelled);
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

  it('another merchant’s events are invisible, with every filter', async () => {
    const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const mine = await eventsOf(borealis, '?limit=200');
    assert.ok(mine.length > 0);
    assert.deepEqual(new Set(mine.map(({ who }) => who.user_id)), new Set([2]));
    for (const query of ['?user_id=1', '?what=user.disabled', '?what=document.deleted&since=2020-01-01'])
      assert.deepEqual(await eventsOf(borealis, query), []);
  });

  it('only an owner may read it', async () => {
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [user.id]);
    assertError(await audit(await deskbell.signIn(user.email)), 403, 'FORBIDDEN');
    const operator = await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    assertError(await audit(operator), 401, 'INVALID_TOKEN');
  });

  it('pages lead through all events, newest first, and filters are checked', async () => {
    const all = await eventsOf(owner, '?limit=200');
    const times = all.map(({ at }) => at);
    assert.deepEqual(times, [...times].sort().reverse());
    const paged: AuditEvent[] = [];
    for (let path: string | undefined = '/api/v1/audit?limit=2'; path; ) {
      const reply = await deskbell.call('GET', path, { token: owner });
      assert.ok(reply.json.length <= 2);
      paged.push(...reply.json);
      path = /<([^>]+)>/.exec(reply.headers.get('link') ?? '')?.[1];
    }
    assert.deepEqual(paged, all);
    for (const field of ['what', 'user_id', 'since', 'limit', 'cursor'])
      assertError(await audit(owner, `?${field}=x`), 422, 'VALIDATION_ERROR', field);
  });
});
