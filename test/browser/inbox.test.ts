import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { SUPPORT } from '../support/server.ts';
import { until } from '../support/shops.ts';
import { inBrowser } from './browser.ts';
import {
  answerField,
  becomes,
  button,
  focused,
  goTo,
  isInSight,
  rowOf,
  sentAnswer,
  typeUntilSeen,
  waitUntilLive,
} from './page.ts';

const scrollOf = (page: Page) => page.evaluate<number>("document.querySelector('.list').scrollTop");

inBrowser('the inbox', (shop) => {
  before(() => shop.setUndoSeconds(0));

  it('shows a new question in seven tabs without a reload, also after the first is closed, until it is answered', async () => {
    const window = await shop.open({ fresh: true });
    const testPhone = await window.tab(`/test-phone/${shop.conversations[1]}`);
    const tabs = [window.page, testPhone];
    for (let n = 0; n < 5; n += 1) tabs.push(await window.tab('/inbox'));
    await Promise.all(tabs.map(waitUntilLive));
    const [, , ...others] = tabs;
    const first = await shop.ask();
    await Promise.all([window.page, ...others].map((page) => rowOf(page, first).waitFor()));
    // A question on the test phone that the assistant cannot answer is there at once, too.
    await testPhone.getByRole('textbox').fill('Do you repair espresso machines?');
    await testPhone.keyboard.press('Enter');
    await testPhone.getByText('ask a colleague').waitFor();
    await window.page.getByText('Do you repair espresso machines?').first().waitFor();
    await window.page.close();
    await shop.answer(first, { resolve_only: true });
    const second = await shop.ask();
    for (const page of others) {
      await rowOf(page, first).waitFor({ state: 'detached' });
      await rowOf(page, second).waitFor();
    }
  });

  it('takes an answer, which the customer gets and the assistant learns', async () => {
    const id = await shop.ask('Do you have chicory coffee?');
    const { page } = await shop.open({ path: `/inbox/${id}`, fresh: true });
    await answerField(page).fill('Yes, roasted in León.');
    await button(page, 'Send answer').click();
    await shop.readAnswered(id);
    // This shop gives no time to undo it.
    assert.equal(await button(page, 'Undo').count(), 0);
    await goTo(page, `/inbox/${id}`);
    await sentAnswer(page).waitFor();
    await page.getByText('Delivered').first().waitFor();
    assert.equal((await shop.read(id)).answer.answer, 'Yes, roasted in León.');
    const [document] = (await shop.get('/knowledge/?q=chicory')).json;
    assert.equal(document.body, 'Yes, roasted in León.');
  });

  it('takes a reply and notes to a support request, and only the reply is sent', async () => {
    const id = await shop.raise(SUPPORT);
    const { page } = await shop.open({ path: `/inbox/${id}` });
    const notes = page.getByRole('textbox', { name: 'Private notes' });
    await page.setViewportSize({ width: 390, height: 700 });
    await answerField(page).fill('A new one leaves today.');
    await button(page, 'Send reply').click();
    await page.getByText('Please write a note.').waitFor();
    await becomes(() => focused(page), 'resolution_notes');
    await becomes(() => isInSight(notes), true);
    await notes.fill('Ask the carrier.');
    await button(page, 'Send reply').click();
    const { answer, delivery } = await shop.readAnswered(id);
    assert.equal(answer.resolution_notes, 'Ask the carrier.');
    const { content } = (await shop.get(`/delivery/${delivery.id}`)).json;
    assert.equal(content, 'A new one leaves today.');
  });

  it('shortens a long question so that the answer field stays visible, and shows all of it on demand', async () => {
    const id = await shop.ask('Are the beans from León? '.repeat(160));
    const { page } = await shop.open({ path: `/inbox/${id}` });
    const show = async (next: 'all' | 'less') => {
      await button(page, `Show ${next}`).waitFor();
      await until('the field is in sight', async () => (await answerField(page).boundingBox())!.y < 800);
    };
    await show('all');
    await button(page, 'Show all').click();
    await show('less');
    await button(page, 'Show less').press('Enter');
    await show('all');
    await becomes(() => focused(page), 'Show all');
  });

  it('says that a notification does not exist, and does not ask to select one from an empty list', async () => {
    const { page } = await shop.open({ path: '/inbox/999999', expectedErrors: /status of 404/ });
    await page.getByText('It was deleted, or it never existed.').waitFor();
    await goTo(page, '/inbox');
    await page.getByText('Select a notification').waitFor();
    await page.getByRole('searchbox').fill('nobody asks this');
    await page.getByText('No results for').waitFor();
    assert.equal(await page.getByText('Select a notification').count(), 0);
  });

  it('has nothing selected any more in another list', async () => {
    const id = await shop.ask('Can I bring my dog?');
    const { page } = await shop.open();
    const box = page.locator(`#select-${id}`);
    const bar = page.locator('.bulk');
    const run = async (command: string) => {
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('option', { name: command }).click();
    };
    await box.check({ force: true });
    await bar.waitFor();
    await run('Inbox: Resolved');
    await bar.waitFor({ state: 'detached' });
    await page.goBack();
    await rowOf(page, id).waitFor();
    assert.equal(await box.isChecked(), false);
  });

  it('shows that it is offline, and loads what it missed when the network is back', async () => {
    const { page } = await shop.open({
      expectedErrors: /ERR_INTERNET_DISCONNECTED|Failed to fetch|network/i,
    });
    await waitUntilLive(page);
    await page.context().setOffline(true);
    await page.locator('.connection[data-state="offline"]').waitFor();
    const id = await shop.ask();
    const resumed = page.waitForRequest('**/api/v1/events');
    await page.context().setOffline(false);
    assert.match((await resumed).headers()['last-event-id'] ?? '', /^\d+$/);
    await rowOf(page, id).waitFor();
    await waitUntilLive(page);
  });

  it('shows the time left to reply on a test phone, but never that it is over', async () => {
    await shop.post(`/simulator/${shop.conversations[0]}`, { text: 'Hello?' });
    const id = await shop.ask('Accordions?');
    const silent = await shop.converse({ customer_phone: '+34611559911' });
    const other = await shop.raise({ conversation_id: silent, context: { question: 'Bagpipes?' } });
    const { page } = await shop.open({ path: `/inbox/${id}` });
    // It is counted as WhatsApp would count it.
    await rowOf(page, id).getByText('23 hr left to reply').waitFor();
    await page.locator('.window-notice', { hasText: 'You can write to' }).waitFor();
    await rowOf(page, other).getByText('+34611559911').waitFor();
    assert.equal(await rowOf(page, other).locator('.reply-window').count(), 0);
  });

  it('has the tab, the type and the search in its address: reload, Back and a link show the same', async () => {
    const id = await shop.ask();
    const { page } = await shop.open({ path: '/inbox', fresh: true });
    const search = page.getByRole('searchbox');
    const tab = (name: string) => page.getByRole('radio', { name: new RegExp(`^${name}`) });
    await rowOf(page, id).waitFor();
    await page.getByText(/^All/).first().click();
    await page.waitForURL('**/inbox?tab=all');
    await page.getByRole('combobox', { name: 'Type' }).selectOption('user_question_request');
    await search.fill('decaf');
    await page.waitForURL((url) => url.searchParams.get('q') === 'decaf');
    await rowOf(page, id).click();
    await page.waitForURL(`**/inbox/${id}?tab=all&type=user_question_request&q=decaf`);
    await page.reload();
    await rowOf(page, id).waitFor();
    assert.equal(await search.inputValue(), 'decaf');
    assert.ok(await tab('All').isChecked());
    await page.goBack();
    await page.waitForURL('**/inbox?tab=all&type=user_question_request&q=decaf');
    assert.equal(await search.inputValue(), 'decaf');
    // Not through each letter of the search.
    await page.goBack();
    await page.waitForURL('**/inbox?tab=all');
    await becomes(() => search.inputValue(), '');
    await page.goBack();
    await page.waitForURL('**/inbox');
    await becomes(() => tab('Open').isChecked(), true);
  });

  it('is where it was after Back, the arrow above a question, and a reload', async () => {
    for (let n = 0; n < 25; n += 1) await shop.ask(`Is number ${n}${'x'.repeat(n)} ready?`);
    const { page } = await shop.open({ path: '/inbox', viewport: { width: 390, height: 740 } });
    await page.locator('.list-row[aria-setsize]').first().waitFor();
    await until('the list is long', () =>
      page.evaluate<boolean>("document.querySelector('.list').scrollHeight > 2500"),
    );
    for (const goBack of [() => page.goBack(), () => button(page, 'Back').click()]) {
      await page.evaluate("document.querySelector('.list').scrollTo(0, 1111)");
      // Playwright would scroll the row into view first.
      await page.evaluate("document.querySelectorAll('.row-link')[9].click()");
      await page.locator('[data-answer]').waitFor();
      await goBack();
      await page.locator('.list').waitFor();
      await becomes(() => scrollOf(page), 1111);
    }
    await page.reload();
    await page.locator('.row-link').first().waitFor();
    await becomes(() => scrollOf(page), 1111);
  });
});

inBrowser('colleagues in the inbox', (shop) => {
  it('are shown live in the rows that they have open or answer, with one request for the whole screen', async () => {
    const [first, second, other] = [await shop.ask(), await shop.ask(), await shop.ask()];
    const milk: number[] = [];
    for (const customer of [0, 1]) milk.push(await shop.ask('Do you sell oat milk?', { customer }));
    const colleague = await shop.colleague();
    const { page } = await shop.open({ path: '/inbox' });
    await waitUntilLive(page);
    await rowOf(page, first).waitFor();
    const asked: URL[] = [];
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.pathname.endsWith('/presence')) asked.push(url);
    });
    const writing = 'is writing an answer';
    const theirs = await shop.open({ path: `/inbox/${first}`, user: colleague });
    await rowOf(page, first).getByText('has this open').waitFor();
    await typeUntilSeen(theirs.page.locator('[data-reply]'), rowOf(page, first).getByText(writing));
    assert.equal(await rowOf(page, other).locator('.row-presence').count(), 0);
    // They move on: so does the mark.
    await rowOf(theirs.page, second).click();
    await rowOf(page, second).locator('.row-presence').waitFor();
    await rowOf(page, first).locator('.row-presence').waitFor({ state: 'detached' });
    // Never a request for each row: each one is about all rows on the screen.
    assert.ok(asked.length > 0);
    for (const { pathname, searchParams } of asked) {
      assert.equal(pathname, '/api/v1/inbox/presence');
      const ids = new Set(searchParams.get('ids')!.split(','));
      for (const id of [first, second, other]) assert.ok(ids.has(`${id}`), `${id}`);
    }

    // Also above the question, before it comes to two answers.
    await goTo(page, `/inbox/${second}`);
    await page.getByRole('status').getByText('has this open').waitFor();
    // In the form, not in the list.
    const notice = page.getByRole('status').getByText(writing);
    await typeUntilSeen(theirs.page.locator('[data-reply]'), notice);

    // And where customers who ask the same are answered together, in another question of the group.
    await goTo(page, `/inbox/${milk[0]}`);
    await goTo(theirs.page, `/inbox/${milk[1]}`);
    for (const one of [page, theirs.page])
      await one.getByRole('heading', { name: '2 customers ask this' }).waitFor();
    await page.getByRole('status').getByText('has this open').waitFor();
    await typeUntilSeen(theirs.page.locator('[data-reply]'), notice);
    const row = page.locator('.row', { hasText: 'oat milk' }).locator('.row-presence');
    await row.waitFor();
    await theirs.page.goto('/healthz');
    await notice.waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
  });
});
