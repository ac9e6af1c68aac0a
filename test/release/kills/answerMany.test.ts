import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { keysOf, raiseOn, useKilling } from '../../support/killing.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { onEachEngine } from '../../support/server.ts';

const COUNT = 60;
/** A busy machine often kills too late. */
const TRIES_MAX = 40;
/** It may need more than five seconds for all of them. */
const DEADLINE = { REQUEST_DEADLINE_SECONDS: '60' };

onEachEngine('one answer for many, if its server is killed half-way', (engine) => {
  const killing = useKilling(engine);
  const { start, kill, until, expireWaits, ownerOf } = killing;
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

  it('reaches every customer once after it was repeated with its key, and one document has it', async () => {
    for (let tries = 1; ; tries += 1) {
      const server = await start({ ...webhookEnv(receiver), ...DEADLINE });
      const ids: number[] = [];
      for (let n = 0; n < COUNT; n += 1) {
        const lead_phone = `+34611${String(tries).padStart(2, '0')}${1000 + n}`;
        const question = `Open on Sunday?${' '.repeat(n)}`;
        ids.push(await raiseOn(ownerOf(server), { question, lead_phone }));
      }
      const answer = `From ten: ${randomUUID()}`;
      const key = { 'idempotency-key': randomUUID() };
      const answerAll = (on: typeof server) =>
        ownerOf(on)('POST', '/notification/answer-many', { ids, answer }, key);
      const answering = answerAll(server).catch(() => undefined);
      await until('some are answered', async () => (await answeredOf(ids)) > 0);
      await kill(server);
      await answering;
      const before = await answeredOf(ids);
      // It was too fast to be killed half-way.
      if (before === COUNT && tries < TRIES_MAX) continue;
      assert.ok(before > 0 && before < COUNT, String(before));

      await expireWaits();
      const next = await start({ ...webhookEnv(receiver), ...DEADLINE });
      const { json } = await answerAll(next);
      const states: string[] = json.results.map((one: { status: string }) => one.status);
      // PostgreSQL may have finished what the killed server had begun after they were counted.
      const refused = states.filter((one) => one === 'refused').length;
      assert.ok(refused >= before, `${refused} of ${before}`);
      assert.deepEqual(states, [
        ...Array(refused).fill('refused'),
        ...Array(COUNT - refused).fill('answered'),
      ]);
      assert.deepEqual((await answerAll(next)).json, json);
      await until('all are sent', () => keysOf(receiver, answer).length === COUNT);
      for (const keys of keysOf(receiver, answer)) assert.equal(keys.size, 1);
      const documents = await killing.database.all(
        'select id from documents where merchant_id = 1 and body = $1',
        [answer],
      );
      assert.equal(documents.length, 1);
      return;
    }
  });
});
