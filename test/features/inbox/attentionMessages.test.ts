import assert from 'node:assert/strict';
import { it } from 'node:test';
import { answer, ask, countsOf, INBOX, idsIn, page } from '../../support/inbox.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, NOTIFICATIONS, onEachEngine, useDeskbell, useOwners } from '../../support/server.ts';
import { CONVERSATIONS, useTalking } from '../../support/talking.ts';
import { newPhone } from '../../support/whatsapp.ts';

interface Message {
  id: number;
  notification_id: number | null;
  attention: { kind: string; code: string };
}

onEachEngine('messages without a question that need attention', (engine) => {
  const deskbell = useDeskbell(engine);
  const owners = useOwners(deskbell);
  const { newConversation, send } = useTalking(deskbell);

  let count = 0;
  const next = () => {
    count += 1;
    return count;
  };
  const setFailed = (column: 'id' | 'notification_id', id: number, code: string) =>
    deskbell.database.run(
      `update deliveries set state = 'failed', last_code = $2, reason = 'It did not work.' where ${column} = $1`,
      [id, code],
    );
  /** A message that a person wrote in a conversation, and that failed. */
  const failedIn = async (conversationId: number, code = '131026'): Promise<number> => {
    const { status, json, text } = await send(conversationId, {
      text: `And one more thing, ${next()}.`,
    });
    assert.equal(status, 200, text);
    await deskbell.allSent();
    await setFailed('id', json.delivery_id, code);
    return json.delivery_id;
  };
  /** An answer that failed. */
  const answerFailed = async (conversationId: number, question: string, code = '131026') => {
    const id = await ask(deskbell, owners.aurora, question, { conversationId });
    await answer(deskbell, owners.aurora, id, { answer: 'Yes.' });
    await deskbell.allSent();
    await setFailed('notification_id', id, code);
    return id;
  };
  const messages = async (query: Record<string, string> = {}, token = owners.aurora): Promise<Message[]> =>
    (await page(deskbell, token, { tab: 'attention', ...query })).messages;
  const listed = async (query?: Record<string, string>) => (await messages(query)).map(({ id }) => id);
  const counted = async (query?: Record<string, string>, token = owners.aurora) =>
    (await countsOf(deskbell, token, query)).attention.count;
  const sendAgain = async (body: object, token = owners.aurora) => {
    const reply = await deskbell.call('POST', `${INBOX}/attention/send-again`, { token, body });
    assert.equal(reply.status, 200, reply.text);
    await deskbell.allSent();
    return reply.json;
  };
  const isSent = async (id: number) =>
    (await deskbell.call('GET', `/api/v1/delivery/${id}`, { token: owners.aurora })).json.state !== 'failed';
  const clear = () => deskbell.database.run(`update deliveries set state = 'sent' where state = 'failed'`);

  it('are listed with their customer and what to open, counted, and sent again', async () => {
    const conversationId = await newConversation();
    const [first, second] = [await failedIn(conversationId), await failedIn(conversationId)];
    assert.deepEqual(await listed(), [second, first]);
    const answered = await answerFailed(conversationId, 'And this?');
    const list = await page(deskbell, owners.aurora, { tab: 'attention' });
    assert.deepEqual(idsIn(list), [answered]);
    const { recipient, updated_at, ...delivery } = list.messages[0].delivery;
    assert.deepEqual(
      { ...list.messages[0], delivery },
      {
        id: second,
        text: `And one more thing, ${count}.`,
        by: 'Alma Reyes',
        customer: { name: 'Ana', phone: recipient },
        conversation: { id: conversationId },
        notification_id: answered,
        delivery: { id: second, state: 'failed' },
        attention: {
          kind: 'failed',
          code: 'cannot_receive',
          reason: 'It did not work.',
          since: updated_at,
        },
      },
    );
    assert.equal(await counted(), 3);
    assert.deepEqual(await messages({}, owners.borealis), []);
    assert.equal(await counted({}, owners.borealis), 0);
    assert.equal((await page(deskbell, owners.aurora, { tab: 'answered' })).messages.length, 0);
    const key = await createKey(deskbell, ['notifications:read']);
    assert.equal((await messages({}, key)).length, 2);

    const retried = await deskbell.call('POST', `/api/v1/delivery/${first}/retry`, { token: owners.aurora });
    assert.equal(retried.status, 200);
    await deskbell.allSent();
    assert.deepEqual(await listed(), [second]);
    assert.deepEqual(await sendAgain({ all: true }, owners.borealis), {
      ...{ message: '0 messages are queued again.', count: 0, skipped: 0, left_out: 0 },
      ...{ more: false, after_id: 0, results: [] },
    });
    assert.equal((await sendAgain({ all: true })).count, 2);
    assert.ok(await isSent(second));
    assert.equal(await counted(), 0);
  });

  it('are found by the newest question of their conversation', async () => {
    const [mine, others, none] = [await newConversation(), await newConversation(), await newConversation()];
    const zebra = await ask(deskbell, owners.aurora, 'A zebra mug?', { conversationId: mine });
    await ask(deskbell, owners.aurora, 'A giraffe mug?', { conversationId: others });
    const body = { user_id: 1 };
    await deskbell.call('PUT', `${NOTIFICATIONS}/${zebra}/assignee`, { token: owners.aurora, body });
    const [about, other, alone] = [await failedIn(mine), await failedIn(others), await failedIn(none)];
    assert.deepEqual(await listed(), [alone, other, about]);
    assert.equal((await messages()).at(0)?.notification_id, null);
    const filters = [{ q: 'zebra' }, { assigned: 'me' }, { assigned: '1', type: 'user_question_request' }];
    for (const filter of filters) {
      assert.deepEqual(await listed(filter), [about]);
      assert.equal(await counted(filter), 1);
    }
    assert.deepEqual(await listed({ assigned: 'none' }), [other]);
    assert.deepEqual(await listed({ type: 'user_support_request' }), []);
    assert.deepEqual(await listed({ sort: 'oldest' }), [about, other, alone]);
    await clear();
  });

  it('and answers are all sent again only as far as the filter goes', async () => {
    const [mine, others] = [await newConversation(), await newConversation()];
    const [zebra, giraffe] = [
      await answerFailed(mine, 'A zebra cup?'),
      await answerFailed(others, 'A giraffe cup?'),
    ];
    const [aboutZebra, aboutGiraffe] = [await failedIn(mine), await failedIn(others)];
    await deskbell.call('PUT', `${NOTIFICATIONS}/${giraffe}/assignee`, {
      token: owners.aurora,
      body: { user_id: 1 },
    });
    const dry = await sendAgain({ all: true, dry_run: true, q: 'zebra' });
    assert.deepEqual([dry.message, dry.count], ['2 messages would be queued again.', 2]);
    assert.equal(await counted(), 4);
    assert.equal((await sendAgain({ all: true, q: 'zebra' })).count, 2);
    assert.deepEqual(idsIn(await page(deskbell, owners.aurora, { tab: 'attention' })), [giraffe]);
    assert.ok((await isSent(aboutZebra)) && !(await isSent(aboutGiraffe)));
    assert.equal((await sendAgain({ all: true, type: 'user_support_request' })).count, 0);
    assert.equal((await sendAgain({ all: true, assigned: 'none' })).count, 0);
    assert.equal((await sendAgain({ all: true, assigned: 'me' })).count, 2);
    assert.equal(await counted(), 0);
    assert.ok(zebra < giraffe);
  });

  it('and answers are not all sent again if the customer may have them or does not want them', async () => {
    const id = await newConversation();
    const kept = [
      await answerFailed(id, 'Opted out?', '131050'),
      await answerFailed(id, 'Unknown?', 'TIMEOUT'),
    ];
    const unknown = await failedIn(id, 'NETWORK');
    const again = await answerFailed(id, 'Again?');
    const done = await sendAgain({ all: true });
    assert.deepEqual([done.count, done.skipped, done.left_out], [1, 0, 3]);
    const list = await page(deskbell, owners.aurora, { tab: 'attention', sort: 'oldest' });
    assert.deepEqual([idsIn(list), list.messages.map((one: Message) => one.id)], [kept, [unknown]]);
    assert.ok(!kept.includes(again));
    // One by one they can be.
    assert.equal((await sendAgain({ ids: kept })).count, 2);
    await clear();
  });

  it('are sent again by their ids only if they failed', async () => {
    const id = await newConversation();
    const [failed, cancelled] = [await answerFailed(id, 'One?'), await answerFailed(id, 'Two?')];
    await deskbell.database.run(`update deliveries set state = 'cancelled' where notification_id = $1`, [
      cancelled,
    ]);
    const { results } = await sendAgain({ ids: [cancelled, 987_654, failed] });
    assert.deepEqual(results, [
      { id: cancelled, result: 'not_failed' },
      { id: 987_654, result: 'not_found' },
      { id: failed, result: 'queued' },
    ]);
  });

  it('are sent again at once by people who choose them in another order', async () => {
    const id = await newConversation();
    const ids: number[] = [];
    for (let n = 0; n < 8; n += 1) ids.push(await answerFailed(id, `At once ${n}?`));
    const replies = await Promise.all([
      sendAgain({ ids }),
      sendAgain({ ids: ids.toReversed() }),
      sendAgain({ ids }),
    ]);
    assert.equal(
      replies.reduce((sum, { count }) => sum + count, 0),
      ids.length,
    );
  });

  it('get a new number, which the conversation remembers and what else waits for it follows', async () => {
    const token = owners.aurora;
    const [wrong, right] = [newPhone(), newPhone()];
    const id = await newConversation(wrong);
    const deliveryOf = async (delivery: number) =>
      (await deskbell.call('GET', `/api/v1/delivery/${delivery}`, { token })).json;
    const [first, second] = [await failedIn(id), await failedIn(id)];
    const answered = await answerFailed(id, 'Which number?');
    const { json: waiting } = await send(id, { text: 'Soon.', undo_seconds: 60 });
    const fix = async (delivery: number | string, phone: unknown, as = token) => {
      const reply = await deskbell.call('POST', `/api/v1/delivery/${delivery}/recipient`, {
        ...{ token: as, body: { phone } },
        ...(typeof phone === 'string' ? {} : { documented: false as const }),
      });
      await deskbell.allSent();
      return reply;
    };
    for (const phone of ['12', 'nobody', '', 5, null])
      assertError(await fix(first, phone), 422, 'VALIDATION_ERROR', 'phone');
    const foreign = await fix(first, right, owners.borealis);
    assertError(foreign, 404, 'DELIVERY_NOT_FOUND');
    for (const unknown of [987_654, 'x', '0']) assert.equal((await fix(unknown, right)).text, foreign.text);
    const key = await createKey(deskbell, ['answer', 'notifications:read']);
    assert.equal((await fix(first, right, key)).status, 403);
    assert.equal((await deliveryOf(first)).state, 'failed');

    const fixed = await fix(first, right);
    assert.deepEqual([fixed.status, fixed.json], [200, { message: 'The message is queued again.' }]);
    assert.deepEqual([(await deliveryOf(first)).recipient, await isSent(first)], [right, true]);
    assertError(await fix(first, newPhone()), 409, 'CONFLICT');
    assert.equal((await deliveryOf(first)).recipient, right);
    for (const delivery of [second, waiting.delivery_id])
      assert.equal((await deliveryOf(delivery)).recipient, right);
    const list = await page(deskbell, token, { tab: 'attention' });
    assert.deepEqual(
      [...list.items, ...list.messages].map(({ attention }: Message) => attention.code),
      ['number_fixed', 'number_fixed'],
    );
    assert.deepEqual(idsIn(list), [answered]);
    const conversation = await deskbell.call('GET', `${CONVERSATIONS}/${id}`, { token });
    assert.equal(conversation.json.customer_phone, right);
    // The assistant still gives the wrong one.
    const next = await ask(deskbell, token, 'And now?', { conversationId: id, lead_phone: wrong });
    const shown = await deskbell.call('GET', `${NOTIFICATIONS}/${next}`, { token });
    assert.equal(shown.json.recipient, right);
    const { json } = await deskbell.call('GET', '/api/v1/audit?what=delivery.recipient_changed', { token });
    assert.deepEqual(
      json.map(({ about, who }: { about: object; who: { name: string } }) => [about, who.name]),
      [[{ delivery_id: first }, 'Alma Reyes']],
    );
    await clear();
  });

  it('were taken back: nobody can send them', async () => {
    const id = await newConversation();
    const { json } = await send(id, { text: 'Oops', undo_seconds: 60 });
    const path = `${CONVERSATIONS}/${id}/sent/${json.delivery_id}`;
    const token = owners.aurora;
    assert.equal((await deskbell.call('DELETE', path, { token })).status, 200);
    await deskbell.database.run(
      `update deliveries set state = 'sent' where state = 'cancelled' and id <> $1`,
      [json.delivery_id],
    );
    const all = await deskbell.call('POST', '/api/v1/delivery/retry', {
      token,
      body: { state: 'cancelled' },
    });
    assert.equal(all.json.count, 0);
    const one = await deskbell.call('POST', `/api/v1/delivery/${json.delivery_id}/retry`, { token });
    assert.equal(one.status, 409);
    const fixed = await deskbell.call('POST', `/api/v1/delivery/${json.delivery_id}/recipient`, {
      ...{ token, body: { phone: newPhone() } },
    });
    assert.equal(fixed.status, 409);
    await deskbell.allSent();
    const { state } = (await deskbell.call('GET', `/api/v1/delivery/${json.delivery_id}`, { token })).json;
    assert.equal(state, 'cancelled');
  });
});
