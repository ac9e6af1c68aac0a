import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { createKey } from '../../support/machineKeys.ts';
import {
  BOREALIS,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  raise,
  SUPPORT,
  useDeskbell,
} from '../../support/server.ts';

const OVERVIEW = '/api/v1/overview';

interface Week {
  from: string;
  to: string;
  asked: number;
  answered: number;
  resolved: number;
  answered_by_assistant: number;
  assistant_share: number | null;
  median_seconds: number | null;
  p90_seconds: number | null;
}

const isNear = (found: number | null, wanted: number) =>
  assert.ok(found !== null && Math.abs(found / wanted - 1) < 0.2, `${found} instead of ${wanted}`);

onEachEngine('the weeks of the overview', (engine) => {
  const deskbell = useDeskbell(engine);
  before(() => deskbell.clock.stop());
  const DAY_MS = 86_400_000;
  const ago = (days: number) => new Date(deskbell.clock.now().getTime() - days * DAY_MS).toISOString();
  const overview = async (token: string, query = '') => {
    const reply = await deskbell.call('GET', OVERVIEW + query, { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json as {
      weeks: Week[];
      answered_by: object[];
      asked_most: { question: string; count: number; notification_id: number }[];
      resolved_per_day: { day: string; count: number }[];
    };
  };
  const lastWeek = async (token: string) => (await overview(token)).weeks.at(-1)!;
  const borealis = () => deskbell.signIn(BOREALIS.email, BOREALIS.password);
  const answer = async (token: string, address: string, body: object) => {
    const reply = await deskbell.call('POST', `${address}/answer`, { token, body });
    assert.equal(reply.status, 200, reply.text);
  };

  /** Answers of Borealis that took so many seconds. */
  async function answered(at: string, seconds: readonly number[]) {
    for (const each of seconds) {
      await deskbell.database.run(
        `insert into notifications (merchant_id, conversation_id, notification_type, status, created_at, updated_at,
            context, requested_fields, answered_fields, answer_schema_id, answer, answered_by)
          select merchant_id, conversation_id, notification_type, 'answered', $1, $2, '{"question":"Old?"}',
            requested_fields, answered_fields, answer_schema_id, '{"answer":"x"}', 2 from notifications where id = 3`,
        [new Date(Date.parse(at) - each * 1000).toISOString(), at],
      );
    }
  }

  it('counts what was asked, answered and resolved, each as what it was', async () => {
    const token = await deskbell.signIn();
    const earlier = await lastWeek(token);
    const addresses = [];
    for (const body of [QUESTION, QUESTION, SUPPORT, QUESTION])
      addresses.push(await raise(deskbell, token, body));
    await answer(token, addresses[0]!, { answer: 'Yes.' });
    await answer(token, addresses[1]!, { resolve_only: true });
    await answer(token, addresses[2]!, { agent_response_to_customer: 'Sent.', resolution_notes: 'Sent.' });
    const later = await lastWeek(token);
    assert.equal(later.asked - earlier.asked, 4);
    assert.equal(later.answered - earlier.answered, 2);
    assert.equal(later.resolved - earlier.resolved, 1);
    assert.equal((await overview(token)).resolved_per_day.at(-1)!.count, 1);
    // An answer that is taken back was none.
    await answer(token, addresses[3]!, { answer: 'Yes.', undo_seconds: 60 });
    assert.equal((await lastWeek(token)).answered, later.answered + 1);
    assert.equal((await deskbell.call('POST', `${addresses[3]}/reopen`, { token })).status, 200);
    assert.deepEqual(await lastWeek(token), later);
    // What is deleted counts no more.
    for (const address of addresses) await deskbell.call('DELETE', address, { token });
    assert.deepEqual(await lastWeek(token), earlier);
  });

  it('tells how long answers took in each of twelve weeks, the last of which ends today', async () => {
    const token = await borealis();
    await answered(ago(30), [...Array(8).fill(600), 60, 7200]);
    await answered(ago(2), [...Array(8).fill(60), 30, 3600]);
    const { weeks } = await overview(token);
    assert.equal(weeks.length, 12);
    assert.equal(weeks.at(-1)!.to, ago(0).slice(0, 10));
    const then = weeks.find(({ from, to }) => from <= ago(30).slice(0, 10) && ago(30).slice(0, 10) <= to)!;
    assert.equal(then.answered, 10);
    isNear(then.median_seconds, 600);
    isNear(weeks.at(-1)!.median_seconds, 60);
    isNear(then.p90_seconds, 660);
  });

  it('tells which share the assistant answered by itself', async () => {
    const token = await deskbell.signIn();
    const question = 'Do you sell gift cards?';
    const raised = await raise(deskbell, token, { ...QUESTION, context: { question } });
    await answer(token, raised, { answer: 'Yes, from 20 euros.' });
    const earlier = await lastWeek(token);
    const ask = { question, customer: { phone: '+34611550101' } };
    for (let n = 0; n < 3; n += 1) {
      const reply = await deskbell.call('POST', '/api/v1/ask', { token, body: ask });
      assert.equal(reply.json.status, 'known', reply.text);
    }
    const { asked, answered_by_assistant, assistant_share } = await lastWeek(token);
    assert.equal(asked, earlier.asked);
    assert.equal(answered_by_assistant - earlier.answered_by_assistant, 3);
    assert.equal(
      assistant_share,
      Math.round((1000 * answered_by_assistant) / (answered_by_assistant + asked)) / 1000,
    );
  });

  it('tells who answered how many, people and programs', async () => {
    const token = await borealis();
    await deskbell.database.run('delete from notifications where merchant_id = 2 and status = $1', [
      'answered',
    ]);
    const key = await createKey(deskbell, ['answer'], BOREALIS);
    const addresses = [];
    for (let n = 0; n < 3; n += 1) {
      addresses.push(await raise(deskbell, token, { ...QUESTION, conversation_id: 4 }));
    }
    await answer(token, addresses[0]!, { answer: 'Yes.' });
    await answer(token, addresses[1]!, { answer: 'Yes.' });
    await answer(key, addresses[2]!, { answer: 'Yes.' });
    assert.deepEqual((await overview(token)).answered_by, [
      { kind: 'user', id: 2, name: 'Björn Olafsson', count: 2 },
      { kind: 'key', id: 1, name: 'Test key', count: 1 },
    ]);
  });

  it('tells what is asked most, whether it is answered or not, and only of this shop', async () => {
    const token = await borealis();
    const ask = (question: string) =>
      raise(deskbell, token, { ...QUESTION, conversation_id: 4, context: { question } });
    const first = await ask('Do you buy second-hand comics?');
    await answer(token, first, { answer: 'On Tuesdays.', only_send_campaign: true });
    await ask('Do you buy second-hand comics?');
    const newest = await ask('Do you buy second-hand comics here?');
    await ask('Is the café open?');
    const { asked_most } = await overview(token);
    assert.deepEqual(asked_most[0], {
      question: 'Do you buy second-hand comics here?',
      count: 3,
      notification_id: Number(newest.split('/').at(-1)),
    });
    assert.ok(!JSON.stringify((await overview(await deskbell.signIn())).asked_most).includes('comics'));
  });

  it('is the same as counting all notifications, whatever happened to them at the same time', async () => {
    const token = await deskbell.signIn();
    await Promise.all(
      Array.from({ length: 24 }, async (_, n) => {
        const address = await raise(deskbell, token, n % 3 ? QUESTION : SUPPORT);
        if (n % 4 === 0) return;
        const reply =
          n % 3
            ? { answer: 'Yes.', resolve_only: n % 4 === 2 }
            : { agent_response_to_customer: 'Yes.', resolution_notes: 'Yes.', resolve_only: n % 4 === 2 };
        await Promise.all([
          answer(token, address, reply),
          deskbell.call('POST', `${address}/ungroup`, { token }),
          deskbell.call('POST', `${NOTIFICATIONS}/${1 + (n % 5)}/ungroup`, { token }),
        ]);
        if (n % 5 === 0) await deskbell.call('DELETE', address, { token });
      }),
    );
    const [real] = await deskbell.database.all<{ asked: number; answered: number; resolved: number }>(
      `select count(*) as asked, count(case when status = 'answered' and answer not like '%resolve_only%'
            and answer <> '{"cancelled":true}' then 1 end) as answered,
          count(case when answer like '%resolve_only%' then 1 end) as resolved
        from notifications where merchant_id = 1`,
    );
    const [counted] = await deskbell.database.all<{ asked: number; answered: number; resolved: number }>(
      `select cast(sum(asked) as bigint) as asked, cast(sum(answered) as bigint) as answered,
          cast(sum(resolved) as bigint) as resolved from statistics_quarters where merchant_id = 1`,
    );
    assert.deepEqual({ ...counted }, { ...real });
    const sums = await deskbell.database.all<{ what: string; count: number }>(
      `select case when what = 'seconds' then what else 'who' end as what, cast(sum(count) as bigint) as count
        from statistics_days where merchant_id = 1 and what <> 'known' group by 1 order by 1`,
    );
    assert.deepEqual(
      sums.map(({ count }) => count),
      [real!.answered, real!.answered],
    );
  });
});
