import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useHeld } from '../../support/holding.ts';
import { assertError, onEachEngine, SUPPORT } from '../../support/server.ts';
import { until, untilSomebodyWaits } from '../../support/shops.ts';

const AT_ONCE = 'Notification answered.';

onEachEngine('an answer that can be undone', (engine) => {
  const held = useHeld(engine);
  const { shop, ask, answer, hold, reopen, show, release } = held;
  const { messagesOf, documentsWith, eventsOf } = held;
  /** The state, how many messages were sent, and how many documents have learned this. */
  const effects = async (id: number, text: string) => [
    ...[(await show(id)).status, await messagesOf(id), await documentsWith(text)],
  ];

  it('is shown at once, and nothing is sent, told or learned until it is due', async () => {
    const id = await ask();
    const at = shop.deskbell.clock.now();
    const undo_until = new Date(at.getTime() + 5000).toISOString();
    const message = 'Notification answered. The message will be sent in 5 seconds.';
    const { json } = await hold(id, { answer: 'Held back.' });
    assert.deepEqual(json, { message, undo_until, lesson: null });
    const shown = await show(id);
    assert.deepEqual(
      [shown.status, shown.answer, shown.answered_by, shown.outcome, shown.undo_until],
      ['answered', { answer: 'Held back.' }, 'Olga Owner', 'answered', undo_until],
    );
    assert.deepEqual([shown.delivery, shown.lesson], [null, null]);
    assert.deepEqual(await effects(id, 'Held back.'), ['answered', 0, 0]);
    assert.deepEqual(await eventsOf(id), ['notification.requested']);
    assertError(await answer(id), 500, 'ALREADY_ANSWERED');

    await release(id);
    const sent = await show(id);
    assert.deepEqual(
      [sent.updated_at, sent.answered_by, sent.outcome, sent.undo_until],
      [at.toISOString(), 'Olga Owner', 'answered', null],
    );
    assert.deepEqual(await effects(id, 'Held back.'), ['answered', 1, 1]);
    assert.deepEqual(await eventsOf(id), ['notification.requested', 'notification.answered']);
    const document = await held.document(sent.lesson.document_id);
    assert.deepEqual([sent.lesson.do, sent.lesson.version, document.body], ['new', 1, 'Held back.']);
    assert.deepEqual([document.created_at, document.versions[0].user_name], [at.toISOString(), 'Olga Owner']);
  });

  it('is taken back with its message and its lesson, and can be answered again', async () => {
    const id = await ask();
    await hold(id, { answer: 'Taken back.' });
    assert.deepEqual((await reopen(id)).json, { message: 'Notification reopened.' });
    const shown = await show(id);
    assert.deepEqual(
      [shown.status, shown.answer, shown.answered_by, shown.outcome, shown.undo_until],
      ['requested', null, null, null, null],
    );
    const next = await ask();
    await hold(next);
    await release(next);
    assert.deepEqual(await effects(id, 'Taken back.'), ['requested', 0, 0]);
    assert.deepEqual(await eventsOf(id), ['notification.requested']);
    assert.deepEqual((await answer(id, { answer: 'Another one.' })).json, { message: AT_ONCE });
    assert.deepEqual([await messagesOf(id), (await show(id)).answer], [1, { answer: 'Another one.' }]);
  });

  it('holds a support reply, a campaign and a resolution, too', async () => {
    const support = await shop.raise(SUPPORT);
    const reply = { agent_response_to_customer: 'Sent again.', resolution_notes: 'Order 881.' };
    await shop.answer(support, { ...reply, undo_seconds: 60 });
    const [campaign, resolved] = [await ask(), await ask()];
    await hold(campaign, { only_send_campaign: true });
    const { json } = await shop.answer(resolved, { resolve_only: true, undo_seconds: 1 });
    assert.equal(json.message, 'Notification resolved without a reply. This can be undone for 1 second.');
    assert.equal((await show(resolved)).outcome, 'resolved');
    const ids = [support, campaign, resolved];
    assert.deepEqual(await Promise.all(ids.map(messagesOf)), [0, 0, 0]);
    assert.deepEqual(await eventsOf(resolved), ['notification.requested']);
    await release(...ids);
    assert.deepEqual(await Promise.all(ids.map(messagesOf)), [1, 1, 0]);
    assert.deepEqual(await eventsOf(resolved), ['notification.requested', 'notification.resolved']);
    assert.equal((await show(campaign)).lesson, null);
  });

  it('leaves an ask waiting until it is due, and does not let it expire meanwhile', async () => {
    const key = { token: await shop.key() };
    const customer = { phone: '+34611770099' };
    const body = { question: 'Is the held one late?', customer, expires_in_seconds: 3 };
    const { id } = (await shop.post('/ask', body, key)).json;
    const state = async () => (await shop.get(`/ask/${id}`, key)).json;
    await hold(id, { answer: 'In time.' });
    shop.deskbell.clock.jump(4);
    assert.equal((await state()).status, 'waiting');
    const cancelled = await shop.delete(`/ask/${id}`, key);
    assertError(cancelled, 409, 'CONFLICT');
    assert.equal(cancelled.json.detail, 'This question cannot be cancelled: it is answered.');
    await release(id);
    const ended = await state();
    assert.deepEqual([ended.status, ended.answer, ended.late], ['answered', 'In time.', false]);
  });

  // SQLite writes one thing after the other.
  if (engine === 'postgres')
    it('is not sent if it is taken back when a worker has already seen that it is due', async () => {
      const { database, clock } = shop.deskbell;
      const id = await ask('At the last moment?');
      await hold(id, { answer: 'Almost sent.' });
      await database.transaction(async (tx) => {
        await tx.run('update notifications set updated_at = updated_at where id = $1', [id]);
        clock.jump(6);
        await untilSomebodyWaits(database, tx);
        await tx.run(
          `update notifications set status = 'requested', answer = null, answered_by = null, undo_until = null, held = null
            where id = $1`,
          [id],
        );
      });
      const other = await ask('And after it?');
      await hold(other);
      await release(other);
      assert.deepEqual(await effects(id, 'Almost sent.'), ['requested', 0, 0]);
    });

  it('and that cannot be sent is retried with growing pauses, and does not keep others from being sent', async () => {
    const { database, clock, logged } = shop.deskbell;
    const broken: { id: number; kept: string }[] = [];
    // More than a worker reads at once.
    for (let n = 0; n < 21; n += 1) {
      const id = await ask(`Broken ${n}?`);
      await hold(id, { answer: `Broken answer ${id}.` });
      const row = await database.one<{ held: string }>('select held from notifications where id = $1', [id]);
      broken.push({ id, kept: row!.held });
    }
    const setHeld = (id: number, text: string) =>
      database.run('update notifications set held = $2 where id = $1 and held is not null', [id, text]);
    for (const { id } of broken) await setHeld(id, id === broken[0]!.id ? `Broken answer ${id}.` : '{}');
    const later = await ask('Later?');
    await hold(later);
    await release(later);
    assert.equal(await messagesOf(later), 1);

    const [first, ...others] = broken as [(typeof broken)[0], ...typeof broken];
    const pauseOf = async (id: number) => Date.parse((await show(id)).undo_until) - clock.now().getTime();
    const overdue = async () => {
      const { text } = await shop.deskbell.call('GET', '/metrics');
      return Number(/^deskbell_answers_overdue (\d+)$/m.exec(text)?.[1]);
    };
    const failures = () => logged.filter((line) => line.includes('cannot send a held answer'));
    const timesLogged = (id: number) =>
      failures().filter((line) => JSON.parse(line).notification_id === id).length;
    for (const { id } of broken) assert.deepEqual([await pauseOf(id), timesLogged(id)], [30_500, 1]);
    const before = await overdue();
    for (const [seconds, pause] of [
      [31, 46_000],
      [3600, 300_000],
    ] as const) {
      clock.jump(seconds);
      await until('it was retried', async () => (await pauseOf(first.id)) > 0);
      assert.equal(await pauseOf(first.id), pause);
    }
    assert.deepEqual([timesLogged(first.id), await overdue()], [3, before + broken.length]);
    assert.doesNotMatch(logged.join(), /Broken/);
    assert.equal((await reopen(first.id)).status, 200);
    for (const { id, kept } of others) await setHeld(id, kept);
    clock.jump(300);
    await release(...others.map(({ id }) => id));
    assert.deepEqual(await effects(first.id, `Broken answer ${first.id}.`), ['requested', 0, 0]);
    for (const { id } of others)
      assert.deepEqual(await effects(id, `Broken answer ${id}.`), ['answered', 1, 1]);
    assert.equal(await overdue(), before);
  });
});

describe('a request to hold an answer', () => {
  const { ask, answer, hold, show } = useHeld('sqlite');

  it('is refused as it would be at once', async () => {
    const id = await ask();
    for (const undo_seconds of [-1, 61, 1.5, '5'])
      assertError(await answer(id, { undo_seconds }), 500, 'VALIDATION_ERROR', 'undo_seconds');
    for (const text of ['', 'x'.repeat(4097)])
      assertError(await hold(id, { answer: text }), 500, 'VALIDATION_ERROR', 'answer');
    assert.equal((await show(id)).status, 'requested');
    assertError(await hold(987_654_321), 404, 'NOTIFICATION_NOT_FOUND');
  });
});
