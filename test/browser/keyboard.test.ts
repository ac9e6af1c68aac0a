import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import {
  answerField,
  becomes,
  button,
  goTo,
  inBrowser,
  rowOf,
  shortcutsWork,
  turnOnShortcuts,
  waitUntilLive,
} from './browser.ts';

interface Press {
  key: string;
  /** Its place on the keyboard. */
  code?: string;
  ctrl?: boolean;
  shift?: boolean;
  /** Milliseconds after the first one. */
  at?: number;
}

const CTRL = 2;
const SHIFT = 8;

/** Presses keys without waiting for the page in between, as somebody who types fast on a slow machine. */
async function pressAll(devTools: CDPSession, presses: readonly Press[]): Promise<void> {
  const startedAt = Date.now();
  await Promise.all(
    presses.flatMap(({ key, code = codeOf(key), ctrl, shift, at = 0 }) => {
      const text = key.length === 1 && !ctrl ? { text: key } : {};
      const modifiers = (ctrl ? CTRL : 0) | (shift ? SHIFT : 0);
      const press = { key, code, modifiers, timestamp: (startedAt + at) / 1000 };
      return [
        devTools.send('Input.dispatchKeyEvent', { type: 'keyDown', ...press, ...text }),
        devTools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...press }),
      ];
    }),
  );
}

const codeOf = (key: string) => (/^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : key);
const pathOf = (page: Page) => new URL(page.url()).pathname;
const isTyping = (page: Page) => page.evaluate<boolean>("document.activeElement.matches('textarea')");
const selected = (page: Page) => page.getByRole('checkbox', { checked: true });
const hasMoka = (page: Page) => async () => /moka/i.test(await answerField(page).inputValue());

inBrowser('by keyboard', (shop) => {
  before(async () => {
    await shop.setUndoSeconds(0);
    await shop.answer(
      await shop.ask('Do you grind the beans for a moka pot?'),
      'Yes. Choose “moka” at checkout.',
    );
  });

  it('somebody signs in, opens a question and answers it', async () => {
    const id = await shop.ask('Only by keyboard?');
    const { page } = await shop.open({ user: 'nobody' });
    await page.getByLabel('Email').waitFor();
    for (let presses = 0; presses < 5; presses += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate("document.activeElement?.getAttribute('name') === 'email'")) break;
    }
    await page.keyboard.type(shop.merchant.owner.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(shop.merchant.owner.password);
    await page.keyboard.press('Enter');
    await rowOf(page, id).waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('j');
    await page.getByText('Only by keyboard?').first().waitFor();
    await answerField(page).waitFor();
    await page.keyboard.press('r');
    await page.keyboard.type('Yes, all of it.');
    await page.keyboard.press('Control+Enter');
    assert.equal((await shop.readAnswered(id)).answer.answer, 'Yes, all of it.');
  });

  it('somebody inserts a similar answer with a digit, which is text after Tab, and writes after Enter', async () => {
    const id = await shop.ask('Can you grind the beans for my moka pot?');
    const { page } = await shop.open({ fresh: true });
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
    await page.getByText('Ctrl ↵').waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('Enter');
    await page.keyboard.press('1');
    await until('it is inserted', hasMoka(page));
    await answerField(page).fill('');

    await turnOnShortcuts(page);
    await page.keyboard.press('Enter');
    await page.keyboard.type('For a moka pot, yes.');
    assert.equal(await answerField(page).inputValue(), 'For a moka pot, yes.');
    await page.keyboard.press('Control+Enter');
    assert.equal((await shop.readAnswered(id)).answer.answer, 'For a moka pot, yes.');
  });

  it('somebody acts on the question that is open, also if a button or its address opened it', async () => {
    const [id, next] = [await shop.ask('Xylophones?'), await shop.ask('Do you grind for a moka pot, too?')];
    const { page } = await shop.open({ fresh: true });
    await rowOf(page, next).click();
    await page.keyboard.press('e');
    await button(page, 'Next pending').click();
    await page.locator('[data-answer]').waitFor();
    assert.equal(pathOf(page), `/inbox/${id}`);
    // There are no similar answers: the field has the focus at once.
    await page.getByText('No similar answers yet.').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type('Yes.');
    assert.equal(await answerField(page).inputValue(), 'Yes.');
    assert.equal(pathOf(page), `/inbox/${id}`);

    const later = await shop.ask('Can you grind for a moka pot today?');
    await goTo(page, `/inbox/${later}`);
    await page.locator('.suggestion').first().waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('1');
    await until('it is inserted', hasMoka(page));
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
  });

  it('do nothing within a second of typing, even after Escape', async () => {
    const ids = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({ path: `/inbox/${ids[1]}` });
    const devTools = await page.context().newCDPSession(page);
    await rowOf(page, ids[0]!).waitFor();
    await answerField(page).click();
    await pressAll(devTools, [
      { key: 'a' },
      { key: 'Escape', at: 100 },
      { key: 'j', at: 900 },
      { key: 'x', at: 950 },
    ]);
    assert.equal(pathOf(page), `/inbox/${ids[1]}`);
    assert.equal(await selected(page).count(), 0);
    await shortcutsWork(page);
    // Escape had a time 100 ms ahead, so the page shows so much too early that the keys work.
    await page.waitForTimeout(100);
    await page.keyboard.press('x');
    await selected(page).first().waitFor();
    await page.keyboard.press('x');
    await devTools.detach();
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

  it('are text while the command palette opens, however slow the machine', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ fresh: true });
    await rowOf(page, id).click();
    await answerField(page).waitFor();
    const devTools = await page.context().newCDPSession(page);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    const { promise: typed, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/assets/*.js', async (route) => {
      await typed;
      await route.continue();
    });
    const text = 'e#xjkt gk';
    await pressAll(devTools, [
      { key: 'k', ctrl: true },
      ...[...text].map((key) => ({ key, code: key === '#' ? 'Digit3' : codeOf(key) })),
    ]);
    release();
    const search = page.getByRole('combobox', { name: 'Type a command' });
    await becomes(() => search.inputValue(), text);
    assert.equal(pathOf(page), `/inbox/${id}`);
    assert.equal(await page.locator('.toast').count(), 0);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: 1 });
    await devTools.detach();
    await search.fill('overview');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/overview');
  });

  // Which key is which letter is in test/dashboard/keys.test.ts.
  it('are the letters of a Latin keyboard, and their places on others', async () => {
    const { page } = await shop.open({ path: `/inbox/${await shop.ask()}` });
    const devTools = await page.context().newCDPSession(page);
    await answerField(page).waitFor();
    await pressAll(devTools, [{ key: 'л', code: 'KeyK', ctrl: true }]);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await shortcutsWork(page);
    await pressAll(devTools, [{ key: '؟', code: 'Slash', shift: true }]);
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await devTools.detach();
  });
});
