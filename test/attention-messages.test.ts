import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NOTIFICATIONS, onEachEngine, useDeskbell, useOwners } from './harness.ts';
import { answer, ask, countsOf, INBOX, idsIn, page } from './inbox.ts';
import { createKey } from './machineKeys.ts';
import { CONVERSATIONS, useTalking } from './talking.ts';

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
    await deskbell.allSent();
    const { state } = (await deskbell.call('GET', `/api/v1/delivery/${json.delivery_id}`, { token })).json;
    assert.equal(state, 'cancelled');
  });
});
