import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page, Request, Route } from 'playwright-core';
import { QUESTION } from '../support/server.ts';
import { until } from '../support/shops.ts';
import { answerField, apiOf, becomes, button, inBrowser, rowOf } from './browser.ts';

const summary = (page: Page) => page.locator('.notes summary');
const field = (page: Page) => page.getByRole('textbox', { name: 'New note' });
const add = (page: Page) => button(page, 'Add note').click();
const keyOf = (request: Request) => request.headers()['idempotency-key']!;
/** So different that none are in one row. */
const QUESTIONS = [
  'Is there parking near the shop?',
  'Who roasts for you?',
  'Can I bring my dog?',
  'When is the next tasting?',
  'Do you sell gift cards?',
];
const REFUSAL = { status: 409, json: { detail: 'Not now.', code: 'CONFLICT' } };

inBrowser('an internal note', (dashboard) => {
  const { api, createNotification } = apiOf(dashboard);
  const ask = () => createNotification({ ...QUESTION, context: { question: QUESTIONS.pop()! } });
  const storedTexts = async (id: string) =>
    (await api('GET', `/api/v1/notification/${id}/notes`)).json.notes.map(
      (note: { text: string }) => note.text,
    );

  it('keeps its text when it is folded, when another question is opened, and after a reload', async () => {
    const [id, other] = [await ask(), await ask()];
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
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
    await window.close();
  });

  it('cannot be changed while it is saved, and is added once if the response is lost', async () => {
    const [id, other] = [await ask(), await ask()];
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /ERR_FAILED/ });
    const { page } = window;
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
    await window.close();
  });

  it('is tried again with another key after a refusal, which the server would repeat', async () => {
    const id = await ask();
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /409/ });
    const { page } = window;
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
    await window.close();
  });
});

inBrowser('an answer that was refused', (dashboard) => {
  const { createNotification, readAnswered } = apiOf(dashboard);

  it('is sent again with another key, and with the same one if only the response was lost', async () => {
    const question = 'Do you repair grinders?';
    const id = await createNotification({ ...QUESTION, context: { question } });
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /409|ERR_FAILED/ });
    const { page } = window;
    const keys: string[] = [];
    await page.route('**/answer', (route) => {
      keys.push(keyOf(route.request()));
      if (keys.length === 1) return route.fulfill(REFUSAL);
      return keys.length === 2 ? route.abort() : route.continue();
    });
    await answerField(page).fill('Yes, on Monday.');
    for (const attempts of [1, 2]) {
      await button(page, 'Send answer').click();
      // The earlier failure is gone before the request is sent.
      await until('it is sent', async () => keys.length === attempts);
      await page.getByRole('alert').waitFor();
    }
    await button(page, 'Send answer').click();
    assert.equal((await readAnswered(id)).answer.answer, 'Yes, on Monday.');
    assert.notEqual(keys[0], keys[1]);
    assert.equal(keys[1], keys[2]);
    await window.close();
  });
});
