import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPasswords } from '../../src/auth/passwords/passwords.ts';
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
    }
  });

  it('shows shops that get better, with work to do', async () => {
    const { weeks, asked_most, answered_by, pending } = await get('/overview');
    const [then, latest] = [weeks[7], weeks[11]];
    assert.ok(latest.median_seconds < 0.8 * then.median_seconds, JSON.stringify(weeks));
    assert.ok(latest.assistant_share > then.assistant_share);
    assert.ok(pending.by_type.user_support_request >= 2);
    assert.ok(asked_most.length >= 3);
    assert.equal(answered_by.length, 3);
    assert.equal((await get('/notification/groups')).groups[0].size, 4);
    const { documents } = await get('/knowledge/stale');
    const reasons = different(documents.map(({ reason }: { reason: string }) => reason));
    assert.deepEqual(reasons, ['unused', 'wrong']);
    // The newest question has the highest id, as if it had all happened.
    const list = await get('/notification/');
    const times = list.map(({ created_at }: { created_at: string }) => created_at);
    assert.deepEqual(times, times.toSorted().reverse());
  });
});
