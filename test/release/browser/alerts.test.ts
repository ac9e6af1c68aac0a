import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { findOrInstall } from '../../../scripts/services.ts';
import { until } from '../../support/shops.ts';
import { type Browser, type PushService, startPushService } from '../../support/stand-ins/push.ts';

// The headless shell, which the other tests use, shows no notifications.
process.env.TEST_CHROMIUM = findOrInstall('chromium', 'chromium') ?? '';
const { inBrowser } = await import('../../browser/browser.ts');

/** Chromium cannot reach its push service here: the stand-in takes its place, and DevTools delivers what it got. */
const usePushService = (browser: Browser) => `(() => {
  const browser = ${JSON.stringify(browser)};
  let current = null;
  PushManager.prototype.getSubscription = async () => current;
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    const text = applicationServerKey.replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    current = {
      endpoint: browser.endpoint,
      options: { applicationServerKey: bytes.buffer },
      toJSON: () => browser,
      unsubscribe: async () => { current = null; return true; },
    };
    return current;
  };
})()`;

inBrowser('the alerts of the dashboard', (shop) => {
  let service: PushService;
  before(async () => {
    service = await startPushService();
  });
  after(() => service?.close());

  const OPTIONS = { serviceWorkers: 'allow' as const, permissions: ['notifications'] };
  const alertSwitch = (page: Page) => page.getByRole('switch', { name: 'Notify me on this device' });

  /** Hands a message to the service worker, as the browser's push service would. */
  async function deliver(page: Page, data: string): Promise<void> {
    const devTools: CDPSession = await page.context().newCDPSession(page);
    const registered = new Promise<string>((resolve) => {
      devTools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const [registration] = registrations;
        if (registration && !registration.isDeleted) resolve(registration.registrationId);
      });
    });
    await devTools.send('ServiceWorker.enable');
    const { origin } = new URL(shop.deskbell.url);
    await devTools.send('ServiceWorker.deliverPushMessage', {
      origin,
      registrationId: await registered,
      data,
    });
    await devTools.detach();
  }
  const shown = (page: Page) =>
    page.evaluate<{ title: string; body: string; tag: string }[]>(
      `navigator.serviceWorker.ready.then((registration) => registration.getNotifications())
        .then((list) => list.map(({ title, body, tag }) => ({ title, body, tag })))`,
    );

  it('show who asks what, and open the question', async () => {
    const browser = service.browser();
    const { page } = await shop.open({ ...OPTIONS, path: '/settings/account' });
    await page.evaluate('navigator.serviceWorker.ready.then(() => {})');
    await page.evaluate(usePushService(browser));
    await alertSwitch(page).click();
    await page.getByText('1 device gets your notifications.').waitFor();
    assert.ok(await alertSwitch(page).isChecked());

    service.accepted.length = 0;
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('A test is on its way.').waitFor();
    await shop.deskbell.allSent();
    assert.equal(service.accepted[0]?.message.kind, 'test');

    const id = await shop.ask();
    await shop.deskbell.allSent();
    const { message } = service.accepted.at(-1)!;
    assert.equal(message.notification_id, id);
    await deliver(page, JSON.stringify(message));
    // The same again, as after a lost answer of the push service.
    await deliver(page, JSON.stringify(message));
    await until('it is shown', async () => (await shown(page)).length > 0);
    const { customer, text, tag } = message;
    assert.deepEqual(await shown(page), [{ title: `${customer} asks`, body: text, tag }]);

    const [worker] = page.context().serviceWorkers();
    await worker!.evaluate(`self.registration.getNotifications().then(([notification]) =>
      self.dispatchEvent(new NotificationEvent('notificationclick', { notification })))`);
    await page.waitForURL(`**/inbox/${id}`);
    await page.locator('.pane').getByText(text).first().waitFor();
  });
});
