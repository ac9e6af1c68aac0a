import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dispatchAlerts } from '../../../src/alerts/dispatch.ts';
import { createLogger } from '../../../src/log.ts';
import { onEachEngine, raise, startSecondServer, useDeskbell } from '../../support/server.ts';
import { startPushService } from '../../support/stand-ins/push.ts';

const ALERTS = '/api/v1/alerts';

onEachEngine('several servers', (engine) => {
  const deskbell = useDeskbell(engine, { PUSH_ALLOW_PRIVATE: 'true' });
  it('have one key, and send each alert once', { skip: engine !== 'postgres' }, async () => {
    const service = await startPushService();
    const token = await deskbell.signIn();
    const second = await startSecondServer(deskbell, { PUSH_ALLOW_PRIVATE: 'true' });
    try {
      const servers = [deskbell, second];
      const keys = await Promise.all(servers.map((server) => server.call('GET', `${ALERTS}/key`, { token })));
      assert.equal(new Set(keys.map(({ text }) => text)).size, 1);
      const body = service.browser();
      assert.equal((await second.call('PUT', `${ALERTS}/subscriptions`, { token, body })).status, 200);
      for (let n = 0; n < 10; n += 1) await raise(servers[n % 2]!, token);
      for (const server of [...servers, ...servers]) await server.allSent();
      const ids = service.requests.map(({ message }) => message.notification_id);
      assert.equal(ids.length, 10);
      assert.equal(new Set(ids).size, 10);
    } finally {
      await second.close();
      await service.close();
    }
  });
});

onEachEngine('two workers that look at the same events', (engine) => {
  // Nothing but this test makes alerts of them.
  const deskbell = useDeskbell(engine, { PUSH_ALLOW_PRIVATE: 'true', WORKER: 'false' });
  it('make each alert once', async () => {
    const service = await startPushService();
    const body = service.browser();
    await service.close();
    const token = await deskbell.signIn();
    assert.equal((await deskbell.call('PUT', `${ALERTS}/subscriptions`, { token, body })).status, 200);
    for (let n = 0; n < 3; n += 1) await raise(deskbell, token);
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const parts = { database: deskbell.database, log, now: deskbell.clock.now };
    await Promise.all(Array.from({ length: 4 }, () => dispatchAlerts(parts)));
    const alerts = await deskbell.database.all<{ reference: string }>(
      'select reference from deliveries where merchant_id = 1 and endpoint_id > 1000000',
    );
    assert.equal(alerts.length, 3);
    assert.equal(new Set(alerts.map(({ reference }) => reference)).size, 3);
  });
});
