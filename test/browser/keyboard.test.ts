import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import { assertAccessible } from './axe.ts';
import { inBrowser } from './browser.ts';
import {
  answerField,
  becomes,
  focused,
  pathOf,
  pressAll,
  rowOf,
  shortcutsWork,
  turnOnShortcuts,
  waitUntilLive,
} from './page.ts';

const isTyping = (page: Page) => page.evaluate<boolean>("document.activeElement.matches('textarea')");
const selected = (page: Page) => page.getByRole('checkbox', { checked: true });

inBrowser('by keyboard', (shop) => {
  before(async () => {
    await shop.setUndoSeconds(0);
    const answered = await shop.ask('Do you grind the beans for a moka pot?');
    await shop.answer(answered, 'Yes. Choose “moka” at checkout.');
  });

  it('somebody signs in, opens a question, inserts a similar answer with a digit, and writes after Enter', async () => {
    const id = await shop.ask('Can you grind the beans for my moka pot?');
    const { page } = await shop.open({ user: 'nobody' });
    await page.getByLabel('Email').waitFor();
    await until('Tab leads to the form', async () => {
      await page.keyboard.press('Tab');
      return (await focused(page)) === 'email';
    });
    await page.keyboard.type(shop.owner.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(shop.owner.password);
    await page.keyboard.press('Enter');
    await rowOf(page, id).waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('j');
    // The hints are visible only while the keys work.
    const keyHint = page.locator('.suggestion .key-hint').first();
    await keyHint.waitFor();
    await page.keyboard.press('Enter');
    assert.equal(await isTyping(page), false);
    assert.ok(await keyHint.isVisible());
    await page.keyboard.press('Tab');
    assert.equal(await isTyping(page), true);
    await keyHint.waitFor({ state: 'hidden' });
    await turnOnShortcuts(page);
    await page.keyboard.press('Enter');
    await page.keyboard.press('1');
    await until('it is inserted', async () => /moka/i.test(await answerField(page).inputValue()));
    await answerField(page).fill('');

    await turnOnShortcuts(page);
    await page.keyboard.press('Enter');
    await page.keyboard.type('For a moka pot, yes.');
    assert.equal(await answerField(page).inputValue(), 'For a moka pot, yes.');
    await page.keyboard.press('Control+Enter');
    assert.equal((await shop.readAnswered(id)).answer.answer, 'For a moka pot, yes.');
  });
});

inBrowser('keyboard shortcuts', (shop) => {
  it('work only after a click outside a field or Escape', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ fresh: true });
    await rowOf(page, id).waitFor();
    await page.keyboard.press('j');
    assert.equal(pathOf(page), '/');
    await page.keyboard.press('Escape');
    await shortcutsWork(page);
    await page.keyboard.press('j');
    await page.waitForURL('**/inbox/*');
    await page.getByRole('searchbox').click();
    await page.locator('html:not([data-keys])').waitFor();
    await page.locator('.pane-customer').click();
    await shortcutsWork(page);
    await page.keyboard.press('x');
    await selected(page).first().waitFor();
    await page.keyboard.press('x');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
  });

  it('do nothing within a second of typing, even after Escape', async () => {
    const ids = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({ path: `/inbox/${ids[1]}` });
    await rowOf(page, ids[0]!).waitFor();
    await answerField(page).click();
    await pressAll(page, [
      { key: 'a' },
      { key: 'Escape', at: 100 },
      { key: 'j', at: 900 },
      { key: 'x', at: 950 },
    ]);
    assert.equal(pathOf(page), `/inbox/${ids[1]}`);
    assert.equal(await selected(page).count(), 0);
    await shortcutsWork(page);
    await pressAll(page, [{ key: 'x', at: 1000 }]);
    await selected(page).first().waitFor();
    await page.keyboard.press('x');
  });

  it('do nothing after the element with the focus has disappeared', async () => {
    const [other, id] = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open();
    await waitUntilLive(page);
    await rowOf(page, other).waitFor();
    await rowOf(page, id).click();
    await answerField(page).waitFor();
    await shortcutsWork(page);
    await shop.answer(id, { resolve_only: true });
    await rowOf(page, id).waitFor({ state: 'detached' });
    await page.keyboard.type('xe#');
    assert.equal(await page.locator('.toast').count(), 0);
    assert.equal(await selected(page).count(), 0);
    assert.equal((await shop.read(other)).status, 'requested');
  });

  it('are text while the command palette opens, however long that takes', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ fresh: true });
    await rowOf(page, id).click();
    await answerField(page).waitFor();
    const { promise: typed, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/assets/*.js', async (route) => {
      await typed;
      await route.continue();
    });
    const text = 'e#xjkt gk';
    await pressAll(page, [{ key: 'k', ctrl: true }, ...[...text].map((key) => ({ key }))]);
    release();
    const search = page.getByRole('combobox', { name: 'Type a command' });
    await becomes(() => search.inputValue(), text);
    assert.equal(pathOf(page), `/inbox/${id}`);
    assert.equal(await page.locator('.toast').count(), 0);
    await search.fill('overview');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/overview');
  });
});
