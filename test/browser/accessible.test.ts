import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { AURORA, addUser, QUESTION } from '../harness.ts';
import { answerField, apiOf, button, inBrowser, openSettings, turnOnShortcuts } from './browser.ts';
import { animationsFinished, goTo, PAGES, prepare } from './pages.ts';

/** The only axe rules whose result depends on the color scheme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
async function violationsOn(page: Page, rules?: string[]): Promise<string[]> {
  // The half megabyte of axe is compiled only once for a page.
  const isThere = await page.evaluate<boolean>("'axe' in window");
  // The page has no frames, so legacy mode gives the same result without a second page for each check.
  const axe = new AxeBuilder({ page, ...(isThere && { axeSource: 'void 0' }) })
    .setLegacyMode(true)
    // To describe all that is in order takes longer than to check it.
    .options({ reporter: 'no-passes' });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}

/** Collects what axe finds, in both color schemes. */
function createChecks(page: Page) {
  const violationsByPage: Record<string, string[]> = {};
  const colorSchemes: ('light' | 'dark')[] = ['dark', 'light'];
  return {
    violationsByPage,
    async check(name: string) {
      // Each page starts with the theme that the one before ended with.
      for (const colorScheme of colorSchemes.reverse()) {
        await page.emulateMedia({ colorScheme });
        await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
        await animationsFinished(page);
        const violations = await violationsOn(page, colorScheme === 'dark' ? COLOR_RULES : undefined);
        if (violations.length > 0) violationsByPage[`${name}, ${colorScheme}`] = violations;
      }
    },
  };
}

/** Two questions that are not alike stay two rows. */
const QUESTIONS: Record<string, string> = {
  'a wide screen': 'How long does a parcel to Peru take?',
  'a phone': 'Is there parking near your roastery?',
};
const SIZES = { 'a wide screen': { width: 1280, height: 800 }, 'a phone': { width: 390, height: 844 } };

inBrowser('accessibility: axe finds no violations, light and dark,', (dashboard) => {
  const { api, createNotification } = apiOf(dashboard);
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
        'deskbell.session': '1',
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

    it(`in every dialog on ${size}`, async () => {
      const context = { question: QUESTIONS[size], document_id: 1 };
      const id = await createNotification({ ...QUESTION, context });
      const window = await dashboard.open({ viewport, reducedMotion: 'reduce', path: `/inbox/${id}` });
      const { page } = window;
      const { check, violationsByPage } = createChecks(page);
      // The overlay dims the page until it has faded out.
      const overlay = page.locator('.mantine-Modal-overlay');
      const closeDialog = async () => {
        await page.keyboard.press('Escape');
        await overlay.waitFor({ state: 'detached' });
      };

      await answerField(page).fill('About nine days.');
      if (size === 'a phone') await page.locator('.teaching-line button').click();
      await page.getByRole('combobox', { name: 'The assistant learns' }).selectOption({ index: 1 });
      await page.getByText('Internal notes').click();
      await page.getByLabel('Saved replies').first().click();
      await page.locator('.saved-replies').waitFor();
      await check('saved replies and what the assistant learns');
      await page.keyboard.press('Escape');
      await page.getByLabel('Emoji', { exact: true }).first().click();
      await page.locator('.emoji-grid').waitFor();
      await check('the emoji');
      await page.keyboard.press('Escape');

      await goTo(page, '/inbox?tab=attention');
      await page
        .getByRole('button', { name: /^Fix the number/ })
        .first()
        .click();
      await page.getByRole('button', { name: 'Save and send again' }).waitFor();
      await check('a number to fix');
      await closeDialog();

      await goTo(page, '/knowledge');
      await button(page, 'Import and export').click();
      await page.locator('input[type="file"]').setInputFiles({
        name: 'documents.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from('title,body\nGift wrapping,"Yes, for 3 €."\n,Nothing\n'),
      });
      await button(page, 'Import 1 document').waitFor();
      await check('an import');
      await closeDialog();
      await goTo(page, '/knowledge/1');
      await button(page, 'Delete').click();
      await overlay.waitFor();
      await check('the deletion of a document');
      await closeDialog();
      await button(page, 'Edit').click();
      await page.getByLabel('Title').waitFor();
      await page.locator('.versions summary').first().click();
      await check('a document that is edited, with its versions');

      await goTo(page, '/');
      // What had the focus is gone, so a key alone does nothing.
      await page.keyboard.press('Escape');
      await turnOnShortcuts(page);
      await page.keyboard.press('?');
      await overlay.waitFor();
      await check('the keyboard shortcuts');
      await closeDialog();
      await page.keyboard.press('ControlOrMeta+k');
      await page.locator('.palette-dialog').waitFor();
      await check('the command menu');
      await page.keyboard.press('Escape');

      await openSettings(page, 'Team');
      await page.getByRole('button', { name: 'Create the invitation' }).click();
      await page.locator('.shown-once').waitFor();
      await check('a new invitation');
      await openSettings(page, 'Assistant');
      await page.getByText('My own threshold').click();
      await page.getByRole('slider').waitFor();
      await check('the threshold of the assistant');
      await openSettings(page, 'Account');
      await button(page, 'Security').click();
      await page.getByText('Where you are signed in').click();
      await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor();
      await check('the security settings');
      await page.getByLabel('Your password').fill(AURORA.password);
      await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
      await page.getByRole('img', { name: 'QR code' }).waitFor();
      await check('the set-up of an authenticator app');
      assert.deepEqual(violationsByPage, {});
      await window.close();
    });
  }
});
