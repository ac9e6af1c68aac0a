import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { answerField, apiOf, becomes, inBrowser, rowOf, shortcutsWork, waitUntilLive } from './browser.ts';

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

inBrowser('keyboard shortcuts', (dashboard) => {
  const { api, read, createNotification } = apiOf(dashboard);

  it('while I type an answer and somebody else answers, the rest of my sentence does nothing', async () => {
    const others = [await createNotification(), await createNotification()];
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await rowOf(page, others[0]!).waitFor();
    await answerField(page).click();
    await page.keyboard.type('We have');
    await api('POST', `/api/v1/notification/${id}/answer`, { answer: 'From a colleague.' });
    await page.getByText('From a colleague.').first().waitFor();
    await page.keyboard.type(' jex#kek # gk');
    assert.equal(pathOf(page), `/inbox/${id}`);
    assert.equal(await page.locator('.toast').filter({ hasText: 'Undo' }).count(), 0);
    for (const other of others) {
      assert.equal(await rowOf(page, other).count(), 1);
      assert.equal((await read(other)).status, 'requested');
    }
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    await window.close();
  });

  it('keys work only after a click outside a field or Escape', async () => {
    const id = await createNotification();
    const window = await dashboard.open();
    const { page } = window;
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
    await page.getByRole('checkbox', { checked: true }).first().waitFor();
    await window.close();
  });

  it('keys do nothing within a second of typing, even after Escape', async () => {
    const ids = [await createNotification(), await createNotification()];
    const window = await dashboard.open({ path: `/inbox/${ids[1]}` });
    const { page } = window;
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
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    await shortcutsWork(page);
    // Escape had a time 100 ms ahead, so the page shows so much too early that the keys work.
    await page.waitForTimeout(100);
    await page.keyboard.press('x');
    await page.getByRole('checkbox', { checked: true }).first().waitFor();
    await window.close();
  });

  it('keys do nothing after the element with the focus has disappeared', async () => {
    const other = await createNotification();
    const id = await createNotification();
    const window = await dashboard.open();
    const { page } = window;
    await waitUntilLive(page);
    await rowOf(page, other).waitFor();
    await rowOf(page, id).click();
    await answerField(page).waitFor();
    await shortcutsWork(page);
    await api('POST', `/api/v1/notification/${id}/answer`, { resolve_only: true });
    await rowOf(page, id).waitFor({ state: 'detached' });
    await page.keyboard.type('xe#');
    assert.equal(await page.locator('.toast').count(), 0);
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    await window.close();
  });

  it('what is typed while the command palette opens goes into it, however slow the machine, and never acts', async () => {
    const id = await createNotification();
    const window = await dashboard.open();
    const { page } = window;
    await rowOf(page, id).click();
    await answerField(page).waitFor();
    const devTools = await page.context().newCDPSession(page);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: 10 });
    let release = () => {};
    const typed = new Promise<void>((resolve) => {
      release = resolve;
    });
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
    await search.fill('overview');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/overview');
    await window.close();
  });

  it('keys work on every keyboard: by their letter, or by their place where the letter is not Latin', async () => {
    const ids = [await createNotification(), await createNotification(), await createNotification()];
    const window = await dashboard.open();
    const { page } = window;
    const devTools = await page.context().newCDPSession(page);
    const newest = () => page.waitForURL(`**/inbox/${ids[2]}`);
    const second = () => page.waitForURL(`**/inbox/${ids[1]}`);
    await rowOf(page, ids[2]!).click();
    await newest();
    await shortcutsWork(page);
    // Russian: j and k.
    await pressAll(devTools, [{ key: 'о', code: 'KeyJ' }]);
    await second();
    await pressAll(devTools, [{ key: 'л', code: 'KeyK' }]);
    await newest();
    // Arabic: j and k.
    await pressAll(devTools, [{ key: 'ت', code: 'KeyJ' }]);
    await second();
    await pressAll(devTools, [{ key: 'ن', code: 'KeyK' }]);
    await newest();
    // Dvorak has j where a US keyboard has c. Its t is where k is, and must not move back.
    await pressAll(devTools, [{ key: 'j', code: 'KeyC' }]);
    await second();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // The palette opens with a Cyrillic K too, and help with the question mark of an Arabic keyboard.
    await pressAll(devTools, [{ key: 'л', code: 'KeyK', ctrl: true }]);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await shortcutsWork(page);
    await pressAll(devTools, [{ key: '؟', code: 'Slash', shift: true }]);
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await window.close();
  });
});
