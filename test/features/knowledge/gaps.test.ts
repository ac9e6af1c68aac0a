import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, idsOf, NOTIFICATIONS, onEachEngine, QUESTION, raise } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

interface Gap {
  question: string;
  count: number;
  pending_ids: number[];
  answered_id: number | null;
  answer: string | null;
}

onEachEngine('what customers asked and no document answers', (engine) => {
  const { deskbell, tokens, call } = useKnowledge(engine);
  const gaps = async (token = tokens.aurora): Promise<Gap[]> => {
    const reply = await call('GET', 'gaps', { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json.gaps;
  };
  const gapOf = async (words: string) => (await gaps()).find(({ question }) => question.includes(words));
  const ask = async (question: string) =>
    Number((await raise(deskbell, tokens.aurora, { ...QUESTION, context: { question } })).split('/').at(-1));
  const answer = async (id: number, body: object) => {
    const reply = await deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, {
      token: tokens.aurora,
      body,
    });
    assert.equal(reply.status, 200, reply.text);
  };

  it('pending questions are there, the same ones together, with their ids for one answer', async () => {
    const first = await ask('Do you sell gift vouchers?');
    const second = await ask('Do you sell gift vouchers?');
    const third = await ask('Do you sell any gift vouchers?');
    const gap = await gapOf('vouchers');
    assert.deepEqual(
      { ...gap },
      {
        question: 'Do you sell any gift vouchers?',
        count: 3,
        pending_ids: [third, second, first],
        answered_id: null,
        answer: null,
        newest_at: (gap as unknown as { newest_at: string }).newest_at,
      },
    );
    assert.equal((await gaps())[0]!.question, gap!.question);
    const body = { ids: gap!.pending_ids, answer: 'Yes, from 20 euros.' };
    const many = await deskbell.call('POST', `${NOTIFICATIONS}/answer-many`, { token: tokens.aurora, body });
    assert.equal(many.status, 200, many.text);
    assert.equal(await gapOf('vouchers'), undefined);
  });

  it('what was answered without a document is a gap with its answer, until a document has it', async () => {
    const told = await ask('Can I pay with crypto coins?');
    await answer(told, { answer: 'No, by card or cash.', only_send_campaign: true });
    const pending = await ask('Can I pay with crypto coins?');
    const gap = await gapOf('crypto');
    assert.deepEqual(
      [gap?.count, gap?.pending_ids, gap?.answered_id, gap?.answer],
      [2, [pending], told, 'No, by card or cash.'],
    );
    await answer(pending, { resolve_only: true });
    assert.deepEqual((await gapOf('crypto'))?.count, 1);
    const body = { title: gap!.question, body: gap!.answer, notification_id: told };
    assert.equal((await call('POST', '', { body })).status, 200);
    assert.equal(await gapOf('crypto'), undefined);
  });

  it('a document about it that was written for another reason closes the gap as well', async () => {
    const told = await ask('Is there parking behind the roastery?');
    await answer(told, { answer: 'Six places.', only_send_campaign: true });
    assert.ok(await gapOf('parking'));
    const text = '# Is there parking behind the roastery?\n\nYes, six places.';
    await call('POST', 'import', { body: { format: 'md', text } });
    assert.equal(await gapOf('parking'), undefined);
  });

  it('what was taught, what was resolved, what is personal and what other shops were asked is no gap', async () => {
    const taught = await ask('Do you roast chicory?');
    await answer(taught, { answer: 'Yes, in autumn.' });
    await answer(await ask('Is the weather good?'), { resolve_only: true });
    await ask('Where is my order 48213?');
    const support = { support_request_reason: 'The grinder arrived broken.' };
    await raise(deskbell, tokens.aurora, {
      ...{ ...QUESTION, notification_type: 'user_support_request', context: support },
    });
    const all = JSON.stringify(await gaps());
    for (const word of ['chicory', 'weather', '48213', 'grinder']) assert.ok(!all.includes(word), word);
    const list = await deskbell.call('GET', `${NOTIFICATIONS}/`, { token: tokens.borealis });
    for (const { pending_ids } of await gaps())
      for (const id of pending_ids) assert.ok(!idsOf(list).includes(id));
  });

  it('a key needs the scope that shows what customers asked', async () => {
    const token = await createKey(deskbell, ['notifications:read']);
    assert.equal((await call('GET', 'gaps', { token })).status, 200);
    const other = await createKey(deskbell, ['knowledge:read']);
    assertError(await call('GET', 'gaps', { token: other }), 403, 'INSUFFICIENT_SCOPE');
  });
});
