import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { lastDays } from '../../../src/notifications/days.ts';
import {
  assertError,
  BOREALIS,
  type Deskbell,
  OPERATOR,
  onEachEngine,
  useDeskbell,
} from '../../support/server.ts';

const OVERVIEW = '/api/v1/overview';

/** An answered notification of Aurora. */
async function answered({ database }: Deskbell, at: string, seconds: number, type = 'user_question_request') {
  await database.run(
    `insert into notifications (merchant_id, conversation_id, notification_type, status, created_at, updated_at,
        context, requested_fields, answered_fields, answer_schema_id, answer)
      select merchant_id, conversation_id, $3, 'answered', $1, $2, context, requested_fields, answered_fields,
        answer_schema_id, '{"answer":"x"}' from notifications where id = 4`,
    [new Date(Date.parse(at) - seconds * 1000).toISOString(), at, type],
  );
}

onEachEngine('the overview', (engine) => {
  const deskbell = useDeskbell(engine);
  // The day must not change between two calls.
  before(() => deskbell.clock.stop());
  const overview = (token: string, query = '') => deskbell.call('GET', OVERVIEW + query, { token });
  const ago = (days: number) => new Date(deskbell.clock.now().getTime() - days * 86_400_000).toISOString();

  it('counts pending notifications, and returns the time of the oldest', async () => {
    const reply = await overview(await deskbell.signIn());
    assert.equal(reply.status, 200, reply.text);
    const { pending } = reply.json;
    assert.equal(pending.total, 4);
    assert.deepEqual(pending.by_type, { user_question_request: 3, user_support_request: 1 });
    const list = await deskbell.call('GET', '/api/v1/notification/?status=requested', {
      token: await deskbell.signIn(),
    });
    assert.equal(pending.oldest_at, list.json.at(-1).created_at);
  });

  it('counts the answers of each day, and how long they took', async () => {
    const token = await deskbell.signIn();
    const before = (await overview(token, '?days=90')).json;
    assert.equal(before.answered_per_day.length, 90);
    assert.equal(before.by_type.user_question_request + before.by_type.user_support_request, 2);
    assert.equal(before.median_seconds_to_answer, ((12 + 34) / 2) * 60);

    for (const seconds of [60, 120, 5.5]) await answered(deskbell, ago(20), seconds);
    await answered(deskbell, ago(20), 30, 'user_support_request');
    await answered(deskbell, ago(100), 1);
    const { answered_per_day, by_type, median_seconds_to_answer } = (await overview(token, '?days=90')).json;
    assert.equal(answered_per_day.find(({ day }: { day: string }) => day === ago(20).slice(0, 10)).count, 4);
    assert.deepEqual(by_type, { user_question_request: 4, user_support_request: 2 });
    // The median of 5.5, 30, 60, 120, 720 and 2,040 seconds.
    assert.equal(median_seconds_to_answer, 90);
    const shorter = (await overview(token)).json;
    assert.equal(shorter.answered_per_day.length, 14);
    assert.deepEqual(shorter.by_type, before.by_type);
  });

  it('does not count a question that the assistant cancelled', async () => {
    const token = await deskbell.signIn();
    const before = (await overview(token)).json;
    const body = { question: 'Is it open today?', customer: { phone: '+34611660000' } };
    const { id } = (await deskbell.call('POST', '/api/v1/ask', { token, body })).json;
    assert.equal((await deskbell.call('DELETE', `/api/v1/ask/${id}`, { token })).status, 200);
    const { weeks, ...rest } = (await overview(token)).json;
    const { weeks: _, ...restBefore } = before;
    assert.deepEqual(rest, restBefore);
    // It was asked all the same.
    assert.deepEqual(
      weeks,
      before.weeks.with(-1, { ...before.weeks.at(-1), asked: before.weeks.at(-1).asked + 1 }),
    );
  });

  it('has an entry for every day, and the last one is today', async () => {
    const { json } = await overview(await deskbell.signIn(), '?days=3');
    assert.deepEqual(
      json.answered_per_day.map(({ day }: { day: string }) => day),
      [2, 1, 0].map((days) => ago(days).slice(0, 10)),
    );
  });

  it('counts days in the given time zone', async () => {
    const token = await deskbell.signIn();
    // 23:30 in London is another day in Kathmandu, whose days begin at 18:15 UTC.
    const day = ago(40).slice(0, 10);
    await answered(deskbell, `${day}T18:14:59.999Z`, 10);
    await answered(deskbell, `${day}T18:15:00.000Z`, 10);
    await answered(deskbell, `${day}T23:30:00.000Z`, 10);
    const countOf = async (name: string, zone: string) =>
      (await overview(token, `?days=90&time_zone=${encodeURIComponent(zone)}`)).json.answered_per_day.find(
        (one: { day: string }) => one.day === name,
      ).count;
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    assert.equal(await countOf(day, 'UTC'), 3);
    assert.equal(await countOf(day, 'Asia/Kathmandu'), 1);
    assert.equal(await countOf(next, 'Asia/Kathmandu'), 2);
  });

  it('is separate for each merchant, and empty if nothing was answered', async () => {
    await deskbell.database.run('delete from notifications where merchant_id = 2');
    const reply = await overview(await deskbell.signIn(BOREALIS.email, BOREALIS.password), '?days=2');
    const { weeks, ...rest } = reply.json;
    assert.equal(weeks.length, 12);
    assert.deepEqual(weeks.at(-1), {
      ...{ from: ago(6).slice(0, 10), to: ago(0).slice(0, 10), asked: 0, answered: 0, resolved: 0 },
      ...{ answered_by_assistant: 0, assistant_share: null, median_seconds: null, p90_seconds: null },
    });
    assert.deepEqual(rest, {
      pending: {
        total: 0,
        by_type: { user_question_request: 0, user_support_request: 0 },
        oldest_at: null,
      },
      answered_per_day: [1, 0].map((days) => ({ day: ago(days).slice(0, 10), count: 0 })),
      median_seconds_to_answer: null,
      by_type: { user_question_request: 0, user_support_request: 0 },
      asked_most: [],
      answered_by: [],
      resolved_per_day: [1, 0].map((days) => ({ day: ago(days).slice(0, 10), count: 0 })),
      resolved: 0,
    });
  });

  for (const days of ['0', '91', '-1', '1.5', 'x', '', '007', '1e1']) {
    it(`refuses ${JSON.stringify(days)} days`, async () => {
      const reply = await overview(await deskbell.signIn(), `?days=${days}`);
      assertError(reply, 422, 'VALIDATION_ERROR', 'days');
    });
  }

  for (const zone of ['Mars/Olympus', '', '+02:00', 'Europe/Madrid\0', '../etc', 'x'.repeat(500)]) {
    it(`refuses the time zone ${JSON.stringify(zone).slice(0, 20)}`, async () => {
      const reply = await overview(await deskbell.signIn(), `?time_zone=${encodeURIComponent(zone)}`);
      assertError(reply, 422, 'VALIDATION_ERROR', 'time_zone');
    });
  }

  it('needs a merchant’s token', async () => {
    assertError(await deskbell.call('GET', `${OVERVIEW}?days=x`), 401, 'INVALID_TOKEN');
    const operator = await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    assertError(await overview(operator), 401, 'INVALID_TOKEN');
  });
});

const FIRST_OF_TWO: [zone: string, now: string, days: string[], from: string][] = [
  ['UTC', '2026-03-01T00:00:00.000Z', ['2026-02-28', '2026-03-01'], '2026-02-28T00:00:00.000Z'],
  // A day of 23 hours, and one of 25.
  ['Europe/Madrid', '2026-03-29T22:30:00.000Z', ['2026-03-29', '2026-03-30'], '2026-03-28T23:00:00.000Z'],
  ['Europe/Madrid', '2026-10-26T12:00:00.000Z', ['2026-10-25', '2026-10-26'], '2026-10-24T22:00:00.000Z'],
  // A day that begins at one o'clock.
  ['America/Santiago', '2026-09-06T12:00:00.000Z', ['2026-09-05', '2026-09-06'], '2026-09-05T04:00:00.000Z'],
  [
    'Pacific/Kiritimati',
    '2026-01-01T11:00:00.000Z',
    ['2026-01-01', '2026-01-02'],
    '2025-12-31T10:00:00.000Z',
  ],
  ['Pacific/Pago_Pago', '2026-01-01T10:59:00.000Z', ['2025-12-30', '2025-12-31'], '2025-12-30T11:00:00.000Z'],
];
for (const [zone, now, names, from] of FIRST_OF_TWO) {
  it(`the last two days in ${zone} at ${now} are ${names.join(' and ')}`, () => {
    const days = lastDays(2, zone, new Date(now))!;
    assert.deepEqual(days.names, names);
    assert.equal(days.starts[0], from);
  });
}
