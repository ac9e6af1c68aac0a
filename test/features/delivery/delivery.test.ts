import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AURORA, BOREALIS, type Deskbell, onEachEngine, useDeskbell } from '../../support/server.ts';

/** Raises a question in conversation 1 and returns its URL. */
async function raise(deskbell: Deskbell, token: string, context: object, conversation = 1): Promise<string> {
  const raised = await deskbell.call('POST', '/api/v1/notification/request', {
    token,
    body: {
      notification_type: 'question' in context ? 'user_question_request' : 'user_support_request',
      conversation_id: conversation,
      context,
    },
  });
  assert.equal(raised.status, 200, raised.text);
  return raised.headers.get('location')!;
}

async function answer(deskbell: Deskbell, token: string, location: string, body: object) {
  const answered = await deskbell.call('POST', `${location}/answer`, { token, body });
  assert.equal(answered.status, 200, answered.text);
  await deskbell.allSent();
  return answered.json.message as string;
}

onEachEngine('the delivery of an answer', (engine) => {
  const deskbell = useDeskbell(engine);

  it('goes to the number of the conversation, and the notification shows it', async () => {
    const token = await deskbell.signIn();
    const location = await raise(deskbell, token, { question: 'Do you roast on Mondays?' });
    await answer(deskbell, token, location, { answer: 'Every Monday at six.' });
    const one = await deskbell.call('GET', location, { token });
    assert.equal(one.json.delivery.state, 'delivered');

    const phone = await deskbell.call('GET', '/api/v1/simulator/1', { token });
    const { text, from_customer } = phone.json.at(-1);
    assert.deepEqual([text, from_customer], ['Every Monday at six.', false]);
    // It follows the messages of the demo's customer.
    assert.ok(phone.json.slice(0, -1).every((message: { from_customer: boolean }) => message.from_customer));
    const read = await deskbell.call('GET', `/api/v1/delivery/${one.json.delivery.id}`, { token });
    assert.equal(read.json.state, 'read');
    assert.deepEqual(
      read.json.timeline.map(({ state }: { state: string }) => state),
      ['queued', 'delivered', 'read'],
    );
    assert.equal(read.json.attempts, 1);
  });

  it('prefers the number in the context to that of the conversation', async () => {
    const token = await deskbell.signIn();
    const location = await raise(deskbell, token, {
      question: 'Where are you?',
      lead_phone: '+34 600 123 456',
    });
    await answer(deskbell, token, location, { answer: 'In the old harbour.' });
    const { json } = await deskbell.call('GET', '/api/v1/delivery/?limit=1', { token });
    assert.equal(json[0].recipient, '+34600123456');
    assert.equal(json[0].mode, 'reply');
  });

  it('fails at once and says why if there is no valid number', async () => {
    const token = await deskbell.signIn();
    const location = await raise(deskbell, token, { question: 'And now?', lead_phone: 'ask at the desk' });
    await answer(deskbell, token, location, { answer: 'At nine.' });
    const [{ state, reason }] = (await deskbell.call('GET', '/api/v1/delivery/?limit=1', { token })).json;
    assert.deepEqual([state, reason], ['failed', '“ask at the desk” is not a phone number.']);
  });

  it('sends a support reply but not its notes', async () => {
    const token = await deskbell.signIn();
    const location = await raise(deskbell, token, { support_request_reason: 'Cup broken' });
    await answer(deskbell, token, location, {
      agent_response_to_customer: 'A new cup is on its way.',
      resolution_notes: 'do not tell: discount',
    });
    const { json } = await deskbell.call('GET', '/api/v1/delivery/?limit=1', { token });
    assert.equal(json[0].content, 'A new cup is on its way.');
    assert.doesNotMatch((await deskbell.call('GET', '/api/v1/simulator/1', { token })).text, /discount/);
  });

  it('sends nothing if a request is resolved without a reply', async () => {
    const token = await deskbell.signIn();
    const before = (await deskbell.call('GET', '/api/v1/delivery/', { token })).json.length;
    const location = await raise(deskbell, token, { question: 'Never mind?' });
    await answer(deskbell, token, location, { resolve_only: true });
    assert.equal((await deskbell.call('GET', '/api/v1/delivery/', { token })).json.length, before);
    assert.equal((await deskbell.call('GET', location, { token })).json.delivery, null);
  });

  it('continues even if the notification is deleted right after the answer', async () => {
    const token = await deskbell.signIn();
    const location = await raise(deskbell, token, { question: 'Gone?' });
    const answered = await deskbell.call('POST', `${location}/answer`, {
      token,
      body: { answer: 'Still here.' },
    });
    assert.equal(answered.status, 200);
    assert.equal((await deskbell.call('DELETE', location, { token })).status, 200);
    await deskbell.allSent();
    assert.match((await deskbell.call('GET', '/api/v1/simulator/1', { token })).text, /Still here\./);
  });

  it('deliveries, test phones and limits of another merchant are not found', async () => {
    const [aurora, borealis] = [
      await deskbell.signIn(AURORA.email, AURORA.password),
      await deskbell.signIn(BOREALIS.email, BOREALIS.password),
    ];
    const location = await raise(deskbell, aurora, { question: 'Do you grind it?' });
    await answer(deskbell, aurora, location, { answer: 'As fine as you like.' });
    const [mine] = (await deskbell.call('GET', '/api/v1/delivery/', { token: aurora })).json;
    assert.deepEqual((await deskbell.call('GET', '/api/v1/delivery/', { token: borealis })).json, []);
    for (const [method, foreign, absent] of [
      ['GET', `/api/v1/delivery/${mine.id}`, '/api/v1/delivery/999999'],
      ['POST', `/api/v1/delivery/${mine.id}/retry`, '/api/v1/delivery/999999/retry'],
      ['GET', '/api/v1/simulator/1', '/api/v1/simulator/999999'],
    ] as const) {
      const [a, b] = [
        await deskbell.call(method, foreign, { token: borealis }),
        await deskbell.call(method, absent, { token: borealis }),
      ];
      assert.equal(a.status, 404);
      assert.equal(a.text, b.text);
    }
  });
});

onEachEngine('the daily messaging limit', (engine) => {
  const deskbell = useDeskbell(engine, { CHANNEL_DAILY_LIMIT: '2' });
  const phone = (n: number) => `+3460000000${n}`;

  it('makes campaigns wait in order until the limit allows them, and says until when', async () => {
    let token = await deskbell.signIn();
    const advance = async (seconds: number) => {
      await deskbell.clock.advance(seconds);
      token = await deskbell.signIn();
    };
    const campaign = async (n: number) => {
      const location = await raise(deskbell, token, { question: `Q${n}?`, lead_phone: phone(n) });
      return answer(deskbell, token, location, { answer: `A${n}`, only_send_campaign: true });
    };
    assert.equal(await campaign(1), 'Notification answered.');
    await advance(3600);
    assert.equal(await campaign(2), 'Notification answered.');
    assert.equal(
      await campaign(1),
      'Notification answered.',
      'a customer reached today takes no second place',
    );
    const message = await campaign(3);
    assert.match(message, /limit is reached: the message waits until \d{4}-\d\d-\d\dT/);
    await campaign(4);

    const states = async () =>
      Object.fromEntries(
        (await deskbell.call('GET', '/api/v1/delivery/', { token })).json
          .reverse()
          .map(({ recipient, state }: { recipient: string; state: string }) => [recipient, state]),
      );
    assert.deepEqual(await states(), {
      [phone(1)]: 'delivered',
      [phone(2)]: 'delivered',
      [phone(3)]: 'waiting',
      [phone(4)]: 'waiting',
    });
    const limits = (await deskbell.call('GET', '/api/v1/limits', { token })).json;
    assert.deepEqual(
      { ...limits, next_free_at: null },
      { limit: 2, used: 2, waiting: 2, next_free_at: null },
    );

    await advance(24 * 3600 + 1);
    await deskbell.allSent();
    const after = await states();
    assert.equal(after[phone(3)], 'delivered');
    assert.equal(after[phone(4)], 'delivered');
  });

  it('does not count replies', async () => {
    const token = await deskbell.signIn();
    for (const n of [5, 6, 7]) {
      const location = await raise(deskbell, token, { question: `Q${n}?`, lead_phone: phone(n) });
      assert.equal(await answer(deskbell, token, location, { answer: `A${n}` }), 'Notification answered.');
    }
    const { json } = await deskbell.call('GET', '/api/v1/delivery/?state=waiting', { token });
    assert.deepEqual(json, []);
  });
});
