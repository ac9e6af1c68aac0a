import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { BOREALIS, QUESTION } from '../support/server.ts';
import { META, type Meta, metaEnv, startMeta } from '../support/stand-ins/meta.ts';
import { apiOf, inBrowser, rowOf } from './browser.ts';

const DAY_MINUTES = 24 * 60;
let meta: Meta;
let receiver: Receiver;
after(async () => {
  await meta?.close();
  await receiver?.close();
});
async function startStandIn(): Promise<Record<string, string>> {
  meta = await startMeta({ now: () => new Date() });
  return metaEnv(meta);
}

inBrowser(
  'the time left to reply',
  (dashboard) => {
    const { api, createNotification } = apiOf(dashboard);
    let customers = 0;

    /** A question of a new customer, who can be answered for so long. */
    async function ask(minutesLeft: number): Promise<string> {
      customers += 1;
      const phone = `+3461177${1000 + customers}`;
      const created = await api('POST', '/api/v1/conversation/', {
        ...{ reference: `window-${customers}`, customer_name: `Noa ${customers}`, customer_phone: phone },
      });
      const opened = new Date(Date.now() - (DAY_MINUTES - minutesLeft - 0.5) * 60_000);
      await dashboard.deskbell.database.run(
        'insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)',
        [`whatsapp:${META.phoneNumberId}`, phone, opened.toISOString()],
      );
      const context = { question: `Do you sell number ${customers}?` };
      return createNotification({ ...QUESTION, conversation_id: created.json.id, context });
    }
    const header = (page: Page) => page.locator('.notification-header .reply-window');
    const notice = (page: Page) => page.locator('.window-notice');

    it('is at the message, and in the header only in a color, when it is short', async () => {
      const window = await dashboard.open();
      const { page } = window;
      for (const [minutesLeft, inHeader, inRow, state, text] of [
        [90, /^$/, /^1 hr left to reply$/, 'open', /^You can write to Noa 1 for 1 hr \d+ min\./],
        [45, /^soon: \d+ min left to reply$/, /^\d+ min left to reply$/, 'soon', /for \d+ min\./],
        [10, /^urgent: \d+ min left to reply$/, /^\d+ min left to reply$/, 'urgent', /for \d+:\d\d\./],
        [-5, /^$/, /^reply time expired$/, 'closed', /^Noa 4 has not written in the last 24 hours\./],
      ] as const) {
        const id = await ask(minutesLeft);
        await page.goto(`/inbox/${id}`);
        await notice(page)
          .and(page.locator(`[data-state="${state}"]`))
          .waitFor();
        assert.match((await notice(page).textContent())!, text);
        await rowOf(page, id).locator('.reply-window').filter({ hasText: inRow }).waitFor();
        await page.locator('.pane-customer h2[aria-busy="false"]').waitFor();
        const shown = await header(page).evaluateAll((all) =>
          all.map((one) => `${one.getAttribute('data-state')}: ${one.textContent}`),
        );
        assert.match(shown.join(), inHeader);
      }
      await window.close();
    });

    it('is not shown to a shop on its own webhook, which has no such limit', async () => {
      receiver = await startReceiver();
      const { deskbell } = dashboard;
      const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
      const secret = `whsec_${Buffer.alloc(24, 'window').toString('base64')}`;
      const body = { channel: 'webhook', settings: { url: receiver.url, secret } };
      assert.equal((await deskbell.call('PUT', '/api/v1/channel', { token, body })).status, 200);
      const asked = { ...QUESTION, conversation_id: 4, context: { question: 'Is there a window?' } };
      const raised = await deskbell.call('POST', '/api/v1/notification/request', { token, body: asked });
      const id = raised.headers.get('location')!.split('/').at(-1)!;
      const window = await dashboard.open({ path: '/overview', user: BOREALIS });
      const { page } = window;
      const known = page.waitForResponse((response) => response.url().endsWith('/api/v1/channel'));
      await page.goto(`/inbox/${id}`);
      await known;
      await rowOf(page, id).locator('.row-phone').waitFor();
      await page.locator('.conversation-head').waitFor();
      assert.deepEqual([await page.locator('.reply-window').count(), await notice(page).count()], [0, 0]);
      await window.close();
    });
  },
  { settings: startStandIn },
);
