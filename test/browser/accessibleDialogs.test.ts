import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { AURORA, QUESTION } from '../support/server.ts';
import { createChecks, SIZES } from './axe.ts';
import { answerField, apiOf, button, inBrowser, openSettings, turnOnShortcuts } from './browser.ts';
import { goTo, prepare } from './pages.ts';

/** Two questions that are not alike stay two rows. */
const QUESTIONS: Record<string, string> = {
  'a wide screen': 'How long does a parcel to Peru take?',
  'a phone': 'Is there parking near your roastery?',
};

inBrowser('accessibility: axe finds no violations, light and dark,', (dashboard) => {
  const { createNotification } = apiOf(dashboard);
  before(() => prepare(dashboard));

  for (const [size, viewport] of Object.entries(SIZES)) {
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
