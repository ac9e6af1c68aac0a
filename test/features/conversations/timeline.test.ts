import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Turn } from '../../../src/contract/timeline.ts';
import { NEAR_MS } from '../../../src/conversations/timeline/pairs.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { said, talkingOf } from '../../support/talking.ts';

const NO_TURN = Buffer.from('turn 2026 m 1').toString('base64url');

onEachEngine('the timeline of a conversation', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const { record, timeline, turns, question, send } = talkingOf(shop);
  /** So many minutes ago. */
  const ago = (minutes: number) =>
    new Date(shop.deskbell.clock.now().getTime() - minutes * 60_000).toISOString();

  it('has what customer, assistant and merchant said, in order, each with what belongs to it', async () => {
    const id = await shop.converse();
    await record(id, { from: 'customer', text: 'Hello', at: ago(30) });
    await record(id, { from: 'assistant', text: 'Hi, how can I help?', at: ago(29) });
    const asked = await question(id, 'Do you open on Sundays?');
    await shop.answer(asked, { answer: 'From ten to two.' });
    await shop.deskbell.allSent();
    const { json } = await send(id, { text: 'And on Saturdays all day.' });
    await shop.deskbell.allSent();

    const { conversation, sending, items, next_before } = await timeline(id);
    assert.deepEqual(said(items), [
      'customer: Hello',
      'assistant: Hi, how can I help?',
      'customer: Do you open on Sundays?',
      'merchant: From ten to two.',
      'merchant: And on Saturdays all day.',
    ]);
    assert.deepEqual([conversation.id, sending, next_before], [id, 'text', null]);
    const [first, , asking, answered, followUp] = items;
    assert.deepEqual(first, {
      ...{ id: first!.id, from: 'customer', text: 'Hello', at: first!.at, by: null, can_quote: true },
      ...{ question: null, notification_id: null, reply_to: null, delivery: null },
    });
    assert.match(first!.id, /^m\d+$/);
    assert.equal(asking!.id, `n${asked}`);
    assert.deepEqual(asking!.question, {
      ...{ notification_id: asked, notification_type: 'user_question_request', status: 'answered' },
      ...{ outcome: 'answered', answer: null, undo_until: null, answered_by: 'Olga Owner' },
      answered_at: asking!.question!.answered_at,
    });
    assert.deepEqual(
      [answered!.by, answered!.notification_id, answered!.reply_to],
      ['Olga Owner', asked, { id: `n${asked}`, text: 'Do you open on Sundays?' }],
    );
    assert.deepEqual(followUp!.delivery, {
      ...{ id: json.delivery_id, state: 'delivered', reason: null, code: null, undo_until: null },
      updated_at: followUp!.delivery!.updated_at,
    });
    assert.deepEqual([followUp!.by, followUp!.notification_id], ['Olga Owner', null]);
  });

  it('shows a question once: as the customer’s message of the same words, if that came within ten minutes', async () => {
    const id = await shop.converse();
    await record(
      id,
      { from: 'customer', text: 'do you  SHIP to Peru?\n', at: ago(NEAR_MS / 60_000 - 1) },
      { from: 'customer', text: 'Do you ship to Chile?', at: ago(NEAR_MS / 60_000 + 1) },
    );
    const peru = await question(id, 'Do you ship to Peru?');
    const chile = await question(id, 'Do you ship to Chile?');
    await shop.answer(peru, { answer: 'We do.' });
    await shop.deskbell.allSent();
    const items = await turns(id);
    const shown = items.map(({ id: turn, question }) => `${turn[0]} ${question?.notification_id}`);
    assert.deepEqual(shown, ['m undefined', `m ${peru}`, `n ${chile}`, 'd undefined']);
    assert.deepEqual(items[3]!.reply_to, { id: items[1]!.id, text: 'Do you ship to Peru?' });
    assert.deepEqual([items[1]!.question!.status, items[2]!.question!.outcome], ['answered', null]);
  });

  it('leaves out what an assistant recorded of Deskbell’s own messages, by its id or by its words', async () => {
    const id = await shop.converse();
    await send(id, { text: 'Your parcel has left.' });
    await shop.deskbell.allSent();
    await shop.deskbell.database.run(
      `update deliveries set channel_message_id = 'wamid.X', created_at = $2 where conversation_id = $1`,
      [id, ago(600)],
    );
    await send(id, { text: 'It arrives tomorrow.' });
    await shop.deskbell.allSent();
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
    const id = await shop.converse();
    const body = { question: 'Is the oat milk sweet?', conversation_id: id, deliver: 'assistant' };
    const relayed = (await shop.post('/ask', body)).json.id;
    await shop.answer(relayed, { answer: 'No, unsweetened.' });
    const resolved = await question(id, 'Never mind');
    await shop.answer(resolved, { resolve_only: true });
    const [first, second] = await turns(id);
    assert.deepEqual(
      [first!.question!.outcome, first!.question!.answer, first!.question!.answered_by],
      ['answered', 'No, unsweetened.', 'Olga Owner'],
    );
    assert.deepEqual([second!.question!.outcome, second!.question!.answer], ['resolved', null]);
  });

  it('has an answer that can still be undone with its question, until it is sent', async () => {
    shop.deskbell.clock.stop();
    const id = await shop.converse();
    const asked = await question(id, 'Can I pay by card?');
    await shop.answer(asked, { answer: 'You can.', undo_seconds: 5 });
    const undo_until = new Date(shop.deskbell.clock.now().getTime() + 5000).toISOString();
    const [held, ...others] = await turns(id);
    assert.deepEqual([held!.question!.answer, held!.question!.undo_until], ['You can.', undo_until]);
    assert.deepEqual(others, []);
    // An assistant might pass on what is then taken back.
    const toAssistant = await shop.get(`/conversation/${id}/timeline`, { token: await shop.key() });
    assert.doesNotMatch(toAssistant.text, /You can/);
    shop.deskbell.clock.go();
    shop.deskbell.clock.jump(6);
    await until('it is released', async () => (await turns(id)).length === 2);
    const [sent, reply] = await turns(id);
    assert.deepEqual([sent!.question!.answer, sent!.question!.undo_until], [null, null]);
    assert.equal(reply!.text, 'You can.');
  });

  it('is read backwards in pages that leave out and repeat nothing, also at equal times', async () => {
    const id = await shop.converse();
    const at = ago(20);
    const texts = Array.from({ length: 9 }, (_, n) => `Message ${n}`);
    for (const [n, text] of texts.entries())
      await record(id, { from: n % 2 === 0 ? 'customer' : 'assistant', text, at: n < 5 ? at : ago(10 - n) });
    // The first of its page. Its twin is the last of the page before.
    const twin = await question(id, 'Message 4');
    await shop.deskbell.database.run('update notifications set created_at = $2 where id = $1', [
      twin,
      ago(12),
    ]);
    for (const n of [1, 2, 3]) await send(id, { text: `Sent ${n}` });
    await shop.deskbell.allSent();

    const pages: Turn[][] = [];
    for (let before: string | null = ''; before !== null; ) {
      const page = await timeline(id, `?limit=4${before && `&before=${before}`}`);
      pages.unshift(page.items);
      assert.ok(page.items.length <= 4);
      before = page.next_before;
    }
    assert.deepEqual(pages.flat(), (await timeline(id, '?limit=100')).items);
    const shown = pages.flat().map(({ text }) => text);
    assert.deepEqual(shown, [...texts, 'Sent 1', 'Sent 2', 'Sent 3']);
    assert.deepEqual(pages.at(-3)!.at(-1)!.question!.notification_id, twin);
  });

  it('refuses a bad limit and a bad position, and shows no other merchant’s conversation', async () => {
    const path = `/conversation/${await shop.converse()}/timeline`;
    for (const wrong of ['limit=0', 'limit=101', 'before=x', `before=${NO_TURN}`])
      assertError(await shop.get(`${path}?${wrong}`), 422, 'VALIDATION_ERROR', wrong.split('=')[0]);
    assertError(await other.get(path), 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
  });
});
