import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import { assertAccessible } from './axe.ts';
import { inBrowser } from './browser.ts';
import { rowOf } from './page.ts';

inBrowser('the installed dashboard', (shop) => {
  const OPTIONS = { serviceWorkers: 'allow' as const };
  const workerIsReady = (page: Page) =>
    page.evaluate<string>('navigator.serviceWorker.ready.then(({ active }) => active.scriptURL)');
  const stored = (page: Page) => page.evaluate<string | null>("localStorage.getItem('deskbell.offline')");
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
    await page.goto('/settings/account');
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Email').waitFor();
    assert.equal(await stored(page), null);
    await page.context().setOffline(true);
    await page.goto('/inbox');
    await page.getByLabel('Email').waitFor();
    assert.equal(await page.getByText(question).count(), 0);
    await page.context().setOffline(false);
  });
});
