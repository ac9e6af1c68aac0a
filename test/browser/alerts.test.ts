import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import { type Browser, type PushService, startPushService } from '../support/stand-ins/push.ts';
import { assertAccessible } from './axe.ts';
import { inBrowser, rowOf } from './browser.ts';

const ACCOUNT = '/settings/account';

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

inBrowser('the dashboard on a phone', (shop) => {
  let service: PushService;
  before(async () => {
    service = await startPushService();
  });
  after(() => service?.close());

  const OPTIONS = { serviceWorkers: 'allow' as const, permissions: ['notifications'] };
  const workerIsReady = (page: Page) =>
    page.evaluate<string>('navigator.serviceWorker.ready.then(({ active }) => active.scriptURL)');
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
  const stored = (page: Page) => page.evaluate<string | null>("localStorage.getItem('deskbell.offline')");
  const shown = (page: Page) =>
    page.evaluate<{ title: string; body: string; tag: string }[]>(
      `navigator.serviceWorker.ready.then((registration) => registration.getNotifications())
        .then((list) => list.map(({ title, body, tag }) => ({ title, body, tag })))`,
    );

  it('can be installed: it has a manifest with icons that exist, and a service worker', async () => {
    const { page } = await shop.open({ ...OPTIONS, fresh: true });
    const href = await page.locator('link[rel=manifest]').getAttribute('href');
    const manifest = await (await page.request.get(href!)).json();
    assert.deepEqual([manifest.start_url, manifest.display], ['/inbox', 'standalone']);
    for (const { src, sizes } of manifest.icons) {
      const icon = await page.request.get(src);
      assert.equal(icon.headers()['content-type'], 'image/png');
      // The width is in the header of a PNG file.
      assert.equal((await icon.body()).readUInt32BE(16), Number(sizes.split('x')[0]));
    }
    assert.match(await workerIsReady(page), /\/service-worker\.js$/);
  });

  it('shows the last list without a connection, but not to somebody who signed out', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({
      ...OPTIONS,
      // The list is stored when the page is loaded, and then once a minute.
      fresh: true,
      // What is under way at the sign-out may be refused, and the browser logs it.
      expectedErrors: /401|ERR_INTERNET_DISCONNECTED|Failed to fetch/,
    });
    await workerIsReady(page);
    await rowOf(page, id).waitFor();
    const question = (await shop.get(`/notification/${id}`)).json.context.question;
    await until('the list is stored', async () => (await stored(page))?.includes(question));
    await page.context().setOffline(true);
    for (const path of ['/inbox', '/knowledge']) {
      await page.goto(path);
      await page.getByText('You are offline.').waitFor();
      await page.getByText(question).waitFor();
    }
    await assertAccessible(page);
    await page.context().setOffline(false);
    // It connects by itself.
    await page.locator('.nav').waitFor();
    await page.goto(ACCOUNT);
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Email').waitFor();
    assert.equal(await stored(page), null);
    await page.context().setOffline(true);
    await page.goto('/inbox');
    await page.getByLabel('Email').waitFor();
    assert.equal(await page.getByText(question).count(), 0);
    await page.context().setOffline(false);
  });

  it('rings: an alert shows who asks what, and opens the question', async () => {
    const browser = service.browser();
    const { page } = await shop.open({ ...OPTIONS, path: ACCOUNT });
    await workerIsReady(page);
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
