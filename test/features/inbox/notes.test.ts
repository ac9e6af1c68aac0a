import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { addColleague, type Colleague, disable } from '../../support/colleagues.ts';
import { listen } from '../../support/listening.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  assertError,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  raise,
  useDeskbell,
  useOwners,
} from '../../support/server.ts';

const LOG = '/api/v1/events/log';

onEachEngine('internal notes', (engine) => {
  const deskbell = useDeskbell(engine);
  const tokens = useOwners(deskbell);
  let teo: Colleague;
  let mona: Colleague;
  before(async () => {
    teo = await addColleague(deskbell, 'Teo Vidal');
    mona = await addColleague(deskbell, 'Mona Haddad');
  });

  const notes = (token: string, address: string) => deskbell.call('GET', `${address}/notes`, { token });
  const note = (token: string, address: string, body: unknown, headers = {}) =>
    deskbell.call('POST', `${address}/notes`, { token, body, headers });
  const stored = async () =>
    (await deskbell.database.one<{ bytes: number }>('select bytes from inboxes where merchant_id = 1'))!
      .bytes;

  it('are there for all colleagues, in order, with their authors and whom they mention', async () => {
    const address = await raise(deskbell, tokens.aurora);
    assert.deepEqual((await notes(teo.token, address)).json, { notes: [] });
    const first = await note(teo.token, address, { text: '@mona haddad, is it back on Monday? 😀' });
    assert.equal(first.status, 200, first.text);
    const second = await note(mona.token, address, { text: 'Yes.', mentions: [teo.id] });
    const { json } = await notes(tokens.aurora, address);
    assert.deepEqual(json, { notes: [first.json, second.json] });
    const people = { teo: { id: teo.id, name: teo.name }, mona: { id: mona.id, name: mona.name } };
    assert.deepEqual(
      json.notes.map(({ author, mentions }: Record<string, unknown>) => [author, mentions]),
      [
        [people.teo, [people.mona]],
        [people.mona, [people.teo]],
      ],
    );
    assert.equal((await deskbell.call('GET', address, { token: teo.token })).json.notes, 2);
  });

  it('are not in the list of notifications, and not for keys', async () => {
    const address = await raise(deskbell, tokens.aurora);
    await note(teo.token, address, { text: 'Only for us.' });
    const id = Number(address.split('/').at(-1));
    const list = await deskbell.call('GET', `${NOTIFICATIONS}/?limit=1`, { token: tokens.aurora });
    assert.equal(list.json[0].id, id);
    assert.equal(Object.keys(list.json[0]).length, 9);
    const key = await createKey(deskbell, ['notifications:read', 'answer', 'ask']);
    for (const reply of [await notes(key, address), await note(key, address, { text: 'Me too' })])
      assertError(reply, 403, 'INSUFFICIENT_SCOPE');
    const { json } = await deskbell.call('GET', address, { token: key });
    assert.ok(!JSON.stringify(json).includes('Only for us.'));
  });

  it('tell programs that there is one, but not what it says', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const { last_id } = (await deskbell.call('GET', `${LOG}?limit=500`, { token: tokens.aurora })).json;
    const live = await listen(deskbell, teo.token);
    const { json } = await note(teo.token, address, { text: '@Mona, a secret' });
    await live.next('inbox');
    live.stop();
    const { events } = (await deskbell.call('GET', `${LOG}?after=${last_id}`, { token: tokens.aurora })).json;
    assert.deepEqual(
      events.map(({ type, data }: { type: string; data: unknown }) => [type, data]),
      [
        [
          'notification.noted',
          {
            ...{ notification_id: Number(address.split('/').at(-1)), conversation_id: 1, note_id: json.id },
            ...{ author: teo.id, mentions: [mona.id], reference: null, metadata: null },
          },
        ],
      ],
    );
    const assistant = await createKey(deskbell, ['ask']);
    const shown = (await deskbell.call('GET', `${LOG}?after=${last_id}`, { token: assistant })).json;
    assert.deepEqual(shown.events, []);
  });

  it('are deleted by their author or an owner, and by nobody else', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const bytes = await stored();
    const ids: number[] = [];
    for (const text of ['One', 'Two 😀']) ids.push((await note(teo.token, address, { text })).json.id);
    assert.equal(await stored(), bytes + 3 + 8 + 2 * 200);
    const remove = (token: string, id: unknown, at = address) =>
      deskbell.call('DELETE', `${at}/notes/${id}`, { token });
    assertError(await remove(mona.token, ids[0]), 403, 'FORBIDDEN');
    const other = await raise(deskbell, tokens.aurora);
    const bytesOfOther = (await stored()) - bytes - 411;
    for (const [token, id, at] of [
      [teo.token, 987_654, address],
      [teo.token, 'abc', address],
      [teo.token, ids[0], other],
    ] as const)
      assertError(await remove(token, id, at), 404, 'NOTE_NOT_FOUND');
    assertError(await remove(tokens.borealis, ids[0]), 404, 'NOTIFICATION_NOT_FOUND');
    assert.equal((await remove(teo.token, ids[0])).status, 200);
    assert.equal((await remove(tokens.aurora, ids[1])).status, 200);
    assertError(await remove(teo.token, ids[0]), 404, 'NOTE_NOT_FOUND');
    assert.deepEqual((await notes(teo.token, address)).json, { notes: [] });
    assert.equal(await stored(), bytes + bytesOfOther);
  });

  it('go with their notification, and free their storage', async () => {
    const before = await stored();
    const address = await raise(deskbell, tokens.aurora);
    for (const text of ['One', 'Two']) await note(teo.token, address, { text });
    await deskbell.call('DELETE', address, { token: tokens.aurora });
    assert.equal(await stored(), before);
    assertError(await notes(teo.token, address), 404, 'NOTIFICATION_NOT_FOUND');
    const left = await deskbell.database.one<{ count: number }>(
      'select count(*) as count from notification_notes where merchant_id = 1 and notification_id = $1',
      [Number(address.split('/').at(-1))],
    );
    assert.equal(left!.count, 0);
  });

  it('need a text of at most 4,000 characters, and people of the merchant', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const former = await addColleague(deskbell, 'Former Colleague');
    await disable(deskbell, former);
    const refused: [body: unknown, field: string][] = [
      [{}, 'text'],
      [{ text: ' \n' }, 'text'],
      [{ text: 7 }, 'text'],
      [{ text: 'x'.repeat(4001) }, 'text'],
      [{ text: '😀'.repeat(4001) }, 'text'],
      [[], 'body'],
      [{ text: 'x', mentions: 'all' }, 'mentions'],
      [{ text: 'x', mentions: [0] }, 'mentions'],
      [{ text: 'x', mentions: [987_654] }, 'mentions'],
      [{ text: 'x', mentions: [former.id] }, 'mentions'],
      // The owner of the other merchant.
      [{ text: 'x', mentions: [2] }, 'mentions'],
      [{ text: 'x', mentions: Array(21).fill(teo.id) }, 'mentions'],
    ];
    for (const [body, field] of refused)
      assertError(await note(teo.token, address, body), 422, 'VALIDATION_ERROR', field);
    assert.deepEqual((await notes(teo.token, address)).json, { notes: [] });
    const longest = '😀'.repeat(4000);
    assert.equal((await note(teo.token, address, { text: longest })).json.text, longest);
    const odd = await note(teo.token, address, { text: 'half \ud83d and nul \0' });
    assert.equal(odd.json.text, 'half \ufffd and nul \ufffd');
    assert.deepEqual((await note(teo.token, address, { text: '@Former Colleague' })).json.mentions, []);
  });

  it('are 200 at most, also when many are written at the same time', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const id = Number(address.split('/').at(-1));
    for (let n = 0; n < 195; n += 1)
      await deskbell.database.run(
        `insert into notification_notes (merchant_id, notification_id, user_id, text, mentions, created_at)
          values (1, $1, $2, 'Note', '[]', '2026-01-15T09:30:00.000Z')`,
        [id, teo.id],
      );
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => note(teo.token, address, { text: `More ${n}` })),
    );
    assert.equal(replies.filter(({ status }) => status === 200).length, 5);
    for (const reply of replies.filter(({ status }) => status !== 200)) assertError(reply, 409, 'CONFLICT');
    assert.equal((await notes(teo.token, address)).json.notes.length, 200);
  });

  it('are written once with an Idempotency-Key', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const headers = { 'idempotency-key': `note-${address}` };
    const first = await note(teo.token, address, { text: 'Once' }, headers);
    const again = await note(teo.token, address, { text: 'Once' }, headers);
    assert.deepEqual(again.json, first.json);
    assert.equal((await notes(teo.token, address)).json.notes.length, 1);
  });
});

onEachEngine('an assigned notification', (engine) => {
  const deskbell = useDeskbell(engine);
  const tokens = useOwners(deskbell);
  let teo: Colleague;
  before(async () => {
    teo = await addColleague(deskbell, 'Teo "T" Vidal');
  });
  const assign = (token: string, address: string, user_id: unknown) =>
    deskbell.call('PUT', `${address}/assignee`, { token, body: { user_id } });
  const assignee = async (address: string) =>
    (await deskbell.call('GET', address, { token: tokens.aurora })).json.assigned_to;

  it('has a person, another one, or nobody, and everybody hears of it once', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const { last_id } = (await deskbell.call('GET', `${LOG}?limit=500`, { token: tokens.aurora })).json;
    assert.equal(await assignee(address), null);
    const live = await listen(deskbell, teo.token);
    const assigned = await assign(teo.token, address, 1);
    assert.deepEqual(assigned.json, { assigned_to: { id: 1, name: 'Alma Reyes' } });
    await live.next('inbox');
    live.stop();
    // Again: nothing changes.
    assert.equal((await assign(teo.token, address, 1)).status, 200);
    await assign(tokens.aurora, address, teo.id);
    assert.deepEqual(await assignee(address), { id: teo.id, name: teo.name });
    assert.deepEqual((await assign(tokens.aurora, address, null)).json, { assigned_to: null });
    assert.equal(await assignee(address), null);
    const { events } = (await deskbell.call('GET', `${LOG}?after=${last_id}`, { token: tokens.aurora })).json;
    assert.deepEqual(
      events.map(({ type, data }: { type: string; data: Record<string, unknown> }) => [
        ...[type, data.assigned_to, data.assigned_by],
      ]),
      [
        ['notification.assigned', 1, teo.id],
        ['notification.assigned', teo.id, 1],
        ['notification.assigned', null, 1],
      ],
    );
  });

  it('is not assigned to somebody who cannot sign in or works elsewhere', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const former = await addColleague(deskbell, 'Former Colleague');
    assert.equal((await assign(teo.token, address, former.id)).status, 200);
    await disable(deskbell, former);
    // Who has left is still shown, and another person can take it.
    assert.deepEqual(await assignee(address), { id: former.id, name: former.name });
    const other = await raise(deskbell, tokens.aurora);
    for (const id of [former.id, 2, 987_654, 0, -1, 'me', 1.5, [1]])
      assertError(await assign(teo.token, other, id), 422, 'VALIDATION_ERROR', 'user_id');
    const empty = await deskbell.call('PUT', `${other}/assignee`, { token: teo.token, body: {} });
    assertError(empty, 422, 'VALIDATION_ERROR', 'user_id');
    assert.equal(await assignee(other), null);
    assert.equal((await assign(teo.token, address, teo.id)).status, 200);
    assert.deepEqual(await assignee(address), { id: teo.id, name: teo.name });
  });

  it('keeps its person when it is answered, and a key cannot assign it', async () => {
    const address = await raise(deskbell, tokens.aurora);
    await assign(teo.token, address, teo.id);
    const key = await createKey(deskbell, ['notifications:read', 'answer', 'ask']);
    assertError(await assign(key, address, 1), 403, 'INSUFFICIENT_SCOPE');
    await deskbell.call('POST', `${address}/answer`, { token: teo.token, body: { answer: 'Yes.' } });
    assert.deepEqual(await assignee(address), { id: teo.id, name: teo.name });
  });

  it('can be one of many that are assigned together', async () => {
    const addresses = [await raise(deskbell, tokens.aurora), await raise(deskbell, tokens.aurora)];
    const [first, second] = addresses.map((address) => Number(address.split('/').at(-1)));
    const foreign = Number(
      (await raise(deskbell, tokens.borealis, { ...QUESTION, conversation_id: 4 })).split('/').at(-1),
    );
    const assignMany = (token: string, body: object) =>
      deskbell.call('POST', `${NOTIFICATIONS}/assign-many`, { token, body });
    await assign(teo.token, addresses[0]!, teo.id);
    // The message of an earlier test is an event, too.
    await deskbell.allSent();
    const { last_id } = (await deskbell.call('GET', `${LOG}?limit=500`, { token: tokens.aurora })).json;
    const reply = await assignMany(teo.token, { ids: [second, foreign, first, 987_654], user_id: teo.id });
    assert.equal(reply.status, 200, reply.text);
    const refused = { status: 'refused', message: 'Notification not found.', code: 'NOTIFICATION_NOT_FOUND' };
    assert.deepEqual(reply.json, {
      assigned_to: { id: teo.id, name: teo.name },
      results: [
        { id: second, status: 'assigned', message: 'Notification assigned.' },
        { id: foreign, ...refused },
        { id: first, status: 'assigned', message: 'Notification assigned.' },
        { id: 987_654, ...refused },
      ],
    });
    for (const address of addresses)
      assert.deepEqual(await assignee(address), { id: teo.id, name: teo.name });
    // Only what has changed is an event.
    const { events } = (await deskbell.call('GET', `${LOG}?after=${last_id}`, { token: tokens.aurora })).json;
    assert.deepEqual(
      events.map(({ type, data }: { type: string; data: Record<string, unknown> }) => [
        ...[type, data.notification_id, data.assigned_to, data.assigned_by],
      ]),
      [['notification.assigned', second, teo.id, teo.id]],
    );
    const nobody = await assignMany(tokens.aurora, { ids: [first, second], user_id: null });
    assert.equal(nobody.json.assigned_to, null);
    for (const address of addresses) assert.equal(await assignee(address), null);

    for (const user_id of [2, 987_654, 'me', undefined])
      assertError(await assignMany(teo.token, { ids: [first], user_id }), 422, 'VALIDATION_ERROR', 'user_id');
    for (const ids of [[], [first, first], ['x'], Array.from({ length: 101 }, (_, n) => n + 1), undefined])
      assertError(await assignMany(teo.token, { ids, user_id: 1 }), 422, 'VALIDATION_ERROR', 'ids');
    const key = await createKey(deskbell, ['notifications:read', 'answer', 'ask']);
    assertError(await assignMany(key, { ids: [first], user_id: 1 }), 403, 'INSUFFICIENT_SCOPE');
  });
});
