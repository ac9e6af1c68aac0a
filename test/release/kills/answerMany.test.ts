import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { useKilling } from '../../support/killing.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { AURORA, call, NOTIFICATIONS, onEachEngine, QUESTION } from '../../support/server.ts';

const COUNT = 60;
/** A busy machine often kills too late. */
const TRIES_MAX = 40;
/** It may need more than five seconds for all of them. */
const DEADLINE = { REQUEST_DEADLINE_SECONDS: '60' };

onEachEngine('one answer for many, if its server is killed half-way', (engine) => {
  const killing = useKilling(engine);
  const { start, kill, until, expireWaits } = killing;
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());

  const answeredOf = async (ids: readonly number[]) =>
    (await killing.database.one<{ n: number }>(
      `select count(*) as n from notifications where merchant_id = 1 and status = 'answered' and id >= $1 and id <= $2`,
      [ids[0]!, ids.at(-1)!],
    ))!.n;

  for (const withKey of [true, false]) {
    it(`reaches every customer once after it was repeated ${withKey ? 'with its key' : 'without a key'}, and one document has it`, async () => {
      for (let tries = 1; ; tries += 1) {
        const server = await start({ ...webhookEnv(receiver), ...DEADLINE });
        const { access_token: token } = (
          await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA })
        ).json;
        const ids: number[] = [];
        for (let n = 0; n < COUNT; n += 1) {
          const context = {
            question: `Open on Sunday?${' '.repeat(n)}`,
            lead_phone: `+34611${String(tries).padStart(2, '0')}${1000 + n}`,
          };
          const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, {
            token,
            body: { ...QUESTION, context },
          });
          ids.push(Number(raised.headers.get('location')!.split('/').at(-1)));
        }
        const request = {
          token,
          body: { ids, answer: `From ten: ${randomUUID()}` },
          ...(withKey ? { headers: { 'idempotency-key': randomUUID() } } : {}),
        };
        const answering = call(server.url, 'POST', `${NOTIFICATIONS}/answer-many`, request).catch(
          () => undefined,
        );
        await until('some are answered', async () => (await answeredOf(ids)) > 0);
        await kill(server);
        await answering;
        const before = await answeredOf(ids);
        // It was too fast to be killed half-way.
        if (before === COUNT && tries < TRIES_MAX) continue;
        assert.ok(before > 0 && before < COUNT, String(before));

        await expireWaits();
        const next = await start({ ...webhookEnv(receiver), ...DEADLINE });
        const { status, json } = await call(next.url, 'POST', `${NOTIFICATIONS}/answer-many`, request);
        assert.equal(status, 200);
        const states: string[] = json.results.map((one: { status: string }) => one.status);
        // PostgreSQL may have finished what the killed server had begun after they were counted.
        const refused = states.filter((one) => one === 'refused').length;
        assert.ok(refused >= before, `${refused} of ${before}`);
        assert.deepEqual(states, [
          ...Array(refused).fill('refused'),
          ...Array(COUNT - refused).fill('answered'),
        ]);
        if (withKey) {
          const again = await call(next.url, 'POST', `${NOTIFICATIONS}/answer-many`, request);
          assert.deepEqual(again.json, json);
        }
        const { answer } = request.body;
        const keysTo = new Map<string, Set<string>>();
        await until('all are sent', () => {
          for (const { json: sent, headers } of receiver.received) {
            if (!JSON.stringify(sent).includes(answer)) continue;
            const to = String(sent.data?.notification_id ?? sent.notification_id);
            keysTo.set(to, (keysTo.get(to) ?? new Set()).add(String(headers['webhook-id'])));
          }
          return keysTo.size === COUNT;
        });
        for (const keys of keysTo.values()) assert.equal(keys.size, 1);
        const rows = await killing.database.all<{ n: number }>(
          `select count(*) as n from deliveries where merchant_id = 1 and notification_id >= $1 and notification_id <= $2
            group by notification_id`,
          [ids[0]!, ids.at(-1)!],
        );
        assert.deepEqual([rows.length, rows.every(({ n }) => n === 1)], [COUNT, true]);
        const documents = await killing.database.all(
          'select id from documents where merchant_id = 1 and body = $1',
          [answer],
        );
        assert.equal(documents.length, 1);
        await kill(next);
        return;
      }
    });
  }
});
