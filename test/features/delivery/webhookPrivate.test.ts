import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startReceiver, webhookEnv } from '../../support/receiver.ts';
import { onEachEngine, raise, startDeskbell } from '../../support/server.ts';

onEachEngine('a webhook in a private network', (engine) => {
  for (const [title, setting, sent] of [
    ['is not called unless that is allowed', {}, false],
    ['is called with WEBHOOK_ALLOW_PRIVATE', { WEBHOOK_ALLOW_PRIVATE: 'true' }, true],
  ] as const) {
    it(title, async () => {
      const receiver = await startReceiver();
      const { WEBHOOK_ALLOW_PRIVATE: _allowed, ...settings } = webhookEnv(receiver);
      const deskbell = await startDeskbell(engine, { ...settings, ...setting });
      try {
        const token = await deskbell.signIn();
        const address = await raise(deskbell, token);
        await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes.' } });
        await deskbell.allSent();
        const { json } = await deskbell.call('GET', '/api/v1/delivery/', { token });
        const { state, last_error } = json[0];
        assert.deepEqual([state, last_error], sent ? ['sent', null] : ['failed', 'ADDRESS_REFUSED']);
        assert.equal(receiver.received.length, sent ? 1 : 0);
      } finally {
        await deskbell.close();
        await receiver.close();
      }
    });
  }
});
