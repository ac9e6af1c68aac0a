import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { QUESTION, SUPPORT } from '../support/server.ts';
import { until } from '../support/shops.ts';
import {
  answerField,
  apiOf,
  becomes,
  button,
  focused,
  inBrowser,
  isInSight,
  rowOf,
  sentAnswer,
  turnOnShortcuts,
  waitUntilLive,
} from './browser.ts';

const isTyping = (page: Page) => page.evaluate<boolean>("document.activeElement.matches('textarea')");

inBrowser('the inbox', (dashboard) => {
  const { api, read, readAnswered, createNotification, setUndoSeconds } = apiOf(dashboard);
  before(() => setUndoSeconds(0));

  it('a new question appears in two windows without a reload, and disappears from both when it is answered', async () => {
    const windows = await Promise.all([dashboard.open(), dashboard.open()]);
    await Promise.all(windows.map(({ page }) => waitUntilLive(page)));
    const id = await createNotification();
    await Promise.all(windows.map(({ page }) => rowOf(page, id).waitFor()));
    await api('POST', `/api/v1/notification/${id}/answer`, { resolve_only: true });
    await Promise.all(windows.map(({ page }) => rowOf(page, id).waitFor({ state: 'detached' })));
    for (const window of windows) await window.close();
  });

  it('answering a question sends the answer to the customer and teaches it to the assistant', async () => {
    const id = await createNotification({
      ...QUESTION,
      context: { question: 'Do you have chicory coffee?' },
    });
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await answerField(page).fill('Yes, roasted in León.');
    await button(page, 'Send answer').click();
    await readAnswered(id);
    await page.goto(`/inbox/${id}`);
    await sentAnswer(page).waitFor();
    await page.getByText('Delivered').first().waitFor();
    assert.deepEqual((await read(id)).answer.answer, 'Yes, roasted in León.');
    const [document] = (await api('GET', '/api/v1/knowledge/?q=chicory')).json;
    assert.equal(document.body, 'Yes, roasted in León.');
    await window.close();
  });

  it('an answer from which the assistant learns nothing is sent as any other', async () => {
    const id = await createNotification({
      ...QUESTION,
      context: { question: 'Is there parking at the roastery?' },
    });
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await answerField(page).fill('Right behind it.');
    await page.getByRole('combobox', { name: 'The assistant learns' }).selectOption({ label: 'Nothing' });
    await button(page, 'Send answer').click();
    const { delivery } = await readAnswered(id);
    assert.equal((await api('GET', `/api/v1/delivery/${delivery.id}`)).json.mode, 'reply');
    assert.deepEqual((await api('GET', '/api/v1/knowledge/?q=parking')).json, []);
    await window.close();
  });

  it('a cancelled message is shown as cancelled, without ticks and without more polling', async () => {
    const id = await createNotification();
    await api('POST', `/api/v1/notification/${id}/answer`, { answer: 'Yes.' });
    await dashboard.deskbell.allSent();
    const { delivery } = await read(id);
    const window = await dashboard.open();
    const { page } = window;
    await window.installClock();
    let requests = 0;
    await page.route(`**/api/v1/delivery/${delivery.id}`, async (route) => {
      requests += 1;
      const response = await route.fetch();
      const body = await response.json();
      const at = new Date().toISOString();
      const timeline = [...body.timeline, { at, state: 'cancelled', note: null, code: null }];
      await route.fulfill({ response, json: { ...body, state: 'cancelled', timeline } });
    });
    await page.goto(`/inbox/${id}`);
    const lastStep = page.locator('.steps li').last();
    await lastStep.getByText('Cancelled').waitFor();
    assert.equal(await lastStep.locator('.ticks').count(), 0);
    assert.equal(await button(page, 'Send again').count(), 0);
    // A new connection loads everything again, a moment after it is shown as live.
    await waitUntilLive(page);
    await page.clock.runFor(1000);
    // What the page has asked for before this is counted.
    const countAll = () => page.evaluate(`fetch('/healthz').then((response) => response.text())`);
    await countAll();
    const requestsBefore = requests;
    await page.clock.fastForward(10_000);
    await countAll();
    assert.equal(requests, requestsBefore);
    await window.close();
  });

  it('a support request takes a reply and notes, and only the reply is sent', async () => {
    const id = await createNotification(SUPPORT);
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    const notes = page.getByRole('textbox', { name: 'Private notes' });
    await answerField(page).fill('A new one leaves today.');
    await button(page, 'Send reply').click();
    await page.getByText('Please write a note.').waitFor();
    await page.setViewportSize({ width: 390, height: 700 });
    await answerField(page).click();
    await button(page, 'Send reply').click();
    await becomes(() => focused(page), 'resolution_notes');
    await becomes(() => isInSight(notes), true);
    await notes.fill('Ask the carrier.');
    await button(page, 'Send reply').click();
    const { answer, delivery } = await readAnswered(id);
    assert.equal(answer.resolution_notes, 'Ask the carrier.');
    assert.equal(
      (await api('GET', `/api/v1/delivery/${delivery.id}`)).json.content,
      'A new one leaves today.',
    );
    await window.close();
  });

  it('a long question is shortened so that the answer field stays visible, and can be expanded', async () => {
    const id = await createNotification({
      ...QUESTION,
      context: { question: 'Are the beans from León? '.repeat(160) },
    });
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    const fieldTop = async () => (await answerField(page).boundingBox())!.y;
    await button(page, 'Show all').waitFor();
    await until('the field is in sight', async () => (await fieldTop()) < 800);
    await button(page, 'Show all').click();
    await button(page, 'Show less').waitFor();
    // The conversation scrolls by itself.
    await until('the field is in sight', async () => (await fieldTop()) < 800);
    await button(page, 'Show less').press('Enter');
    await button(page, 'Show all').waitFor();
    await becomes(() => focused(page), 'Show all');
    await until('the field is in sight', async () => (await fieldTop()) < 800);
    await window.close();
  });

  it('a single key inserts a similar answer', async () => {
    const id = await createNotification({
      ...QUESTION,
      context: { question: 'Do you grind the beans for a moka pot?' },
    });
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await page.locator('.suggestion').first().waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('1');
    await until('it is inserted', async () => /moka/i.test(await answerField(page).inputValue()));
    await window.close();
  });

  it('key hints are visible only while the keys work: after Enter a digit inserts an answer, after Tab it is text', async () => {
    const id = await createNotification({
      ...QUESTION,
      context: { question: 'Can you grind the beans for my moka pot?' },
    });
    const window = await dashboard.open();
    const { page } = window;
    await rowOf(page, id).waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('j');
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
    await until('it is inserted', async () => /moka/i.test(await answerField(page).inputValue()));
    await window.close();
  });

  it('typing after Enter writes into the answer field and triggers no shortcuts', async () => {
    const context = { question: 'Do you grind the beans for a moka pot, too?' };
    const id = await createNotification({ ...QUESTION, context });
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await page.locator('.suggestion').first().waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('Enter');
    await page.keyboard.type('Yes, we do.');
    assert.equal(await answerField(page).inputValue(), 'Yes, we do.');
    await page.keyboard.press('Control+Enter');
    assert.equal((await readAnswered(id)).answer.answer, 'Yes, we do.');
    await window.close();
  });

  it('shortcuts act on the open notification, even if it was opened by a button', async () => {
    const id = await createNotification();
    const window = await dashboard.open();
    const { page } = window;
    await rowOf(page, id).click();
    await page.keyboard.press('e');
    await button(page, 'Next pending').click();
    await page.locator('[data-answer]').waitFor();
    const { pathname } = new URL(page.url());
    assert.notEqual(pathname, `/inbox/${id}`);
    await page.keyboard.press('Enter');
    await page.keyboard.type('Yes.');
    assert.equal(await answerField(page).inputValue(), 'Yes.');
    assert.equal(new URL(page.url()).pathname, pathname);
    await window.close();
  });

  it('Enter focuses the answer field directly if there are no similar answers', async () => {
    const id = await createNotification({ ...QUESTION, context: { question: 'Xylophones?' } });
    await createNotification();
    // Opened by its URL: Enter must act on this one, not on the first of the list.
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await page.getByText('No similar answers yet.').waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('Enter');
    await page.keyboard.type('Sadly not.');
    assert.equal(await answerField(page).inputValue(), 'Sadly not.');
    await window.close();
  });

  it('if someone else answers first, the user sees that answer and keeps their own text', async () => {
    const id = await createNotification();
    // The server rejects the second answer, and the browser logs the failed request.
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /status of 500/ });
    const { page } = window;
    await answerField(page).fill('My own words.');
    // Another user's answer arrives before this one.
    await page.route('**/answer', async (route) => {
      await api('POST', `/api/v1/notification/${id}/answer`, { answer: 'The first answer.' });
      await route.continue();
    });
    await button(page, 'Send answer').click();
    await page.getByRole('alert').getByText('The first answer.').waitFor();
    await page.getByText('Your text was not sent.').waitFor();
    assert.equal(await answerField(page).inputValue(), 'My own words.');
    assert.equal(await answerField(page).getAttribute('readonly'), '');
    await button(page, 'Discard my text').click();
    await sentAnswer(page).waitFor();
    await window.close();
  });

  it('an unknown notification is reported as not found, and an empty list does not ask to select one', async () => {
    const window = await dashboard.open({ path: '/inbox/999999', expectedErrors: /status of 404/ });
    const { page } = window;
    await page.getByText('It was deleted, or it never existed.').waitFor();
    await page.goto('/');
    await page.getByText('Select a notification').waitFor();
    await page.getByRole('searchbox').fill('nobody asks this');
    await page.getByText('No results for').waitFor();
    assert.equal(await page.getByText('Select a notification').count(), 0);
    await window.close();
  });

  it('nothing is selected any more in another list, or after another page', async () => {
    const id = await createNotification({ ...QUESTION, context: { question: 'Can I bring my dog?' } });
    const window = await dashboard.open();
    const { page } = window;
    const box = page.locator(`#select-${id}`);
    const bar = page.locator('.bulk');
    const run = async (command: string) => {
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('option', { name: command }).click();
    };
    await box.check({ force: true });
    await bar.waitFor();
    await page.locator('.nav a[href^="/knowledge"]').click();
    await page.getByRole('heading', { name: 'Knowledge' }).waitFor({ state: 'attached' });
    await run('Inbox: Resolved');
    await page.locator('.filters').waitFor();
    assert.equal(await bar.count(), 0);

    await run('Inbox: Open');
    await box.check({ force: true });
    await bar.waitFor();
    await run('Inbox: Resolved');
    await bar.waitFor({ state: 'detached' });
    await page.goBack();
    await rowOf(page, id).waitFor();
    assert.equal(await box.isChecked(), false);
    await window.close();
  });

  it('the delete command is last in the command palette, so a quick Enter does not delete', async () => {
    const window = await dashboard.open({ path: '/inbox/1' });
    const { page } = window;
    await page.locator('.sent-answer').waitFor();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog');
    const commands = palette.getByRole('option');
    await commands.first().waitFor();
    assert.equal(await commands.last().textContent(), 'Delete');
    assert.notEqual(await palette.getByRole('option', { selected: true }).textContent(), 'Delete');
    await page.keyboard.press('Escape');
    await window.close();
  });

  it('shows that it is offline, and loads what it missed when the network is back', async () => {
    const window = await dashboard.open({
      expectedErrors: /ERR_INTERNET_DISCONNECTED|Failed to fetch|network/i,
    });
    const { page } = window;
    await waitUntilLive(page);
    await page.context().setOffline(true);
    await page.locator('.connection[data-state="offline"]').waitFor();
    const id = await createNotification();
    const resumed = page.waitForRequest('**/api/v1/events');
    await page.context().setOffline(false);
    assert.match((await resumed).headers()['last-event-id'] ?? '', /^\d+$/);
    await rowOf(page, id).waitFor();
    await waitUntilLive(page);
    await window.close();
  });

  it('seven tabs of one user all get live updates, and still do after the first one is closed', async () => {
    const window = await dashboard.open();
    const tabs = await Promise.all(Array.from({ length: 6 }, () => window.tab()));
    await Promise.all([window.page, ...tabs].map(waitUntilLive));
    const first = await createNotification();
    await Promise.all([window.page, ...tabs].map((page) => rowOf(page, first).waitFor()));
    await window.page.close();
    const second = await createNotification();
    await Promise.all(tabs.map((page) => rowOf(page, second).waitFor()));
    await window.close();
  });

  it('a question on the test phone that the assistant cannot answer appears in the inbox at once', async () => {
    const window = await dashboard.open();
    const { page } = window;
    await waitUntilLive(page);
    const testPhone = await window.tab('/test-phone/2');
    await testPhone.getByRole('textbox').fill('Do you repair espresso machines?');
    await testPhone.keyboard.press('Enter');
    await testPhone.getByText('ask a colleague').waitFor();
    await page.getByText('Do you repair espresso machines?').first().waitFor();
    await window.close();
  });

  it('signing in and answering works with the keyboard alone', async () => {
    const id = await createNotification({ ...QUESTION, context: { question: 'Only by keyboard?' } });
    const window = await dashboard.open({ user: 'nobody' });
    const { page } = window;
    await page.getByLabel('Email').waitFor();
    for (let presses = 0; presses < 5; presses += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate("document.activeElement?.getAttribute('name') === 'email'")) break;
    }
    await page.keyboard.type('owner@aurora.example');
    await page.keyboard.press('Tab');
    await page.keyboard.type('aurora-demo');
    await page.keyboard.press('Enter');
    await rowOf(page, id).waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('j');
    await page.getByText('Only by keyboard?').first().waitFor();
    await answerField(page).waitFor();
    await page.keyboard.press('r');
    await page.keyboard.type('Yes, all of it.');
    await page.keyboard.press('Control+Enter');
    assert.equal((await readAnswered(id)).answer.answer, 'Yes, all of it.');
    await window.close();
  });
});
