import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { useKilling } from '../../support/killing.ts';
import type { Serving } from '../../support/process.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { AURORA, call, NOTIFICATIONS, onEachEngine, QUESTION } from '../../support/server.ts';

const COUNT = 40;
/** As if their time was over. */
const LONG_AGO = '2026-01-15T09:30:00.000Z';
/** A slow machine may take longer than the minute that an answer can be held for. */
const MUCH_LATER = '2099-01-15T09:30:00.000Z';

onEachEngine('answers that can be undone, if their server is killed', (engine) => {
  const killing = useKilling(engine);
  const { start, kill, until, expireWaits } = killing;
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
  const signIn = async ({ url }: Serving) =>
    (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token as string;

  async function holdAll({ url }: Serving, token: string, answer: string): Promise<number[]> {
    const ids: number[] = [];
    for (let n = 0; n < COUNT; n += 1) {
      const context = { question: `Held ${n}?`, lead_phone: `+34611${100_000 + n}` };
      const raised = await call(url, 'POST', `${NOTIFICATIONS}/request`, {
        token,
        body: { ...QUESTION, context },
      });
      const address = raised.headers.get('location')!;
      ids.push(Number(address.split('/').at(-1)));
      const body = { answer: `${answer} ${n}`, undo_seconds: 60 };
      assert.equal((await call(url, 'POST', `${address}/answer`, { token, body })).status, 200);
      await setUndoUntil(ids.slice(-1), MUCH_LATER);
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
      const ids = await holdAll(server, await signIn(server), answer);
      await kill(server);
      assert.equal(await heldOf(ids), COUNT);

      server = await start(webhookEnv(receiver));
      const token = await signIn(server);
      const back = await call(server.url, 'POST', `${NOTIFICATIONS}/${ids[0]}/reopen`, { token });
      assert.equal(back.status, 200);
      await setUndoUntil(ids, LONG_AGO);
      await until('some are released', async () => (await heldOf(ids)) < COUNT - 1);
      await kill(server);
      const left = await heldOf(ids);
      // It was too fast to be killed half-way.
      if (left === 0 && tries < 10) continue;

      await expireWaits();
      const servers = [await start(webhookEnv(receiver))];
      if (engine === 'postgres') servers.push(await start(webhookEnv(receiver)));
      await until('all are released', async () => (await heldOf(ids)) === 0);
      const keysTo = new Map<string, Set<string>>();
      await until('all are sent', () => {
        for (const { json: sent, headers } of receiver.received) {
          if (!JSON.stringify(sent).includes(answer)) continue;
          const to = String(sent.data?.notification_id ?? sent.notification_id);
          keysTo.set(to, (keysTo.get(to) ?? new Set()).add(String(headers['webhook-id'])));
        }
        return keysTo.size === COUNT - 1;
      });
      for (const keys of keysTo.values()) assert.equal(keys.size, 1);
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
      for (const one of servers) await kill(one);
      return;
    }
  });
});
