import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import { inBrowser, inBrowserOn, MOVED_CLOCK, type Shop, stopClock } from './browser.ts';
import {
  answerField,
  becomes,
  button,
  changesOf,
  focused,
  goTo,
  holdResponse,
  openSettings,
  pathOf,
  rowOf,
  select,
  sentAnswer,
  sentToast,
  waitUntilLive,
} from './page.ts';

const LOST = /ERR_FAILED|Failed to fetch|409/;
const title = (page: Page) => page.getByRole('textbox', { name: 'Title' });
const statusOf = async (shop: Shop, id: number) => (await shop.read(id)).status;

inBrowserOn(MOVED_CLOCK, 'sending an answer', (shop) => {
  const release = stopClock(shop, 60);

  it('moves on to the next question, and Undo opens it again with its text and choices; nothing was sent', async () => {
    const next = await shop.ask('Is the roastery open to visitors?');
    const id = await shop.ask('Where does your swiss water coffee come from?');
    const { page } = await shop.open({ path: `/inbox/${id}` });
    await waitUntilLive(page);
    await rowOf(page, next).waitFor();
    await title(page).fill('Decaf');
    await answerField(page).fill('From Colombia.');
    await page.keyboard.press('Control+Enter');
    await page.waitForURL(`**/inbox/${next}`);
    await sentToast(page).waitFor();
    // What is typed now was meant for the question before: it writes nothing and does nothing.
    await page.locator('h2:focus').waitFor();
    await page.keyboard.type(' See you. xe#');
    assert.equal(await answerField(page).inputValue(), '');
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    assert.equal(await statusOf(shop, next), 'requested');
    const held = await shop.read(id);
    assert.deepEqual([held.status, held.answer.answer, held.delivery], ['answered', 'From Colombia.', null]);

    await button(page, 'Undo').click();
    await page.waitForURL(`**/inbox/${id}`);
    await becomes(() => answerField(page).inputValue(), 'From Colombia.');
    await becomes(() => title(page).inputValue(), 'Decaf');
    assert.equal(await statusOf(shop, id), 'requested');
    await sentToast(page).waitFor({ state: 'detached' });
    // What I type then goes on with the text, and is no shortcut.
    await becomes(() => focused(page), 'answer');
    await page.keyboard.type(' By ship, jex.');
    await becomes(() => answerField(page).inputValue(), 'From Colombia. By ship, jex.');
    for (const one of [next, id]) assert.equal(await statusOf(shop, one), 'requested');

    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await release(id);
    const { delivery, lesson, answer } = await shop.read(id);
    assert.notEqual(delivery, null);
    assert.deepEqual([lesson.do, answer.answer], ['new', 'From Colombia. By ship, jex.']);
    // Too late to undo: it says so, and shows what was sent.
    await button(page, 'Undo').click();
    await page.getByText('Too late to undo: the message is already on its way.').first().waitFor();
    await page.waitForURL(`**/inbox/${id}`);
    await sentAnswer(page).waitFor();
    assert.equal(await statusOf(shop, id), 'answered');
  });

  it('does nothing to the next question if I click twice', async () => {
    const [next, id] = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({ path: `/inbox/${id}`, fresh: true });
    await rowOf(page, next).waitFor();
    await answerField(page).fill('Two of them.');
    // The second click, as soon as the next question is there: 700 ms later, however long the machine takes for it.
    await page.evaluate(`{
      let now = performance.now();
      performance.now = () => now;
      new MutationObserver((_, observer) => {
        const buttons = [...document.querySelectorAll('button')];
        const resolve = buttons.find(({ textContent }) => textContent.startsWith('Resolve without'));
        if (!location.pathname.endsWith('/${next}') || !resolve) return;
        observer.disconnect();
        now += 700;
        resolve.click();
        document.body.dataset.clicked = true;
      }).observe(document.body, { subtree: true, childList: true });
    }`);
    await answerField(page).press('Control+Enter');
    await page.locator('[data-clicked]').waitFor();
    await sentToast(page).waitFor();
    assert.equal(await statusOf(shop, next), 'requested');
    assert.equal(await page.locator('.toast').count(), 1);
  });

  it('can be undone after a reload, and by a colleague, who gets the text; the tab can be closed', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ path: `/inbox/${id}`, fresh: true });
    await answerField(page).fill('At nine.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await page.goto(`/inbox/${id}`);
    await page.getByText(/^Will be sent in \d+\ss$/).waitFor();
    await button(page, 'Undo').click();
    await becomes(() => answerField(page).inputValue(), 'At nine.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();

    const other = await shop.open({ path: `/inbox/${id}`, user: await shop.colleague() });
    await other.page.getByText('At nine.').waitFor();
    await button(other.page, 'Undo').click();
    await becomes(() => answerField(other.page).inputValue(), 'At nine.');
    assert.equal(await statusOf(shop, id), 'requested');
    // Nobody else waits: it stays where it is.
    await goTo(other.page, `/inbox/${id}?q=nobody-asks-this`);
    await button(other.page, 'Send answer').click();
    await sentAnswer(other.page).waitFor();
    assert.equal(pathOf(other.page), `/inbox/${id}`);
    await other.page.goto('/healthz');
    assert.equal((await shop.read(id)).delivery, null);
    await release(id);
    assert.notEqual((await shop.read(id)).delivery, null);
  });

  it('keeps the text if it fails, and sends it once: with another key after a refusal, with the same if it is unclear', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ path: `/inbox/${id}`, fresh: true, expectedErrors: LOST });
    await waitUntilLive(page);
    const keys: string[] = [];
    await page.route('**/answer', async (route) => {
      keys.push(route.request().headers()['idempotency-key']!);
      if (keys.length === 1)
        return route.fulfill({ status: 409, json: { detail: 'Not now.', code: 'CONFLICT' } });
      // At last it arrives, but the response does not.
      if (keys.length === 3) await route.fetch();
      return route.abort();
    });
    await answerField(page).fill('Slowly.');
    for (const attempts of [1, 2]) {
      await button(page, 'Send answer').click();
      // The earlier failure is gone before the request is sent.
      await until('it is sent', async () => keys.length === attempts);
      await page.getByRole('alert').waitFor();
      assert.equal(await answerField(page).inputValue(), 'Slowly.');
      assert.equal(pathOf(page), `/inbox/${id}`);
    }
    await page.getByText('Not sent. Your text is still here.').waitFor();
    await button(page, 'Send answer').click();
    await page.getByText(/^Will be sent in/).waitFor();
    assert.notEqual(keys[0], keys[1]);
    assert.equal(keys[1], keys[2]);
    // It is shown as mine.
    assert.equal(await page.getByText('answered this').count(), 0);
    await button(page, 'Undo').click();
    await becomes(() => answerField(page).inputValue(), 'Slowly.');
    assert.equal(await page.getByText('Not sent.').count(), 0);
  });

  it('loses nothing if I sign out: what was sent is sent, and the next user cannot undo it here', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ path: `/inbox/${id}`, expectedErrors: /401/, fresh: true });
    await answerField(page).fill('Yes, in small bags.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await openSettings(page);
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    // Without a question about drafts: there is none.
    await page.getByText('You are signed out.').waitFor();
    assert.equal(await button(page, 'Undo').count(), 0);
    assert.ok(!(await page.evaluate<string>('JSON.stringify(localStorage)')).includes('small bags'));
    await release(id);
    assert.notEqual((await shop.read(id)).delivery, null);
  });
});

inBrowserOn(MOVED_CLOCK, 'resolving without a reply', (shop) => {
  stopClock(shop, 60);

  it('is one request, is not shown or counted as answered, and can be undone later with the draft', async () => {
    const answered = await shop.ask();
    await shop.answer(answered, 'Yes, on Mondays.');
    const id = await shop.ask('Do you rent out the room?');
    const { page } = await shop.open({ path: `/inbox/${id}` });
    const tab = (name: string) => page.locator('.tab', { hasText: name });
    const tabCount = (name: string, count: number) =>
      tab(name).locator('.count', { hasText: new RegExp(`^${count}$`) });
    await waitUntilLive(page);
    await answerField(page).fill('Nearly done.');
    const changes = changesOf(page);
    await button(page, 'Resolve without replying').click();
    await page.getByRole('heading', { name: /^Resolved without a reply/ }).waitFor();
    await page.getByText('Nothing was sent to the customer.').waitFor();
    assert.deepEqual(changes, ['/api/v1/notification/resolve-many']);
    assert.equal(await sentAnswer(page).count(), 0);
    await rowOf(page, id).waitFor({ state: 'detached' });
    await tabCount('Resolved', 1).waitFor();
    await tabCount('Answered', 1).waitFor();
    const { status, outcome, delivery } = await shop.read(id);
    assert.deepEqual([status, outcome, delivery], ['answered', 'resolved', null]);
    await tab('Answered').click();
    await rowOf(page, answered).waitFor();
    assert.equal(await rowOf(page, id).count(), 0);
    await tab('Resolved').click();
    await rowOf(page, id).waitFor();
    const row = (await rowOf(page, id).textContent())!;
    assert.ok(row.includes('Resolved') && !row.includes('Answered'), row);
    // Also later, at another visit.
    await page.goto(`/inbox/${id}?tab=resolved`);
    await page.locator('.inbox-pane').getByRole('button', { name: 'Reopen', exact: true }).click();
    await becomes(() => answerField(page).inputValue(), 'Nearly done.');
    assert.equal(await statusOf(shop, id), 'requested');
  });

  it('gives the text back, and nobody writes in the form until it is there', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ path: `/inbox/${id}`, fresh: true });
    await waitUntilLive(page);
    await answerField(page).fill('Nobody must lose this.');
    await button(page, 'Resolve without replying').click();
    // The page hears that it is open again before the response arrives.
    await holdResponse(page, '**/reopen-many', async () => {
      await answerField(page).waitFor();
      await answerField(page).pressSequentially('x');
    });
    await button(page, 'Reopen').click();
    await becomes(() => answerField(page).inputValue(), 'Nobody must lose this.');
    await becomes(() => answerField(page).isEditable(), true);
  });
});

inBrowser('deleting', (shop) => {
  it('asks first, with the customer’s name and the question, and several are one question and one request', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ path: `/inbox/${id}`, expectedErrors: /404/ });
    await answerField(page).waitFor();
    await button(page, 'Delete').first().click();
    const dialog = page.getByRole('dialog', { name: 'Delete Lucía Fernández’s question?' });
    await dialog.getByText((await shop.read(id)).context.question).waitFor();
    await dialog.getByText('This cannot be undone.').waitFor();
    await becomes(() => focused(page), 'Cancel');
    assert.equal(await statusOf(shop, id), 'requested');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    assert.equal((await shop.read(id)).code, 'NOTIFICATION_NOT_FOUND');
    await page.waitForURL('**/inbox');

    const ids = [await shop.ask(), await shop.ask()];
    const changes = changesOf(page);
    await select(page, ...ids);
    await page.keyboard.press('#');
    const question = page.getByRole('dialog', { name: 'Delete 2 notifications?' });
    await question.getByRole('button', { name: 'Delete' }).click();
    for (const one of ids) await rowOf(page, one).waitFor({ state: 'detached' });
    assert.deepEqual(changes, ['/api/v1/notification/delete-many']);
    for (const one of ids) assert.equal((await shop.read(one)).code, 'NOTIFICATION_NOT_FOUND');
  });
});

inBrowser('an answer that somebody else gives while I write mine', (shop) => {
  it('locks the form with my text, says who answered what, and sends mine as a follow-up if I want', async () => {
    const [other, id] = [await shop.ask(), await shop.ask()];
    const { page } = await shop.open({
      path: `/inbox/${id}`,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await waitUntilLive(page);
    await rowOf(page, other).waitFor();
    await answerField(page).click();
    await page.keyboard.type('We have them');
    await shop.answer(id, 'Yes, on Fridays.');
    const notice = page.getByRole('alert');
    await notice.getByText('Yes, on Fridays.').waitFor();
    assert.match((await notice.textContent())!, /^Alma Reyes answered this:/);
    // The rest of my sentence does nothing.
    await page.keyboard.type(' on Mondays, jex#');
    await page.keyboard.press('Control+Enter');
    assert.equal(await answerField(page).inputValue(), 'We have them');
    assert.equal(await focused(page), 'answer');
    assert.equal(pathOf(page), `/inbox/${id}`);
    assert.equal(await statusOf(shop, other), 'requested');
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    assert.equal(await button(page, 'Send answer').count(), 0);
    await button(page, 'Copy my text').click();
    await button(page, 'Copied').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'We have them');
    // It is not lost by a reload either.
    await page.reload();
    await notice.getByText('Yes, on Fridays.').waitFor();
    assert.equal(await answerField(page).inputValue(), 'We have them');
    await button(page, 'Send as a follow-up').click();
    await sentAnswer(page).waitFor();
    await page.locator('.conversation-log').getByText('We have them').waitFor();
    assert.equal(await answerField(page).count(), 0);
  });

  it('is shown instead of an empty form, and before my text is sent if it comes at the same moment', async () => {
    const id = await shop.ask();
    // The server rejects the second answer, and the browser logs the failed request.
    const { page } = await shop.open({ path: `/inbox/${id}`, expectedErrors: /status of 500/ });
    await waitUntilLive(page);
    await answerField(page).click();
    await shop.answer(id, 'Yes, on Fridays.');
    await sentAnswer(page).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);

    const contested = await shop.ask();
    await goTo(page, `/inbox/${contested}`);
    await answerField(page).fill('My own words.');
    await page.route('**/answer', async (route) => {
      await shop.answer(contested, 'The first answer.');
      await route.continue();
    });
    await button(page, 'Send answer').click();
    await page.getByRole('alert').getByText('The first answer.').waitFor();
    await page.getByText('Your text was not sent.').waitFor();
    assert.equal(await answerField(page).inputValue(), 'My own words.');
    assert.equal(await answerField(page).getAttribute('readonly'), '');
    await button(page, 'Discard my text').click();
    await sentAnswer(page).waitFor();
  });
});
