import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page, Request, Route } from 'playwright-core';
import { becomes, button, inBrowser, rowOf } from './browser.ts';

const summary = (page: Page) => page.locator('.notes summary');
const field = (page: Page) => page.getByRole('textbox', { name: 'New note' });
const add = (page: Page) => button(page, 'Add note').click();
const keyOf = (request: Request) => request.headers()['idempotency-key']!;
const REFUSAL = { status: 409, json: { detail: 'Not now.', code: 'CONFLICT' } };

inBrowser('an internal note', (shop) => {
  const storedTexts = async (id: string) =>
    (await shop.api('GET', `/api/v1/notification/${id}/notes`)).json.notes.map(
      (note: { text: string }) => note.text,
    );

  it('keeps its text when it is folded, when another question is opened, and after a reload', async () => {
    const [id, other] = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({ path: `/inbox/${id}` });
    await summary(page).click();
    await field(page).fill('Ask Bruno about the beans.');
    await summary(page).click();
    await field(page).waitFor({ state: 'detached' });
    await summary(page).click();
    assert.equal(await field(page).inputValue(), 'Ask Bruno about the beans.');
    await rowOf(page, other).click();
    await field(page).waitFor({ state: 'detached' });
    await rowOf(page, id).click();
    assert.equal(await field(page).inputValue(), 'Ask Bruno about the beans.');
    await page.reload();
    assert.equal(await field(page).inputValue(), 'Ask Bruno about the beans.');
    await add(page);
    await page.locator('.note-text', { hasText: 'Ask Bruno about the beans.' }).waitFor();
    // It may be in the list before the response is here.
    await becomes(() => field(page).inputValue(), '');
    await page.reload();
    await field(page).waitFor();
    assert.equal(await field(page).inputValue(), '');
  });

  it('cannot be changed while it is saved, and is added once if the response is lost', async () => {
    const [id, other] = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({ path: `/inbox/${id}`, expectedErrors: /ERR_FAILED/ });
    const keys: string[] = [];
    const lost = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    await page.route('**/notes', async (route: Route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.push(keyOf(route.request()));
      if (keys.length > 1) return route.continue();
      await route.fetch();
      stored.resolve();
      await lost.promise;
      return route.abort();
    });
    await summary(page).click();
    await field(page).fill('She is a regular.');
    await add(page);
    await stored.promise;
    assert.equal(await field(page).isEditable(), false);
    await rowOf(page, other).click();
    await field(page).waitFor({ state: 'detached' });
    await rowOf(page, id).click();
    assert.equal(await field(page).inputValue(), 'She is a regular.');
    assert.equal(await field(page).isEditable(), false);
    lost.resolve();
    await page.locator('textarea[name=note]:not([readonly])').waitFor();
    assert.equal(await field(page).inputValue(), 'She is a regular.');
    await add(page);
    // The first request has stored it: it may be in the list before the second one.
    await page.locator('.note-text', { hasText: 'She is a regular.' }).waitFor();
    await becomes(() => field(page).inputValue(), '');
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    assert.deepEqual(await storedTexts(id), ['She is a regular.']);
  });

  it('is tried again with another key after a refusal, which the server would repeat', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ path: `/inbox/${id}`, expectedErrors: /409/ });
    const keys: string[] = [];
    await page.route('**/notes', (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.push(keyOf(route.request()));
      return keys.length > 1 ? route.continue() : route.fulfill(REFUSAL);
    });
    await summary(page).click();
    await field(page).fill('Pays in cash.');
    await add(page);
    await page.locator('.note-form').getByRole('alert').waitFor();
    assert.equal(await field(page).inputValue(), 'Pays in cash.');
    await add(page);
    await page.locator('.note-text', { hasText: 'Pays in cash.' }).waitFor();
    assert.equal(new Set(keys).size, 2);
  });
});
