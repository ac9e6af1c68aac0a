import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { lastDays } from '../../../src/notifications/days.ts';
import { type Merchant, newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, OPERATOR, onEachEngine, SUPPORT } from '../../support/server.ts';

type Week = Record<'from' | 'to', string> & Record<'median_seconds' | 'p90_seconds' | 'answered', number>;

const isNear = (found: number, wanted: number) =>
  assert.ok(Math.abs(found / wanted - 1) < 0.2, `${found} instead of ${wanted}`);

onEachEngine('the overview', (engine) => {
  const other = useMerchant(engine);
  let shop: Merchant;
  // The day must not change between two calls.
  before(() => other.deskbell.clock.stop());
  after(() => other.deskbell.clock.go());
  beforeEach(async () => {
    shop = await newMerchant(other.deskbell);
  });
  const overview = async (query = '', of = shop) => (await of.get(`/overview${query}`)).json;
  const lastWeek = async () => (await overview()).weeks.at(-1);
  const ago = (days: number) =>
    new Date(other.deskbell.clock.now().getTime() - days * 86_400_000).toISOString();
  const support = () => shop.raise(SUPPORT);

  /** Notifications that were answered at this time, after so many seconds. */
  async function answered(at: string, seconds: readonly number[], type = 'user_question_request') {
    const model = await shop.raise('Old?');
    for (const each of seconds)
      await shop.deskbell.database.run(
        `insert into notifications (merchant_id, conversation_id, notification_type, status, created_at, updated_at,
            context, requested_fields, answered_fields, answer_schema_id, answer, answered_by)
          select merchant_id, conversation_id, $3, 'answered', $1, $2, context, requested_fields, answered_fields,
            answer_schema_id, '{"answer":"x"}', $5 from notifications where id = $4`,
        [new Date(Date.parse(at) - each * 1000).toISOString(), at, type, model, shop.owner.id],
      );
    await shop.delete(`/notification/${model}`);
  }

  it('counts the answers of each day, and how long they took', async () => {
    await answered(ago(0), [720, 2040]);
    await answered(ago(20), [60, 120, 5.5]);
    await answered(ago(20), [30], 'user_support_request');
    await answered(ago(100), [1]);
    const { answered_per_day, by_type, median_seconds_to_answer } = await overview('?days=90');
    assert.equal(answered_per_day.length, 90);
    assert.equal(answered_per_day.find(({ day }: { day: string }) => day === ago(20).slice(0, 10)).count, 4);
    assert.deepEqual(by_type, { user_question_request: 5, user_support_request: 1 });
    // The median of 5.5, 30, 60, 120, 720 and 2,040 seconds.
    assert.equal(median_seconds_to_answer, 90);
    const shorter = await overview();
    assert.equal(shorter.answered_per_day.length, 14);
    assert.deepEqual(shorter.by_type, { user_question_request: 2, user_support_request: 0 });
  });

  it('counts days in the given time zone', async () => {
    // The days of Kathmandu begin at 18:15 UTC.
    const day = ago(40).slice(0, 10);
    for (const time of ['18:14:59.999', '18:15:00.000', '23:30:00.000'])
      await answered(`${day}T${time}Z`, [10]);
    const countOf = async (name: string, zone: string) =>
      (await overview(`?days=90&time_zone=${encodeURIComponent(zone)}`)).answered_per_day.find(
        (one: { day: string }) => one.day === name,
      ).count;
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    assert.equal(await countOf(day, 'UTC'), 3);
    assert.equal(await countOf(day, 'Asia/Kathmandu'), 1);
    assert.equal(await countOf(next, 'Asia/Kathmandu'), 2);
  });

  it('is separate for each merchant, with an entry for every day, also if nothing was answered', async () => {
    await answered(ago(0), [10]);
    const { weeks, ...rest } = await overview('?days=2', other);
    assert.equal(weeks.length, 12);
    assert.deepEqual(weeks.at(-1), {
      ...{ from: ago(6).slice(0, 10), to: ago(0).slice(0, 10), asked: 0, answered: 0, resolved: 0 },
      ...{ answered_by_assistant: 0, assistant_share: null, median_seconds: null, p90_seconds: null },
    });
    const none = { user_question_request: 0, user_support_request: 0 };
    const days = [1, 0].map((n) => ({ day: ago(n).slice(0, 10), count: 0 }));
    assert.deepEqual(rest, {
      ...{ pending: { total: 0, by_type: none, oldest_at: null }, by_type: none },
      ...{ answered_per_day: days, resolved_per_day: days, resolved: 0 },
      ...{ median_seconds_to_answer: null, asked_most: [], answered_by: [] },
    });
  });

  it('counts what was asked, answered and resolved, each as what it was', async () => {
    const ids = [await shop.raise(), await shop.raise(), await support(), await shop.raise()];
    await shop.answer(ids[0]!);
    await shop.answer(ids[1]!, { resolve_only: true });
    await shop.answer(ids[2]!, { agent_response_to_customer: 'Sent.', resolution_notes: 'Sent.' });
    const body = { question: 'Is it open today?', customer: { phone: '+34611660000' } };
    const { id: cancelled } = (await shop.post('/ask', body)).json;
    await shop.delete(`/ask/${cancelled}`);
    const week = await lastWeek();
    assert.deepEqual([week.asked, week.answered, week.resolved], [5, 2, 1]);
    const { pending, answered_per_day, resolved_per_day, by_type, resolved } = await overview();
    const oldest_at = (await shop.get(`/notification/${ids[3]}`)).json.created_at;
    const pendingByType = { user_question_request: 1, user_support_request: 0 };
    assert.deepEqual(pending, { total: 1, by_type: pendingByType, oldest_at });
    assert.deepEqual([answered_per_day.at(-1).count, resolved_per_day.at(-1).count, resolved], [2, 1, 1]);
    assert.deepEqual(by_type, { user_question_request: 1, user_support_request: 1 });
    // An answer that is taken back was none.
    await shop.answer(ids[3]!, { answer: 'Yes.', undo_seconds: 60 });
    assert.equal((await lastWeek()).answered, 3);
    assert.equal((await shop.post(`/notification/${ids[3]}/reopen`)).status, 200);
    assert.deepEqual(await lastWeek(), week);
    // What is deleted counts no more.
    for (const id of [...ids, cancelled]) await shop.delete(`/notification/${id}`);
    const empty = await lastWeek();
    assert.deepEqual([empty.asked, empty.answered, empty.resolved], [0, 0, 0]);
  });

  it('tells how long answers took in each of twelve weeks, the last of which ends today', async () => {
    await answered(ago(30), [...Array(8).fill(600), 60, 7200]);
    await answered(ago(2), [...Array(8).fill(60), 30, 3600]);
    const weeks: Week[] = (await overview()).weeks;
    assert.equal(weeks.at(-1)!.to, ago(0).slice(0, 10));
    const day = ago(30).slice(0, 10);
    const then = weeks.find(({ from, to }) => from <= day && day <= to)!;
    assert.equal(then.answered, 10);
    isNear(then.median_seconds, 600);
    isNear(then.p90_seconds, 660);
    isNear(weeks.at(-1)!.median_seconds, 60);
  });

  it('tells who answered how many, people and programs, and which share the assistant by itself', async () => {
    const question = 'Do you sell gift cards?';
    const token = await shop.key('answer');
    for (const options of [{}, {}, { token }])
      await shop.post(`/notification/${await shop.raise(question)}/answer`, { answer: 'Yes, 20.' }, options);
    const answered_by = (await overview()).answered_by;
    assert.deepEqual(answered_by, [
      { kind: 'user', id: shop.owner.id, name: 'Olga Owner', count: 2 },
      { kind: 'key', id: answered_by[1].id, name: 'Test key', count: 1 },
    ]);
    const customer = { phone: '+34611550101' };
    for (let n = 0; n < 3; n += 1)
      assert.equal((await shop.post('/ask', { question, customer })).json.status, 'known');
    const { asked, answered_by_assistant, assistant_share } = await lastWeek();
    assert.deepEqual([asked, answered_by_assistant, assistant_share], [3, 3, 0.5]);
  });

  it('tells what is asked most, whether it is answered or not, and only of this shop', async () => {
    const first = await shop.raise('Do you buy second-hand comics?');
    await shop.answer(first, { answer: 'On Tuesdays.', only_send_campaign: true });
    await shop.raise('Do you buy second-hand comics?');
    const question = 'Do you buy second-hand comics here?';
    const newest = await shop.raise(question);
    await shop.raise('Is the café open?');
    assert.deepEqual((await overview()).asked_most[0], { question, count: 3, notification_id: newest });
    assert.deepEqual((await overview('', other)).asked_most, []);
  });

  it('is the same as counting all notifications, whatever happened to them at the same time', async () => {
    await Promise.all(
      Array.from({ length: 24 }, async (_, n) => {
        const id = await shop.raise();
        if (n % 4 === 0) return;
        const body = n % 4 === 2 ? { resolve_only: true } : { answer: 'Yes.' };
        await Promise.all([shop.answer(id, body), shop.post(`/notification/${id}/ungroup`)]);
        if (n % 5 === 0) await shop.delete(`/notification/${id}`);
      }),
    );
    const real = await shop.deskbell.database.one<{ asked: number; answered: number; resolved: number }>(
      `select count(*) as asked,
          count(case when status = 'answered' and answer not like '%resolve_only%' then 1 end) as answered,
          count(case when answer like '%resolve_only%' then 1 end) as resolved
        from notifications where merchant_id = $1`,
      [shop.id],
    );
    const { asked, answered, resolved } = await lastWeek();
    assert.deepEqual({ asked, answered, resolved }, { ...real });
    assert.equal((await overview()).answered_by[0].count, real!.answered);
  });

  it('has 1 to 90 days, a time zone that exists, and a merchant’s token', async () => {
    for (const wrong of ['days=0', 'days=91', 'days=1.5', 'days=', 'time_zone=Mars/Olympus', 'time_zone='])
      assertError(await shop.get(`/overview?${wrong}`), 422, 'VALIDATION_ERROR', wrong.split('=')[0]);
    const token = await shop.deskbell.signIn(OPERATOR.email, OPERATOR.password);
    assertError(await shop.get('/overview', { token }), 401, 'INVALID_TOKEN');
  });
});

describe('the last two days', () => {
  const CASES: [zone: string, now: string, days: string[], from: string][] = [
    ['UTC', '2026-03-01T00:00:00.000Z', ['2026-02-28', '2026-03-01'], '2026-02-28T00:00:00.000Z'],
    // A day of 23 hours, and one of 25.
    ['Europe/Madrid', '2026-03-29T22:30:00.000Z', ['2026-03-29', '2026-03-30'], '2026-03-28T23:00:00.000Z'],
    ['Europe/Madrid', '2026-10-26T12:00:00.000Z', ['2026-10-25', '2026-10-26'], '2026-10-24T22:00:00.000Z'],
  ];
  for (const [zone, now, names, from] of CASES)
    it(`in ${zone} at ${now} are ${names.join(' and ')}`, () => {
      const days = lastDays(2, zone, new Date(now))!;
      assert.deepEqual([days.names, days.starts[0]], [names, from]);
    });
});
