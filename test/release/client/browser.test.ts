import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { inBrowser } from '../../browser/browser.ts';
import { installClient } from '../../support/packedClient.ts';

const SECRET = `whsec_${Buffer.from('the secret of a browser').toString('base64')}`;
const QUESTION = 'Do you wrap presents on Sundays?';

inBrowser('the client in a browser', (shop) => {
  it('asks, waits, hears events and checks signatures', async () => {
    const { folder } = await installClient();
    const { page } = await shop.open({ user: 'nobody' });
    await page.route('**/client/**', (route) => {
      const [, file] = new URL(route.request().url()).pathname.split('/client/');
      return route.fulfill({ path: join(folder, 'node_modules/@deskbell/client/dist', file!) });
    });

    const body = '{"type":"webhook.test"}';
    const at = new Date();
    const given = {
      key: await shop.merchant.key(),
      question: QUESTION,
      body,
      headers: {
        'webhook-id': 'evt_1_1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(SECRET).sign('evt_1_1', at, body),
      },
      secret: SECRET,
    };
    const outcome = page.evaluate<unknown>(`(async (given) => {
      const { Deskbell } = await import('/client/index.js');
      const deskbell = new Deskbell({ url: location.origin, key: given.key });
      const { type } = await deskbell.webhooks.verify(given.body, given.headers, given.secret);
      const asked = await deskbell.ask({ question: given.question, customer: { phone: '+14155550132' } });
      const { status, answer } = await deskbell.wait(asked.id);
      for await (const event of deskbell.events({ after: 0, types: ['notification.answered'] })) {
        if (event.data.notification_id === asked.id) return [type, status, answer, event.data.answer];
      }
    })(${JSON.stringify(given)})`);
    let ids: number[] = [];
    while (ids.length === 0) {
      await Promise.race([outcome, page.waitForTimeout(20)]);
      ids = (await shop.merchant.get('/inbox?tab=open')).json.items.map(({ id }: { id: number }) => id);
    }
    await shop.answer(String(ids[0]), 'Until noon.');
    assert.deepEqual(await outcome, ['webhook.test', 'answered', 'Until noon.', 'Until noon.']);
  });
});
