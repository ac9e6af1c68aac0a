import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { disable } from '../../support/colleagues.ts';
import { listen } from '../../support/listening.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, type CallOptions, onEachEngine } from '../../support/server.ts';

type Colleague = Awaited<ReturnType<Merchant['colleague']>>;

/** What happens meanwhile in the log of events. */
async function eventsDuring(shop: Merchant, work: () => Promise<unknown>) {
  // The message of an earlier test is an event, too.
  await shop.deskbell.allSent();
  const { last_id } = (await shop.get('/events/log?limit=500')).json;
  await work();
  const after = async (options?: CallOptions) =>
    (await shop.get(`/events/log?after=${last_id}`, options)).json.events;
  return { events: await after(), after };
}

onEachEngine('internal notes', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  let teo: Colleague;
  let mona: Colleague;
  before(async () => {
    [teo, mona] = [await shop.colleague('Teo Vidal'), await shop.colleague('Mona Haddad')];
  });
  const notes = async (id: number) => (await shop.get(`/notification/${id}/notes`)).json.notes;
  const note = (by: Colleague, id: number, body: unknown) =>
    shop.post(`/notification/${id}/notes`, body, { token: by.token });
  const stored = async () =>
    (await shop.deskbell.database.one<{ bytes: number }>('select bytes from inboxes where merchant_id = $1', [
      shop.id,
    ]))!.bytes;

  it('are there for all colleagues, in order, with their authors and whom they mention', async () => {
    const id = await shop.raise();
    const first = await note(teo, id, { text: '@mona haddad, is it back on Monday? 😀' });
    assert.equal(first.status, 200, first.text);
    const second = await note(mona, id, { text: 'Yes.', mentions: [teo.id] });
    assert.deepEqual(await notes(id), [first.json, second.json]);
    const [byTeo, byMona] = [teo, mona].map(({ id: user, name }) => ({ id: user, name }));
    assert.deepEqual([first.json.author, first.json.mentions], [byTeo, [byMona]]);
    assert.deepEqual([second.json.author, second.json.mentions], [byMona, [byTeo]]);
    assert.equal((await shop.get(`/notification/${id}`, teo)).json.notes, 2);
    const key = { token: await shop.key('notifications:read', 'answer', 'ask') };
    assert.doesNotMatch((await shop.get(`/notification/${id}`, key)).text, /back on Monday/);
  });

  it('tell programs that there is one, but not what it says', async () => {
    const id = await shop.raise();
    const live = await listen(shop.deskbell, teo.token);
    let note_id: number | undefined;
    const { events, after } = await eventsDuring(shop, async () => {
      note_id = (await note(teo, id, { text: '@Mona, a secret' })).json.id;
      await live.next('inbox');
    });
    live.stop();
    assert.deepEqual([events.length, events[0].type], [1, 'notification.noted']);
    assert.deepEqual(events[0].data, {
      ...{ notification_id: id, conversation_id: shop.conversationId, note_id },
      ...{ author: teo.id, mentions: [mona.id], reference: null, metadata: null },
    });
    assert.deepEqual(await after({ token: await shop.key('ask') }), []);
  });

  it('are deleted by their author or an owner, or with their notification, and free their storage', async () => {
    const bytes = await stored();
    const [id, elsewhere] = [await shop.raise(), await shop.raise()];
    const before = await stored();
    const [one, two] = [
      (await note(teo, id, { text: 'One' })).json.id,
      (await note(teo, id, { text: 'Two 😀' })).json.id,
    ];
    assert.equal(await stored(), before + 3 + 8 + 2 * 200);
    const remove = (by: CallOptions, noteId: number, at = id) =>
      shop.delete(`/notification/${at}/notes/${noteId}`, by);
    assertError(await remove(mona, one), 403, 'FORBIDDEN');
    assertError(await remove(teo, 987_654), 404, 'NOTE_NOT_FOUND');
    assertError(await remove(teo, one, elsewhere), 404, 'NOTE_NOT_FOUND');
    assert.equal((await remove(teo, one)).status, 200);
    assert.equal((await remove({}, two)).status, 200);
    assertError(await remove(teo, one), 404, 'NOTE_NOT_FOUND');
    assert.deepEqual([await notes(id), await stored()], [[], before]);
    await note(teo, id, { text: 'Three' });
    for (const notification of [id, elsewhere]) await shop.delete(`/notification/${notification}`);
    assert.equal(await stored(), bytes);
    const left = 'select id from notification_notes where notification_id = $1';
    assert.deepEqual(await shop.deskbell.database.all(left, [id]), []);
  });

  it('are 200 at most, also when many are written at the same time', async () => {
    const id = await shop.raise();
    await shop.deskbell.database.run(
      `insert into notification_notes (merchant_id, notification_id, user_id, text, mentions, created_at)
        with recursive notes (n) as (select 1 union all select n + 1 from notes where n < 195)
        select m.id, n.id, u.id, 'Note', '[]', '2026-01-15T09:30:00.000Z' from merchants m
          join notifications n on n.id = $1 join users u on u.id = $2 cross join notes where m.id = n.merchant_id`,
      [id, teo.id],
    );
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => note(teo, id, { text: `More ${n}` })),
    );
    const refused = replies.filter(({ status }) => status !== 200);
    assert.equal(refused.length, 7);
    for (const reply of refused) assertError(reply, 409, 'CONFLICT');
    assert.equal((await notes(id)).length, 200);
  });

  it('have at most 4,000 characters, and mention people of the merchant', async () => {
    const id = await shop.raise();
    const former = await shop.colleague('Former Colleague');
    await disable(shop.deskbell, former);
    const strangers = ['all', [987_654], [former.id], [other.owner.id], Array(21).fill(teo.id)];
    for (const [field, bodies] of Object.entries({
      text: [undefined, ' \n', 7, '😀'.repeat(4001)].map((text) => ({ text })),
      mentions: strangers.map((mentions) => ({ text: 'x', mentions })),
    }))
      for (const body of bodies) assertError(await note(teo, id, body), 422, 'VALIDATION_ERROR', field);
    assert.deepEqual(await notes(id), []);
    const longest = '😀'.repeat(4000);
    assert.equal((await note(teo, id, { text: longest })).json.text, longest);
    const odd = await note(teo, id, { text: 'half \ud83d and nul \0, @Former Colleague' });
    assert.deepEqual(
      [odd.json.text, odd.json.mentions],
      ['half \ufffd and nul \ufffd, @Former Colleague', []],
    );
  });
});

onEachEngine('an assigned notification', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  let teo: Colleague;
  before(async () => {
    teo = await shop.colleague('Teo "T" Vidal');
  });
  const assign = (id: number, user_id: unknown, options: CallOptions = teo) =>
    shop.put(`/notification/${id}/assignee`, { user_id }, options);
  const assignee = async (id: number) => (await shop.get(`/notification/${id}`)).json.assigned_to;
  const byTeo = () => ({ id: teo.id, name: teo.name });
  const assignmentsIn = (events: { type: string; data: Record<string, unknown> }[]) =>
    events.map(({ type, data }) => [type, data.notification_id, data.assigned_to, data.assigned_by]);

  it('has a person, another one, or nobody, and everybody hears of it once', async () => {
    const id = await shop.raise();
    const { owner } = shop;
    assert.equal(await assignee(id), null);
    const live = await listen(shop.deskbell, teo.token);
    const { events } = await eventsDuring(shop, async () => {
      const assigned = await assign(id, owner.id);
      assert.deepEqual(assigned.json, { assigned_to: { id: owner.id, name: 'Olga Owner' } });
      await live.next('inbox');
      // Again: nothing changes.
      assert.equal((await assign(id, owner.id)).status, 200);
      await assign(id, teo.id, {});
      assert.deepEqual(await assignee(id), byTeo());
      assert.deepEqual((await assign(id, null, {})).json, { assigned_to: null });
    });
    live.stop();
    assert.deepEqual(assignmentsIn(events), [
      ['notification.assigned', id, owner.id, teo.id],
      ['notification.assigned', id, teo.id, owner.id],
      ['notification.assigned', id, null, owner.id],
    ]);
  });

  it('is not assigned to somebody who cannot sign in or works elsewhere', async () => {
    const [id, next] = [await shop.raise(), await shop.raise()];
    const former = await shop.colleague('Former Colleague');
    await assign(id, former.id);
    await disable(shop.deskbell, former);
    // Who has left is still shown, and another person can take it.
    assert.deepEqual(await assignee(id), { id: former.id, name: former.name });
    for (const user of [former.id, other.owner.id, 987_654, 'me', undefined])
      assertError(await assign(next, user), 422, 'VALIDATION_ERROR', 'user_id');
    assert.equal(await assignee(next), null);
    await assign(id, teo.id);
    await shop.answer(id);
    assert.deepEqual(await assignee(id), byTeo());
  });

  it('can be one of many that are assigned together', async () => {
    const [first, second, foreign] = [await shop.raise(), await shop.raise(), await other.raise()];
    const assignMany = (ids: number[], user_id: unknown) =>
      shop.post('/notification/assign-many', { ids, user_id }, teo);
    await assign(first, teo.id);
    const assigned = { status: 'assigned', message: 'Notification assigned.' };
    const refused = { status: 'refused', message: 'Notification not found.', code: 'NOTIFICATION_NOT_FOUND' };
    const { events } = await eventsDuring(shop, async () => {
      assert.deepEqual((await assignMany([second, foreign, first], teo.id)).json, {
        assigned_to: byTeo(),
        results: [
          { id: second, ...assigned },
          { id: foreign, ...refused },
          { id: first, ...assigned },
        ],
      });
    });
    // Only what has changed is an event.
    assert.deepEqual(assignmentsIn(events), [['notification.assigned', second, teo.id, teo.id]]);
    assert.equal((await assignMany([first, second], null)).json.assigned_to, null);
    for (const id of [first, second]) assert.equal(await assignee(id), null);
    for (const user_id of [other.owner.id, undefined])
      assertError(await assignMany([first], user_id), 422, 'VALIDATION_ERROR', 'user_id');
  });
});
