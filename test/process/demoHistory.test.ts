import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPasswords } from '../../src/auth/passwords/passwords.ts';
import type { InboxItem } from '../../src/contract/inbox.ts';
import type { Turn } from '../../src/contract/timeline.ts';
import { seedDemo } from '../../src/demo.ts';
import { NOTIFICATIONS, onEachEngine, startDeskbell } from '../support/server.ts';

onEachEngine('the history of the demo', (engine) => {
  it('shows shops that get better, with work to do', async () => {
    const deskbell = await startDeskbell(engine, { DEMO: 'false' });
    try {
      const now = deskbell.clock.now();
      assert.ok(await seedDemo(deskbell.database, createPasswords(2), now, { history: true }));
      const token = await deskbell.signIn();
      const get = async (path: string) => {
        const reply = await deskbell.call('GET', `/api/v1${path}`, { token });
        assert.equal(reply.status, 200, reply.text);
        return reply.json;
      };
      const { weeks, asked_most, answered_by, pending } = await get('/overview');
      const [then, latest] = [weeks[7], weeks[11]];
      assert.ok(weeks.every(({ asked, answered }: Record<string, number>) => asked! > 10 && answered! > 5));
      assert.ok(latest.median_seconds < 0.8 * then.median_seconds, JSON.stringify(weeks));
      assert.ok(latest.assistant_share > then.assistant_share);
      assert.ok(pending.by_type.user_support_request >= 2);
      assert.ok(asked_most.length >= 3);
      assert.deepEqual(answered_by.map(({ name }: { name: string }) => name).sort(), [
        'Alma Reyes',
        'Inés Carvalho',
        'Mateo Ruiz',
      ]);
      const { groups } = await get('/notification/groups');
      assert.equal(groups[0].size, 4);
      const { gaps } = await get('/knowledge/gaps');
      assert.ok(gaps.some(({ answer }: { answer: string | null }) => answer !== null));
      const { documents } = await get('/knowledge/stale');
      assert.deepEqual(
        new Set(documents.map(({ reason }: { reason: string }) => reason)),
        new Set(['wrong', 'unused']),
      );
      assert.ok(
        new Set((await get('/knowledge/changes')).changes.map((one: { name: string }) => one.name)).size > 2,
      );
      // The newest question has the highest id, as if it had all happened.
      const list = (await deskbell.call('GET', `${NOTIFICATIONS}/`, { token })).json;
      const times = list.map(({ created_at }: { created_at: string }) => created_at);
      assert.deepEqual(times, times.toSorted().reverse());
      const texts = JSON.stringify(list);
      for (const word of ['gift cards', 'Canarias', 'MB Way', 'الإمارات'])
        assert.ok(texts.includes(word), word);
    } finally {
      await deskbell.close();
    }
  });

  it('shows conversations over days, with what was read, a window that closes soon and a closed one', async () => {
    const deskbell = await startDeskbell(engine, { DEMO: 'false' });
    try {
      const now = deskbell.clock.now();
      assert.ok(await seedDemo(deskbell.database, createPasswords(2), now, { history: true }));
      const token = await deskbell.signIn();
      const get = async (path: string) => (await deskbell.call('GET', `/api/v1${path}`, { token })).json;
      const { items } = (await get('/conversation/1/timeline')) as { items: Turn[] };
      assert.ok(new Set(items.map(({ at }) => at.slice(0, 10))).size >= 3);
      assert.deepEqual(
        new Set(items.map(({ from }) => from)),
        new Set(['customer', 'assistant', 'merchant']),
      );
      assert.equal(items.find(({ from }) => from === 'merchant')!.delivery!.state, 'read');
      // Each question is the customer's own message.
      assert.ok(items.filter(({ question }) => question).every(({ id }) => id.startsWith('m')));
      const phone = await get('/simulator/1');
      const times = phone.map(({ at }: { at: string }) => at);
      assert.deepEqual(times, times.toSorted());
      assert.equal(phone.length, items.length);

      const open = (await get('/inbox?limit=100')).items as InboxItem[];
      const minutesLeft = open.map(({ conversation: { window_open_until: until } }) =>
        until === null ? 0 : (Date.parse(until) - now.getTime()) / 60_000,
      );
      assert.equal(minutesLeft.filter((minutes) => minutes === 0).length, 1);
      assert.equal(minutesLeft.filter((minutes) => minutes > 0 && minutes < 60).length, 1);
      const conversations = (await get('/conversation/')) as { taken_over: { by: string } | null }[];
      assert.deepEqual(
        conversations.flatMap(({ taken_over }) => taken_over?.by ?? []),
        ['Inés Carvalho'],
      );
    } finally {
      await deskbell.close();
    }
  });
});
