import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { keysOf, raiseOn, useKilling } from '../../support/killing.ts';
import type { Serving } from '../../support/process.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { onEachEngine } from '../../support/server.ts';

const COUNT = 40;
/** As if their time was over. */
const LONG_AGO = '2026-01-15T09:30:00.000Z';
/** A slow machine may take longer than the minute that an answer can be held for. */
const MUCH_LATER = '2099-01-15T09:30:00.000Z';

onEachEngine('answers that can be undone, if their server is killed', (engine) => {
  const killing = useKilling(engine);
  const { start, kill, until, expireWaits, ownerOf } = killing;
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());

  const heldOf = async (ids: readonly number[]) =>
    (await killing.database.one<{ n: number }>(
      `select count(*) as n from notifications where merchant_id = 1 and undo_until is not null and id >= $1
        and id <= $2`,
      [ids[0]!, ids.at(-1)!],
    ))!.n;
  async function holdAll(server: Serving, answer: string): Promise<number[]> {
    const ids: number[] = [];
    for (let n = 0; n < COUNT; n += 1) {
      const context = { question: `Held ${n}?`, lead_phone: `+34611${100_000 + n}` };
      const id = await raiseOn(ownerOf(server), context);
      const body = { answer: `${answer} ${n}`, undo_seconds: 60 };
      await ownerOf(server)('POST', `/notification/${id}/answer`, body);
      await setUndoUntil([id], MUCH_LATER);
      ids.push(id);
    }
    return ids;
  }

  const setUndoUntil = (ids: readonly number[], until: string) =>
    killing.database.run(
      `update notifications set undo_until = $3
        where merchant_id = 1 and undo_until is not null and id >= $1 and id <= $2`,
      [ids[0]!, ids.at(-1)!, until],
    );

  it('are all sent and learned once by the next one, and those that were taken back never', async () => {
    for (let tries = 1; ; tries += 1) {
      const answer = `Held ${randomUUID()}`;
      let server = await start(webhookEnv(receiver));
      const ids = await holdAll(server, answer);
      await kill(server);
      assert.equal(await heldOf(ids), COUNT);

      server = await start(webhookEnv(receiver));
      await ownerOf(server)('POST', `/notification/${ids[0]}/reopen`);
      await setUndoUntil(ids, LONG_AGO);
      await until('some are released', async () => (await heldOf(ids)) < COUNT - 1);
      await kill(server);
      const left = await heldOf(ids);
      // It was too fast to be killed half-way.
      if (left === 0 && tries < 10) continue;

      await expireWaits();
      await start(webhookEnv(receiver));
      if (engine === 'postgres') await start(webhookEnv(receiver));
      await until('all are released', async () => (await heldOf(ids)) === 0);
      await until('all are sent', () => keysOf(receiver, answer).length === COUNT - 1);
      for (const keys of keysOf(receiver, answer)) assert.equal(keys.size, 1);
      const once = async (sql: string) => {
        const rows = await killing.database.all<{ n: number }>(
          `select count(*) as n from ${sql} group by notification_id`,
          [ids[0]!, ids.at(-1)!],
        );
        assert.deepEqual([rows.length, rows.every(({ n }) => n === 1)], [COUNT - 1, true], sql);
      };
      const ofThem = 'where merchant_id = 1 and notification_id >= $1 and notification_id <= $2';
      await once(`deliveries ${ofThem}`);
      await once(`document_versions ${ofThem}`);
      await once(`(select notification_id from new_events ${ofThem} and type = 'notification.answered'
        union all select notification_id from events ${ofThem} and type = 'notification.answered') told`);
      return;
    }
  });
});
