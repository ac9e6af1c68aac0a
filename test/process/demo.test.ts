import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPasswords } from '../../src/auth/passwords/passwords.ts';
import type { InboxItem } from '../../src/contract/inbox.ts';
import type { Turn } from '../../src/contract/timeline.ts';
import { seedDemo } from '../../src/demo.ts';
import { AURORA, BOREALIS, OPERATOR, onEachEngine, useDeskbell } from '../support/server.ts';

const different = (values: readonly unknown[]) => [...new Set(values)].sort();

onEachEngine('the demo with its history', (engine) => {
  const deskbell = useDeskbell(engine, { DEMO: 'false' });
  const getAs = async (user: { email: string; password: string }, path: string) => {
    const token = await deskbell.signIn(user.email, user.password);
    const reply = await deskbell.call('GET', `/api/v1${path}`, { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  const get = (path: string) => getAs(AURORA, path);

  it('is two shops with an owner each, and an operator', async () => {
    assert.ok(await seedDemo(deskbell.database, createPasswords(2), deskbell.clock.now(), { history: true }));
    for (const [user, role] of [
      [AURORA, 'owner'],
      [BOREALIS, 'owner'],
      [OPERATOR, 'admin'],
    ] as const)
      assert.equal((await getAs(user, '/auth/me')).role, role);
    for (const user of [AURORA, BOREALIS]) {
      const list: Record<string, string>[] = await getAs(user, '/notification/');
      const types = ['user_question_request', 'user_support_request'];
      assert.deepEqual(different(list.map((one) => one.notification_type)), types);
      assert.deepEqual(different(list.map((one) => one.status)), ['answered', 'requested']);
      const phones = (await getAs(user, '/conversation/')).map(
        (one: { customer_phone: string }) => one.customer_phone,
      );
      assert.ok(phones.length >= 2);
      for (const phone of phones) assert.match(phone, /^\+\d{8,15}$/);
    }
  });

  it('shows shops that get better, with work to do', async () => {
    const { weeks, asked_most, answered_by, pending } = await get('/overview');
    const [then, latest] = [weeks[7], weeks[11]];
    assert.ok(weeks.every(({ asked, answered }: Record<string, number>) => asked! > 10 && answered! > 5));
    assert.ok(latest.median_seconds < 0.8 * then.median_seconds, JSON.stringify(weeks));
    assert.ok(latest.assistant_share > then.assistant_share);
    assert.ok(pending.by_type.user_support_request >= 2);
    assert.ok(asked_most.length >= 3);
    assert.equal(answered_by.length, 3);
    assert.equal((await get('/notification/groups')).groups[0].size, 4);
    const { gaps } = await get('/knowledge/gaps');
    assert.ok(gaps.some(({ answer }: { answer: string | null }) => answer !== null));
    const { documents } = await get('/knowledge/stale');
    assert.deepEqual(different(documents.map(({ reason }: { reason: string }) => reason)), [
      'unused',
      'wrong',
    ]);
    const { changes } = await get('/knowledge/changes');
    assert.ok(different(changes.map(({ name }: { name: string }) => name)).length > 2);
    // The newest question has the highest id, as if it had all happened.
    const list = await get('/notification/');
    const times = list.map(({ created_at }: { created_at: string }) => created_at);
    assert.deepEqual(times, times.toSorted().reverse());
  });

  it('shows conversations over days, with what was read, a window that closes soon and a closed one', async () => {
    const { items } = (await get('/conversation/1/timeline')) as { items: Turn[] };
    assert.ok(different(items.map(({ at }) => at.slice(0, 10))).length >= 3);
    assert.deepEqual(different(items.map(({ from }) => from)), ['assistant', 'customer', 'merchant']);
    assert.equal(items.find(({ from }) => from === 'merchant')!.delivery!.state, 'read');
    // Each question is the customer's own message.
    assert.ok(items.filter(({ question }) => question).every(({ id }) => id.startsWith('m')));
    const phone = await get('/simulator/1');
    const times = phone.map(({ at }: { at: string }) => at);
    assert.deepEqual(times, times.toSorted());
    assert.equal(phone.length, items.length);

    const open = (await get('/inbox?limit=100')).items as InboxItem[];
    const minutesLeft = open.map(({ conversation: { window_open_until: until } }) =>
      until === null ? 0 : (Date.parse(until) - deskbell.clock.now().getTime()) / 60_000,
    );
    assert.equal(minutesLeft.filter((minutes) => minutes === 0).length, 1);
    assert.equal(minutesLeft.filter((minutes) => minutes > 0 && minutes < 60).length, 1);
    const conversations = (await get('/conversation/')) as { taken_over: { by: string } | null }[];
    assert.equal(conversations.filter(({ taken_over }) => taken_over).length, 1);
  });
});
