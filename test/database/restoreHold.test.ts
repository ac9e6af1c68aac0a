import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { openVault } from '../../src/auth/vault.ts';
import { enqueueMail } from '../../src/mail/queue.ts';
import { run, settingsOf } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';
import { startReceiver, webhookEnv } from '../support/receiver.ts';
import { onEachEngine, QUESTION, raise, startDeskbell, useDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';
import { mailSettings, newAddress, startMailServer } from '../support/stand-ins/mail.ts';
import { startPushService } from '../support/stand-ins/push.ts';

/** They look once in a second or two. */
const LOOKS_MAX_MS = 90_000;

onEachEngine('after a restore', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false', PUSH_ALLOW_PRIVATE: 'true' });
  let target: TestDatabase | undefined;
  after(() => target?.remove());

  it('no message, held answer, webhook event, alert or mail goes out before the release, and each is counted', async () => {
    const [receiver, push, mail] = [await startReceiver(), await startPushService(), await startMailServer()];
    const { database, clock, config } = deskbell;
    const token = await deskbell.signIn();
    const call = async (method: string, path: string, body: object) => {
      const reply = await deskbell.call(method, path, { token, body });
      assert.equal(reply.status, 200, reply.text);
    };
    const events = { url: `${receiver.url}/events`, events: ['notification.requested'] };
    await call('POST', '/api/v1/webhooks', events);
    const question = { ...QUESTION, context: { question: 'Is it open?', lead_phone: '+34611550101' } };
    const [sent, held] = [await raise(deskbell, token, question), await raise(deskbell, token, question)];
    await call('POST', `${sent}/answer`, { answer: 'Yes.', undo_seconds: 0 });
    await call('POST', `${held}/answer`, { answer: 'Yes, until six.', undo_seconds: 60 });
    // Its session ends with the restore, so this device gets no alert any more.
    await call('PUT', '/api/v1/alerts/subscriptions', { ...push.browser(), language: 'en' });
    await raise(deskbell, token, question);
    const to = newAddress();
    await database.transaction((tx) =>
      enqueueMail(tx, openVault(config), 1, {
        ...{ kind: 'alert', to, subject: 'A question', text: 'Somebody waits.', at: clock.now() },
      }),
    );
    const file = join(newFolder(), 'backup.db');
    assert.equal((await run(['backup', file], { env: settingsOf(deskbell) })).code, 0);
    target = await createTestDatabase(engine);
    target.env.SECRET_KEY =
      config.secretKey ?? readFileSync(join(config.dataDir, 'secret.key'), 'utf8').trim();
    const restored = await run(['restore', file, '--json'], { env: target.env });
    const waiting = { messages: 1, answers: 1, webhooks: 3, alerts: 0, mails: 1 };
    assert.deepEqual(restored.json.waiting, waiting, restored.stderr);

    const allowed = { PUSH_ALLOW_PRIVATE: 'true', WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'true' };
    const settings = { ...webhookEnv(receiver), ...mailSettings(mail), ...allowed };
    const copy = await startDeskbell(engine, settings, target);
    const wentOut = () => {
      const [toOwner, toCustomer] = [true, false].map(
        (isEvent) => receiver.received.filter(({ path }) => path.endsWith('/events') === isEvent).length,
      );
      return [toCustomer, toOwner, push.requests.length, mail.received.length];
    };
    try {
      // Each of those who send looks at the hold again and again: several times after everything is due.
      let looks = 0;
      const { one } = copy.database.urgent;
      Object.assign(copy.database.urgent, {
        one(...call: Parameters<typeof one>) {
          if (call[0].includes('sending_hold')) looks += 1;
          return one(...call);
        },
      });
      copy.clock.jump(120);
      await until('they have looked', () => looks >= 12, LOOKS_MAX_MS);
      assert.deepEqual(wentOut(), [0, 0, 0, 0]);
      assert.ok(copy.logged.some((line) => /nothing is sent: sending is held/.test(line)));
      assert.match((await copy.call('GET', '/metrics')).text, /^deskbell_sending_held 1$/m);
      const { stdout } = await run(['doctor'], { env: target.env });
      assert.match(stdout, /Waiting: 1 message, 1 held answer, 3 webhook events, \d alerts?, 1 mail\./);
      assert.equal((await run(['delivery', 'release'], { env: target.env })).code, 0);
      await until('all are sent', () => String(wentOut()) === '2,3,0,1', LOOKS_MAX_MS).catch(() => {});
      assert.deepEqual(wentOut(), [2, 3, 0, 1]);
      assert.match((await copy.call('GET', '/metrics')).text, /^deskbell_sending_held 0$/m);
    } finally {
      await copy.close();
      await Promise.all([receiver.close(), push.close(), mail.close()]);
    }
  });
});
