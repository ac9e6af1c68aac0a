import assert from 'node:assert/strict';
import { it } from 'node:test';
import { answer, ask, countsOf, INBOX, idsIn, page } from '../../support/inbox.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  assertError,
  type Deskbell,
  NOTIFICATIONS,
  onEachEngine,
  useDeskbell,
  useOwners,
} from '../../support/server.ts';

const MINUTE = 60;

onEachEngine('messages that need attention', (engine) => {
  const deskbell = useDeskbell(engine);
  const owners = useOwners(deskbell);

  let asked = 0;
  /** A message that failed, because its number is not one, or with the code of a channel. */
  const fail = async (code?: string, token = owners.aurora, conversationId = 1) => {
    asked += 1;
    const lead_phone = code === undefined ? 'call me' : `+3461155${1000 + asked}`;
    const id = await ask(deskbell, token, `Attention ${asked}?`, { conversationId, lead_phone });
    await answer(deskbell, token, id, { answer: `Yes, number ${asked}.` });
    await deskbell.allSent();
    if (code !== undefined)
      await deskbell.database.run(
        `update deliveries set state = 'failed', last_code = $2, reason = 'It did not work.' where notification_id = $1`,
        [id, code],
      );
    return id;
  };
  const attention = async (query: Record<string, string> = {}, token = owners.aurora) =>
    page(deskbell, token, { tab: 'attention', ...query });
  const sendAgain = async (body: object, token = owners.aurora) => {
    const reply = await deskbell.call('POST', `${INBOX}/attention/send-again`, { token, body });
    await deskbell.allSent();
    return reply;
  };
  const fix = async (id: number, phone: unknown, token = owners.aurora) => {
    const reply = await deskbell.call('POST', `${NOTIFICATIONS}/${id}/recipient`, {
      token,
      body: { phone },
      ...(typeof phone === 'string' ? {} : { documented: false as const }),
    });
    await deskbell.allSent();
    return reply;
  };
  const stateOf = async (id: number) =>
    (await page(deskbell, owners.aurora, { ids: String(id) })).items[0].delivery.state;
  const isSent = async (id: number) => ['sent', 'delivered', 'read'].includes(await stateOf(id));
  const clear = () =>
    deskbell.database.run(
      `update deliveries set state = 'cancelled' where state in ('failed', 'queued', 'waiting')`,
    );

  it('are listed with a code and a reason, newest first, until they are sent', async () => {
    const [number, channel, unknown] = [await fail(), await fail('131026'), await fail('HTTP_418')];
    const { items } = await attention();
    assert.deepEqual(
      items.map((item: Item) => [item.id, item.attention.kind, item.attention.code]),
      [
        [unknown, 'failed', 'gave_up'],
        [channel, 'failed', 'cannot_receive'],
        [number, 'failed', 'bad_number'],
      ],
    );
    assert.equal(items[2].attention.reason, '“call me” is not a phone number.');
    // The other tabs mark them.
    const marked = (await page(deskbell, owners.aurora, { tab: 'answered' })).items.filter(
      (item: Item) => item.attention,
    );
    assert.deepEqual(idsIn({ items: marked }), idsIn({ items }));
    assert.deepEqual((await countsOf(deskbell, owners.aurora)).attention, { count: 3, more: false });
    assert.deepEqual(idsIn(await attention({}, owners.borealis)), []);

    const reply = await sendAgain({ ids: [channel, number, 987_654] });
    assert.deepEqual(
      [reply.status, reply.json],
      [
        200,
        {
          message: '1 message is queued again.',
          count: 1,
          skipped: 1,
          left_out: 0,
          more: false,
          after_id: 0,
          results: [
            { id: channel, result: 'queued' },
            { id: number, result: 'bad_number' },
            { id: 987_654, result: 'not_found' },
          ],
        },
      ],
    );
    assert.ok(await isSent(channel));
    assert.deepEqual(idsIn(await attention()), [unknown, number]);
    assert.deepEqual((await sendAgain({ ids: [channel] })).json.results, [
      { id: channel, result: 'not_failed' },
    ]);
    await clear();
  });

  it('have pages in both orders, a search and a type', async () => {
    const ids = [await fail('X'), await fail('X'), await fail('X')];
    for (const sort of ['newest', 'oldest']) {
      const found: number[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { items, next_cursor } = await attention({ sort, limit: '1', ...(cursor && { cursor }) });
        found.push(...idsIn({ items }));
        cursor = next_cursor;
      }
      assert.deepEqual(found, sort === 'oldest' ? ids : ids.toReversed());
    }
    assert.deepEqual(idsIn(await attention({ q: `number ${asked - 1}` })), [ids[1]]);
    assert.deepEqual(
      (await countsOf(deskbell, owners.aurora, { q: `number ${asked - 1}` })).attention.count,
      1,
    );
    assert.deepEqual(idsIn(await attention({ type: 'user_support_request' })), []);
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${ids[1]}`, { token: owners.aurora });
    assert.deepEqual(idsIn(await attention()), [ids[2], ids[0]]);
    assert.deepEqual((await sendAgain({ ids: [ids[1]] })).json.results[0].result, 'not_found');
    await clear();
  });

  it('can all be sent again, only by their own merchant, and those without a number stay', async () => {
    const foreign = await fail('X', owners.borealis, 4);
    const [first, number, last] = [await fail('X'), await fail(), await fail('X')];
    const { json } = await sendAgain({ all: true });
    assert.deepEqual([json.count, json.skipped, json.more], [2, 1, false]);
    assert.ok((await isSent(first)) && (await isSent(last)));
    assert.deepEqual(idsIn(await attention()), [number]);
    assert.deepEqual((await sendAgain({ ids: [foreign] })).json.results, [
      { id: foreign, result: 'not_found' },
    ]);
    assert.deepEqual(idsIn(await attention({}, owners.borealis)), [foreign]);
    await clear();
  });

  it('get a new number, which the next answer of the conversation uses too', async () => {
    const token = owners.aurora;
    const wrong = '+34611009900';
    const id = await ask(deskbell, token, 'Wrong number?', { lead_phone: wrong });
    await answer(deskbell, token, id, { answer: 'Yes.' });
    await deskbell.allSent();
    assertError(await fix(id, '+34611550142'), 409, 'CONFLICT');
    await deskbell.database.run(
      `update deliveries set state = 'failed', last_code = '131026' where notification_id = $1`,
      [id],
    );
    for (const phone of ['12', 'nobody', '+999123'])
      assertError(await fix(id, phone), 422, 'VALIDATION_ERROR', 'phone');
    assertError(await fix(id, 5), 422, 'VALIDATION_ERROR', 'phone');
    assert.equal(await stateOf(id), 'failed');
    assert.equal((await fix(id, '+34 611 55 01 42')).status, 200);
    assert.ok(await isSent(id));
    const [item] = (await page(deskbell, token, { ids: String(id) })).items;
    assert.deepEqual(
      [item.delivery.recipient, item.customer.phone, item.attention],
      ['+34611550142', '+34611550142', null],
    );
    assertError(await fix(id, '+34611550143'), 409, 'CONFLICT');
    // The assistant still gives the wrong one.
    const next = await ask(deskbell, token, 'And now?', { lead_phone: '0034 611 00 99 00' });
    await answer(deskbell, token, next, { answer: 'Now it arrives.' });
    const other = await ask(deskbell, token, 'And another?', { lead_phone: '+34611009911' });
    await answer(deskbell, token, other, { answer: 'That is another one.' });
    const { items } = await page(deskbell, token, { ids: `${next},${other}` });
    assert.deepEqual(
      items.map((one: Item) => one.delivery.recipient),
      ['+34611009911', '+34611550142'],
    );
    const { json } = await deskbell.call('GET', '/api/v1/audit?what=notification.recipient_changed', {
      token,
    });
    assert.deepEqual(
      json.map(({ about, who }: { about: object; who: { name: string } }) => [about, who.name]),
      [[{ notification_id: id }, 'Alma Reyes']],
    );
    await clear();
  });

  it('get a new number from people only', async () => {
    const id = await fail();
    const key = await createKey(deskbell, ['answer', 'notifications:read']);
    assert.equal((await fix(id, '+34611550142', key)).status, 403);
    assert.equal((await sendAgain({ ids: [id] }, key)).status, 200);
    assert.deepEqual(idsIn(await attention({}, key)), [id]);
    const reader = await createKey(deskbell, ['notifications:read']);
    assert.equal((await sendAgain({ ids: [id] }, reader)).status, 403);
    await clear();
  });

  it('refuse a request that does not say which', async () => {
    for (const [body, field] of [
      [{}, 'body'],
      [{ ids: [1], all: true }, 'body'],
      [{ all: false }, 'body'],
      [{ ids: [] }, 'ids'],
      [{ ids: [1, 1] }, 'ids'],
      [{ ids: ['1'] }, 'ids'],
      [{ all: true, after_id: 'x' }, 'after_id'],
    ] as const) {
      const reply = await deskbell.call('POST', `${INBOX}/attention/send-again`, {
        token: owners.aurora,
        body,
        documented: false,
      });
      assertError(reply, 422, 'VALIDATION_ERROR', field);
    }
  });
});

interface Item {
  id: number;
  attention: { kind: string; code: string; reason: string };
  delivery: { recipient: string; state: string };
}

onEachEngine('messages that wait', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });

  /** A message that nobody sends, in this state. */
  const put = async (token: string, changes = '') => {
    const id = await ask(deskbell, token, 'Waiting?', { lead_phone: '+34611550101' });
    await answer(deskbell, token, id, { answer: 'Soon.' });
    if (changes)
      await deskbell.database.run(`update deliveries set ${changes} where notification_id = $1`, [id]);
    return id;
  };
  const listed = async (token: string) =>
    (await page(deskbell, token, { tab: 'attention', sort: 'oldest' })).items.map((item: Item) => [
      item.id,
      item.attention.kind,
      item.attention.code,
    ]);

  it('need attention after ten minutes, with what they wait for, and start anew when they are sent again', async () => {
    deskbell.clock.stop();
    let token = await deskbell.signIn();
    const plain = await put(token);
    const limit = await put(token, `state = 'waiting', waiting_for = 'limit'`);
    const customer = await put(token, `state = 'waiting', waiting_for = 'customer'`);
    const behind = await put(token, `due_at = '9999-12-31T00:00:00.000Z'`);
    const retried = await put(token, `last_code = 'HTTP_503'`);
    const failed = await put(token, `state = 'failed', last_code = 'HTTP_503'`);
    await put(token, `state = 'read'`);
    assert.deepEqual(await listed(token), [[failed, 'failed', 'gave_up']]);
    await deskbell.clock.advance(9 * MINUTE + 59);
    assert.equal((await listed(token)).length, 1);
    const tag = (await deskbell.call('GET', `${INBOX}?tab=answered`, { token })).headers.get('etag')!;
    await deskbell.clock.advance(1);
    token = await deskbell.signIn();
    assert.deepEqual(await listed(token), [
      [plain, 'waiting', 'not_sent_yet'],
      [limit, 'waiting', 'daily_limit'],
      [customer, 'waiting', 'customer_must_write'],
      [behind, 'waiting', 'earlier_message'],
      [retried, 'waiting', 'retrying'],
      [failed, 'failed', 'gave_up'],
    ]);
    // Only time has passed, but the list is another one.
    const later = await deskbell.call('GET', `${INBOX}?tab=answered`, {
      token,
      headers: { 'if-none-match': tag },
    });
    assert.equal(later.status, 200);

    const { json } = await deskbell.call('POST', `${INBOX}/attention/send-again`, {
      token,
      body: { all: true },
    });
    assert.equal(json.count, 1);
    assert.ok(!(await listed(token)).some(([id]: [number]) => id === failed));
    await deskbell.clock.advance(10 * MINUTE);
    token = await deskbell.signIn();
    assert.ok((await listed(token)).some(([id]: [number]) => id === failed));
  });

  it('need attention at once while their channel is stopped, all of them and no longer', async () => {
    await deskbell.database.run(`update deliveries set state = 'sent' where state <> 'sent'`);
    const token = await deskbell.signIn();
    const ids = [await put(token), await put(token, `state = 'waiting', waiting_for = 'limit'`)];
    await put(token, `state = 'sent'`);
    assert.deepEqual(await listed(token), []);
    await stop(deskbell, 'refused', '9999-01-01T00:00:00.000Z');
    assert.deepEqual(
      await listed(token),
      ids.map((id) => [id, 'stopped', 'channel_stopped']),
    );
    assert.deepEqual((await countsOf(deskbell, token)).attention, { count: 2, more: false });
    await deskbell.database.run('delete from channel_stops');
    assert.deepEqual(await listed(token), []);
    // One that does not answer is tried again soon.
    await stop(deskbell, 'not_answering', '9999-01-01T00:00:00.000Z');
    assert.deepEqual(await listed(token), []);
    await deskbell.clock.advance(10 * MINUTE);
    assert.deepEqual((await listed(await deskbell.signIn()))[0], [
      ids[0],
      'waiting',
      'channel_not_answering',
    ]);
  });
});

const stop = ({ database, clock }: Deskbell, kind: string, until: string) =>
  database.run(
    `insert into channel_stops (channel_id, kind, code, stopped_at, until, probes) values ('simulator', $1, '190', $2, $3, 0)`,
    [kind, clock.now().toISOString(), until],
  );
