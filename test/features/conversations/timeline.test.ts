import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Turn } from '../../../src/contract/timeline.ts';
import { NEAR_MS } from '../../../src/conversations/timeline/pairs.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, BOREALIS, onEachEngine, useDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { CONVERSATIONS, said, useTalking } from '../../support/talking.ts';

onEachEngine('the timeline of a conversation', (engine) => {
  const deskbell = useDeskbell(engine);
  const { call, newConversation, record, timeline, turns, question, answer, send } = useTalking(deskbell);
  /** So many minutes ago. */
  const ago = (minutes: number) => new Date(deskbell.clock.now().getTime() - minutes * 60_000).toISOString();

  it('has what customer, assistant and merchant said, in order, each with what belongs to it', async () => {
    const id = await newConversation();
    await record(
      id,
      { from: 'customer', text: 'Hello', at: ago(30) },
      { from: 'assistant', text: 'Hi, how can I help?', at: ago(29) },
    );
    const asked = await question(id, 'Do you open on Sundays?');
    await answer(asked, { answer: 'From ten to two.' });
    await deskbell.allSent();
    const { json } = await send(id, { text: 'And on Saturdays all day.' });
    await deskbell.allSent();

    const { conversation, sending, items, next_before } = await timeline(id);
    assert.deepEqual(said(items), [
      'customer: Hello',
      'assistant: Hi, how can I help?',
      'customer: Do you open on Sundays?',
      'merchant: From ten to two.',
      'merchant: And on Saturdays all day.',
    ]);
    assert.deepEqual(
      [conversation.id, conversation.taken_over, sending, next_before],
      [id, null, 'text', null],
    );
    const [first, , asking, answered, followUp] = items;
    assert.deepEqual(first, {
      ...{ id: first!.id, from: 'customer', text: 'Hello', at: first!.at, by: null, can_quote: true },
      ...{ question: null, notification_id: null, reply_to: null, delivery: null },
    });
    assert.match(first!.id, /^m\d+$/);
    assert.equal(asking!.id, `n${asked}`);
    assert.deepEqual(asking!.question, {
      ...{ notification_id: asked, notification_type: 'user_question_request', status: 'answered' },
      ...{ outcome: 'answered', answer: null, undo_until: null, answered_by: 'Alma Reyes' },
      answered_at: asking!.question!.answered_at,
    });
    assert.deepEqual(
      [answered!.by, answered!.notification_id, answered!.reply_to],
      ['Alma Reyes', asked, { id: `n${asked}`, text: 'Do you open on Sundays?' }],
    );
    assert.deepEqual(followUp!.delivery, {
      ...{ id: json.delivery_id, state: 'delivered', reason: null, code: null, undo_until: null },
      updated_at: followUp!.delivery!.updated_at,
    });
    assert.deepEqual(
      [followUp!.by, followUp!.notification_id, followUp!.reply_to],
      ['Alma Reyes', null, null],
    );
  });

  it('shows a question once: as the customer’s message of the same words, if that came within ten minutes', async () => {
    const id = await newConversation();
    await record(
      id,
      { from: 'customer', text: 'do you  SHIP to Peru?\n', at: ago(NEAR_MS / 60_000 - 1) },
      { from: 'customer', text: 'Do you ship to Chile?', at: ago(NEAR_MS / 60_000 + 1) },
    );
    const peru = await question(id, 'Do you ship to Peru?');
    const chile = await question(id, 'Do you ship to Chile?');
    await answer(peru, { answer: 'We do.' });
    await deskbell.allSent();
    const items = await turns(id);
    assert.deepEqual(
      items.map(({ id: turn, question }) => [turn[0], question?.notification_id ?? null]),
      [
        ['m', null],
        ['m', peru],
        ['n', chile],
        ['d', null],
      ],
    );
    assert.deepEqual(items[3]!.reply_to, { id: items[1]!.id, text: 'Do you ship to Peru?' });
    assert.deepEqual([items[1]!.question!.status, items[2]!.question!.outcome], ['answered', null]);
  });

  it('gives each question of the same words its own message, the nearest', async () => {
    const id = await newConversation();
    await record(
      id,
      { from: 'customer', text: 'Hello?', at: ago(9) },
      { from: 'customer', text: 'Hello?', at: ago(1) },
    );
    const raised = [await question(id, 'Hello?'), await question(id, 'Hello?'), await question(id, 'Hello?')];
    const found = (await turns(id)).map(({ question }) => question?.notification_id);
    assert.deepEqual(found, [raised[1], raised[0], raised[2]]);
  });

  it('leaves out what an assistant recorded of Deskbell’s own messages, by its id or by its words', async () => {
    const id = await newConversation();
    await send(id, { text: 'Your parcel has left.' });
    await deskbell.allSent();
    await deskbell.database.run(
      `update deliveries set channel_message_id = 'wamid.X', created_at = $2 where conversation_id = $1`,
      [id, ago(600)],
    );
    await send(id, { text: 'It arrives tomorrow.' });
    await deskbell.allSent();
    await record(
      id,
      { from: 'assistant', text: '[message]', message_id: 'wamid.X' },
      { from: 'assistant', text: 'It arrives  tomorrow.' },
      { from: 'assistant', text: 'Anything else?' },
      { from: 'customer', text: 'It arrives tomorrow.' },
    );
    assert.deepEqual(said(await turns(id)).sort(), [
      'assistant: Anything else?',
      'customer: It arrives tomorrow.',
      'merchant: It arrives tomorrow.',
      'merchant: Your parcel has left.',
    ]);
  });

  it('has an answer with its question while no message has it, and nothing of a resolved one', async () => {
    const id = await newConversation();
    const body = { question: 'Is the oat milk sweet?', conversation_id: id, deliver: 'assistant' };
    const token = await deskbell.signIn();
    const relayed = (await deskbell.call('POST', '/api/v1/ask', { token, body })).json.id;
    await answer(relayed, { answer: 'No, unsweetened.' });
    const resolved = await question(id, 'Never mind');
    await answer(resolved, { resolve_only: true });
    const [first, second] = await turns(id);
    assert.deepEqual(
      [first!.question!.outcome, first!.question!.answer, first!.question!.answered_by],
      ['answered', 'No, unsweetened.', 'Alma Reyes'],
    );
    assert.deepEqual([second!.question!.outcome, second!.question!.answer], ['resolved', null]);
  });

  it('has an answer that can still be undone with its question, until it is sent', async () => {
    deskbell.clock.stop();
    const id = await newConversation();
    const asked = await question(id, 'Can I pay by card?');
    await answer(asked, { answer: 'You can.', undo_seconds: 5 });
    const undo_until = new Date(deskbell.clock.now().getTime() + 5000).toISOString();
    const [held, ...others] = await turns(id);
    assert.deepEqual([held!.question!.answer, held!.question!.undo_until], ['You can.', undo_until]);
    assert.deepEqual(others, []);
    deskbell.clock.go();
    deskbell.clock.jump(6);
    await until('it is released', async () => (await turns(id)).length === 2);
    const [sent, reply] = await turns(id);
    assert.deepEqual([sent!.question!.answer, sent!.question!.undo_until], [null, null]);
    assert.equal(reply!.text, 'You can.');
  });

  it('is read backwards in pages that leave out and repeat nothing, also at equal times', async () => {
    const id = await newConversation();
    const at = ago(20);
    const texts = Array.from({ length: 9 }, (_, n) => `Message ${n}`);
    for (const [n, text] of texts.entries())
      await record(id, { from: n % 2 === 0 ? 'customer' : 'assistant', text, at: n < 5 ? at : ago(10 - n) });
    // The first of its page. Its twin is the last of the page before.
    const twin = await question(id, 'Message 4');
    await deskbell.database.run('update notifications set created_at = $2 where id = $1', [twin, ago(12)]);
    for (const n of [1, 2, 3]) await send(id, { text: `Sent ${n}` });
    await deskbell.allSent();

    const pages: Turn[][] = [];
    let before: string | null = '';
    while (before !== null) {
      const page = await timeline(id, `?limit=4${before && `&before=${before}`}`);
      pages.unshift(page.items);
      assert.ok(page.items.length <= 4);
      before = page.next_before;
    }
    assert.deepEqual(pages.flat(), (await timeline(id, '?limit=100')).items);
    assert.deepEqual(
      pages.flat().map(({ text }) => text),
      [...texts, 'Sent 1', 'Sent 2', 'Sent 3'],
    );
    assert.deepEqual(pages.at(-3)!.at(-1)!.question!.notification_id, twin);
  });

  it('refuses a bad limit and a bad position, and shows no other merchant’s conversation', async () => {
    const id = await newConversation();
    for (const limit of ['0', '101', 'x'])
      assertError(await call('GET', `${id}/timeline?limit=${limit}`), 422, 'VALIDATION_ERROR', 'limit');
    for (const before of ['x', Buffer.from('turn 2026 m 1').toString('base64url')])
      assertError(await call('GET', `${id}/timeline?before=${before}`), 422, 'VALIDATION_ERROR', 'before');
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const foreign = await deskbell.call('GET', `${CONVERSATIONS}/${id}/timeline`, { token });
    const unknown = await deskbell.call('GET', `${CONVERSATIONS}/999999/timeline`, { token });
    assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assert.equal(foreign.text, unknown.text);
    const other = await createKey(deskbell, ['answer']);
    const refused = await deskbell.call('GET', `${CONVERSATIONS}/${id}/timeline`, { token: other });
    assertError(refused, 403, 'INSUFFICIENT_SCOPE');
    const reader = await createKey(deskbell, ['notifications:read']);
    const allowed = await deskbell.call('GET', `${CONVERSATIONS}/${id}/timeline`, { token: reader });
    assert.equal(allowed.status, 200);
  });
});
