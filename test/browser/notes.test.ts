import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { inBrowser } from './browser.ts';
import { becomes, button, rowOf } from './page.ts';

const summary = (page: Page) => page.locator('.notes summary');
const field = (page: Page) => page.getByRole('textbox', { name: 'New note' });
const add = (page: Page) => button(page, 'Add note').click();

inBrowser('an internal note', (shop) => {
  it('keeps its text when it is folded, when another question is opened, and after a reload', async () => {
    const [id, other] = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({ path: `/inbox/${id}` });
    const text = 'Ask Bruno about the beans.';
    await summary(page).click();
    await field(page).fill(text);
    await summary(page).click();
    await field(page).waitFor({ state: 'detached' });
    await summary(page).click();
    assert.equal(await field(page).inputValue(), text);
    await rowOf(page, other).click();
    await field(page).waitFor({ state: 'detached' });
    await rowOf(page, id).click();
    assert.equal(await field(page).inputValue(), text);
    await page.reload();
    assert.equal(await field(page).inputValue(), text);
    await add(page);
    await page.locator('.note-text', { hasText: text }).waitFor();
    // It may be in the list before the response is here.
    await becomes(() => field(page).inputValue(), '');
  });

  it('is added once: with another key after a refusal, with the same if the response is lost', async () => {
    const [id, other] = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({ path: `/inbox/${id}`, expectedErrors: /409|ERR_FAILED/ });
    const text = 'She is a regular.';
    const keys: string[] = [];
    const [stored, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/notes', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.push(route.request().headers()['idempotency-key']!);
      if (keys.length === 1)
        return route.fulfill({ status: 409, json: { detail: 'Not now.', code: 'CONFLICT' } });
      if (keys.length === 3) return route.continue();
      await route.fetch();
      stored.resolve();
      await lost.promise;
      return route.abort();
    });
    await summary(page).click();
    await field(page).fill(text);
    await add(page);
    await page.locator('.note-form').getByRole('alert').waitFor();
    assert.equal(await field(page).inputValue(), text);
    await add(page);
    await stored.promise;
    // It cannot be changed while it is saved.
    await rowOf(page, other).click();
    await field(page).waitFor({ state: 'detached' });
    await rowOf(page, id).click();
    assert.equal(await field(page).inputValue(), text);
    assert.equal(await field(page).isEditable(), false);
    lost.resolve();
    await becomes(() => field(page).isEditable(), true);
    assert.equal(await field(page).inputValue(), text);
    await add(page);
    await becomes(() => field(page).inputValue(), '');
    assert.notEqual(keys[0], keys[1]);
    assert.equal(keys[1], keys[2]);
    const { notes } = (await shop.get(`/notification/${id}/notes`)).json;
    assert.deepEqual(
      notes.map((note: { text: string }) => note.text),
      [text],
    );
  });
});
