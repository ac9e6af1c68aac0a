import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { addUser } from '../support/server.ts';
import { createChecks, SIZES } from './axe.ts';
import { apiOf, button, inBrowser } from './browser.ts';
import { goTo, PAGES, prepare } from './pages.ts';

inBrowser('accessibility: axe finds no violations, light and dark,', (dashboard) => {
  const { api } = apiOf(dashboard);
  before(() => prepare(dashboard));

  for (const [size, viewport] of Object.entries(SIZES)) {
    it(`on every page on ${size}`, async () => {
      const window = await dashboard.open({ viewport, reducedMotion: 'reduce' });
      const { page } = window;
      const { check, violationsByPage } = createChecks(page);
      for (const [name, path, content] of PAGES) {
        await goTo(page, path);
        await page.locator(content).waitFor();
        await check(name);
      }
      assert.deepEqual(violationsByPage, {});
      await window.close();
    });

    it(`on the pages without a session on ${size}`, async () => {
      const invite = (await api('POST', '/api/v1/invites', { role: 'user', name: 'Bruno Díaz' })).json;
      const user = await addUser(dashboard.deskbell);
      const reset = (await api('POST', `/api/v1/team/${user.id}/reset-link`)).json;
      const window = await dashboard.open({
        user: 'nobody',
        viewport,
        reducedMotion: 'reduce',
        expectedErrors: /404|ERR_FAILED/,
      });
      const { page } = window;
      const { check, violationsByPage } = createChecks(page);
      await page.getByRole('button', { name: 'Sign in as Aurora Coffee' }).waitFor();
      await check('the sign-in page');
      await button(page, 'Forgot password').click();
      await button(page, 'Send the link').waitFor();
      await check('a forgotten password');
      await page.goto(invite.link);
      await page.getByRole('heading', { name: 'Join Aurora Coffee' }).waitFor();
      await check('an invitation');
      await page.goto('/invite');
      await page.getByText('This link cannot be opened').waitFor();
      await check('an invitation that does not work');
      await page.goto(reset.link);
      await page.getByLabel('New password').waitFor();
      await check('a new password');
      await page.goto('/nowhere');
      await page.getByText('Page not found').waitFor();
      await check('an unknown address');
      const item = { id: 1, customer: 'Lucía Fernández', question: 'Decaf?', created_at: new Date() };
      const stored = {
        'deskbell.session': 'user-1',
        'deskbell.offline': JSON.stringify({ userId: 1, at: new Date(), items: [item] }),
      };
      await page.evaluate(`Object.assign(localStorage, ${JSON.stringify(stored)})`);
      await page.route('**/session/**', (route) => route.abort());
      await page.goto('/inbox');
      await page.getByText('You are offline.').waitFor();
      await check('the list without a connection');
      assert.deepEqual(violationsByPage, {});
      await window.close();
    });
  }
});
