import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { apiOf, becomes, button, inBrowser, openSettings } from './browser.ts';

inBrowser('the settings of the shop', (dashboard) => {
  const { api } = apiOf(dashboard);
  const message = (page: Page) => page.getByLabel('What customers hear while they wait');
  const kept = (page: Page) => page.getByText('You changed this before and have not saved it yet.');
  const waitingMessage = async () => (await api('GET', '/api/v1/merchant')).json.waiting_message;

  it('keep what is not saved while I look at another page, and say so', async () => {
    const window = await dashboard.open({ path: '/settings/shop' });
    const { page } = window;
    await message(page).fill('I am asking the roaster.');
    await page.getByLabel('We have opening hours').click();
    await page.getByLabel('Monday: To').fill('14:00');
    assert.equal(await kept(page).count(), 0);
    await openSettings(page, 'Team');
    await page.getByLabel('Name').waitFor();
    await openSettings(page, 'Shop');
    await kept(page).waitFor();
    assert.equal(await message(page).inputValue(), 'I am asking the roaster.');
    assert.equal(await page.getByLabel('Monday: To').inputValue(), '14:00');
    assert.equal(await waitingMessage(), null);
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    await kept(page).waitFor({ state: 'detached' });
    assert.equal(await waitingMessage(), 'I am asking the roaster.');

    await message(page).fill('Never mind.');
    await page.locator('.nav a[href^="/overview"]').click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await openSettings(page, 'Shop');
    await kept(page).waitFor();
    await button(page, 'Discard my changes').click();
    await becomes(() => message(page).inputValue(), 'I am asking the roaster.');
    await openSettings(page, 'Team');
    await openSettings(page, 'Shop');
    await message(page).waitFor();
    assert.equal(await kept(page).count(), 0);
    await api('PATCH', '/api/v1/merchant', { waiting_message: null, opening_hours: null });
    await window.close();
  });

  it('forget at sign-out what is not saved, after asking', async () => {
    // What is under way at the sign-out may be refused, and the browser logs it.
    const window = await dashboard.open({ path: '/settings/shop', expectedErrors: /401/ });
    const { page } = window;
    await message(page).fill('Only a thought.');
    await page.locator('.settings-nav').getByRole('button', { name: 'Sign out' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('You have text that is not sent or saved yet.').waitFor();
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await window.signIn();
    await openSettings(page, 'Shop');
    await becomes(() => message(page).inputValue(), '');
    assert.equal(await kept(page).count(), 0);
    await window.close();
  });

  for (const [language, text] of [
    ['en', 'Monday: the opening time must be before the closing time.'],
    ['es', 'Lunes: la hora de apertura debe ser anterior a la de cierre.'],
    ['pt', 'Segunda-feira: a hora de abertura deve ser antes da de fechamento.'],
    ['ar', 'الاثنين: يجب أن يكون وقت الفتح قبل وقت الإغلاق.'],
  ] as const) {
    it(`say at the day itself which hours cannot be (${language})`, async () => {
      const window = await dashboard.open({ path: '/settings/shop', language, expectedErrors: /422/ });
      const { page } = window;
      await page.getByRole('switch').first().click();
      const monday = page.locator('fieldset.hours-row').first();
      await monday.locator('input').nth(1).fill('08:00');
      await page.locator('.settings button[type="submit"]').click();
      const notice = monday.getByRole('alert');
      assert.equal(await notice.textContent(), text);
      await becomes(
        () =>
          page.evaluate<boolean>(`{
          const { top, bottom } = document.querySelector('.hours-row [role="alert"]').getBoundingClientRect();
          top >= 0 && bottom <= innerHeight;
        }`),
        true,
      );
      assert.equal(await page.getByRole('alert').count(), 1);
      assert.equal(await monday.locator('[aria-invalid="true"]').count(), 2);
      // Gone as soon as it is right.
      await monday.locator('input').nth(1).fill('17:00');
      await notice.waitFor({ state: 'detached' });
      await window.close();
    });
  }

  it('say which hours overlap, and that quiet hours need an end', async () => {
    const window = await dashboard.open({ path: '/settings/shop', expectedErrors: /422/ });
    const { page } = window;
    await page.getByLabel('We have opening hours').click();
    const tuesday = page.getByRole('group', { name: 'Tuesday' });
    await tuesday.getByRole('button', { name: 'Add hours' }).click();
    await tuesday.getByLabel('Tuesday: From').nth(1).fill('12:00');
    await button(page, 'Save').click();
    await tuesday.getByRole('alert').getByText('Tuesday: the hours must follow one another').waitFor();
    await tuesday.getByRole('button', { name: 'Tuesday: Remove hours 2' }).click();
    await page.getByLabel('Quiet hours: From').fill('07:00');
    await button(page, 'Save').click();
    const quiet = page.getByRole('group', { name: 'Quiet hours' });
    await quiet.getByRole('alert').getByText('Quiet hours cannot begin and end at the same time.').waitFor();
    await page.getByLabel('Quiet hours: From').fill('22:00');
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    await api('PATCH', '/api/v1/merchant', { opening_hours: null, quiet_hours: null });
    await window.close();
  });

  for (const [width, height] of [
    [1400, 900],
    [390, 844],
  ] as const) {
    it(`show the hours of a day in one line, with their names, at ${width} pixels`, async () => {
      const window = await dashboard.open({ path: '/settings/shop', viewport: { width, height } });
      const { page } = window;
      await page.getByLabel('We have opening hours').click();
      const monday = page.getByRole('group', { name: 'Monday' });
      const remove = monday.getByRole('button', { name: 'Monday: Remove hours' });
      for (const name of ['From', 'To']) await monday.getByText(name, { exact: true }).waitFor();
      const bottoms = new Set<number>();
      for (const part of [monday.getByLabel('Monday: From'), monday.getByLabel('Monday: To'), remove]) {
        const { y, height: partHeight } = (await part.boundingBox())!;
        bottoms.add(Math.round(y + partHeight));
      }
      assert.equal(bottoms.size, 1, [...bottoms].join());
      await remove.click();
      await monday.getByText('Closed').waitFor();
      await window.close();
    });
  }

  it('write English texts from left to right on an Arabic page', async () => {
    const window = await dashboard.open({ path: '/settings/shop', language: 'ar' });
    const { page } = window;
    const field = 'textarea[maxlength="500"]';
    await page.locator(field).fill('One moment, I am asking.');
    const direction = await page.evaluate(`getComputedStyle(document.querySelector('${field}')).direction`);
    assert.equal(direction, 'ltr');
    await window.close();
  });
});
