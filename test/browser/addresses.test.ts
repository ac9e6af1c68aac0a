import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { assertError, raise } from '../support/server.ts';
import { apiOf, becomes, button, inBrowser, rowOf } from './browser.ts';

const ADDRESSES = [
  '/',
  '/inbox',
  '/inbox?tab=answered&q=beans',
  '/inbox/1',
  '/inbox/1?tab=all',
  '/knowledge',
  '/knowledge/1',
  '/overview',
  '/settings',
  ...['shop', 'connection', 'team', 'account', 'assistant', 'developer', 'data'].map(
    (name) => `/settings/${name}`,
  ),
  '/test-phone',
  '/test-phone/1',
  '/invite',
  '/reset-password',
];
const UNKNOWN = [
  '/nowhere',
  '/inbox/abc',
  '/settings/nothing',
  '/knowledge/1/2',
  '/index.html',
  '/apis',
  '/%E0%A4%A',
];
const FOR_PROGRAMS = [
  '/api/v1/nothing',
  '/api',
  '/docs/nothing',
  '/assets/nothing.js',
  '/.well-known/nothing',
  '/session/nothing',
  '/webhooks/nothing',
];
const FROM_BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

const scrollOf = (page: Page) => page.evaluate<number>("document.querySelector('.list').scrollTop");

inBrowser('the addresses of the dashboard', (dashboard) => {
  const { createNotification } = apiOf(dashboard);

  it('all open the dashboard, and unknown ones are a page too, with status 404', async () => {
    const { call } = dashboard.deskbell;
    for (const [paths, status] of [
      [ADDRESSES, 200],
      [UNKNOWN, 404],
    ] as const) {
      for (const path of paths) {
        for (const method of ['GET', 'HEAD']) {
          const reply = await call(method, path, { headers: FROM_BROWSER });
          assert.equal(reply.status, status, `${method} ${path}`);
          assert.match(reply.headers.get('content-type') ?? '', /^text\/html/, path);
          assert.match(reply.headers.get('content-security-policy') ?? '', /script-src 'self'/, path);
        }
      }
    }
  });

  it('programs get unknown paths as errors in JSON, and so does everybody below the paths of programs', async () => {
    const { call } = dashboard.deskbell;
    for (const path of UNKNOWN) {
      for (const accept of ['*/*', 'application/json'])
        assertError(await call('GET', path, { headers: { accept } }), 404, 'NOT_FOUND');
    }
    for (const path of FOR_PROGRAMS)
      assertError(await call('GET', path, { headers: FROM_BROWSER }), 404, 'NOT_FOUND');
    assertError(await call('POST', '/nowhere', { headers: FROM_BROWSER }), 404, 'NOT_FOUND');
  });

  it('an unknown address shows a friendly page with a way to the inbox, signed in or not', async () => {
    for (const user of ['nobody', undefined] as const) {
      const window = await dashboard.open({
        path: '/nowhere',
        ...(user && { user }),
        expectedErrors: /status of 404/,
      });
      const { page } = window;
      await page.getByText('Page not found').waitFor();
      await page.getByRole('link', { name: 'Go to the inbox' }).click();
      await page.waitForURL('**/inbox');
      if (user) await page.getByLabel('Email').waitFor();
      else await page.getByRole('searchbox').waitFor();
      await window.close();
    }
  });

  it('an invitation and a new password have a page without signing in', async () => {
    for (const path of ['/invite#token', '/reset-password#token']) {
      const window = await dashboard.open({ path, user: 'nobody', expectedErrors: /404/ });
      await window.page.getByRole('main').waitFor();
      assert.equal(await window.page.getByText('Sign in to answer').count(), 0);
      await window.close();
    }
  });

  it('have the tab, the type and the search in them: reload, Back and a link show the same', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: '/inbox' });
    const { page } = window;
    const search = page.getByRole('searchbox');
    const tab = (name: string) => page.getByRole('radio', { name: new RegExp(`^${name}`) });
    await rowOf(page, id).waitFor();
    await page.getByText(/^All/).first().click();
    await page.waitForURL('**/inbox?tab=all');
    await page.getByRole('combobox', { name: 'Type' }).selectOption('user_question_request');
    await search.fill('decaf');
    await page.waitForURL((url) => url.searchParams.get('q') === 'decaf');
    await rowOf(page, id).click();
    await page.waitForURL(`**/inbox/${id}?tab=all&type=user_question_request&q=decaf`);
    await page.reload();
    await rowOf(page, id).waitFor();
    assert.equal(await search.inputValue(), 'decaf');
    assert.ok(await tab('All').isChecked());
    await page.goBack();
    await page.waitForURL('**/inbox?tab=all&type=user_question_request&q=decaf');
    assert.equal(await search.inputValue(), 'decaf');
    // Not through each letter of the search.
    await page.goBack();
    await page.waitForURL('**/inbox?tab=all');
    await becomes(() => search.inputValue(), '');
    await page.goBack();
    await page.waitForURL('**/inbox');
    await becomes(() => tab('Open').isChecked(), true);
    await window.close();
  });

  it('Back and the arrow above a question show the list where it was', async () => {
    const token = await dashboard.deskbell.signIn();
    for (let n = 0; n < 25; n += 1) {
      const question = `Is number ${n}${'x'.repeat(n)} ready?`;
      const context = { question };
      await raise(dashboard.deskbell, token, {
        notification_type: 'user_question_request',
        conversation_id: 1,
        context,
      });
    }
    const window = await dashboard.open({ path: '/inbox', viewport: { width: 390, height: 740 } });
    const { page } = window;
    await page.locator('.row-link').first().waitFor();
    for (const goBack of [() => page.goBack(), () => button(page, 'Back').click()]) {
      await page.evaluate("document.querySelector('.list').scrollTo(0, 1111)");
      // Playwright would scroll the row into view first.
      await page.evaluate("document.querySelectorAll('.row-link')[9].click()");
      await page.locator('[data-answer]').waitFor();
      await goBack();
      await page.locator('.list').waitFor();
      await becomes(() => scrollOf(page), 1111);
    }
    await page.reload();
    await page.locator('.row-link').first().waitFor();
    await becomes(() => scrollOf(page), 1111);
    await window.close();
  });
});
