import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { QUESTION, SUPPORT } from '../harness.ts';
import { answerField, button, inBrowser, live, rowOf, shopOf } from './browser.ts';

const isWriting = (page: Page) => page.evaluate<boolean>("document.activeElement.matches('textarea')");

inBrowser('the inbox', (desk) => {
  const { api, read, newOne } = shopOf(desk);

  it('a question raised elsewhere arrives by itself in two windows, and leaves both when it is answered', async () => {
    const windows = await Promise.all([desk.open(), desk.open()]);
    await Promise.all(windows.map(({ page }) => live(page)));
    const id = await newOne();
    await Promise.all(windows.map(({ page }) => rowOf(page, id).waitFor()));
    await api('POST', `/api/v1/notification/${id}/answer`, { resolve_only: true });
    await Promise.all(windows.map(({ page }) => rowOf(page, id).waitFor({ state: 'detached' })));
    for (const window of windows) await window.close();
  });

  it('a question is answered, the customer gets the answer and the assistant has learned it', async () => {
    const id = await newOne({ ...QUESTION, context: { question: 'Do you have chicory coffee?' } });
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    await answerField(page).fill('Yes, roasted in León.');
    await button(page, 'Send answer').click();
    await page.getByText('What was answered').waitFor();
    await page.getByText('Delivered').first().waitFor();
    assert.deepEqual((await read(id)).answer.answer, 'Yes, roasted in León.');
    const [document] = (await api('GET', '/api/v1/knowledge/?q=chicory')).json;
    assert.equal(document.body, 'Yes, roasted in León.');
    await window.close();
  });

  it('with teaching switched off it goes once, as a campaign', async () => {
    const id = await newOne({ ...QUESTION, context: { question: 'Is there parking at the roastery?' } });
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    await answerField(page).fill('Right behind it.');
    await page.getByRole('switch', { name: 'Teach the assistant' }).uncheck({ force: true });
    await page.getByText('as a campaign').first().waitFor();
    await button(page, 'Send answer').click();
    await page.getByText('What was answered').waitFor();
    await desk.deskbell.allSent();
    const { delivery } = await read(id);
    assert.equal((await api('GET', `/api/v1/delivery/${delivery.id}`)).json.mode, 'campaign');
    assert.deepEqual((await api('GET', '/api/v1/knowledge/?q=parking')).json, []);
    await window.close();
  });

  it('a support request takes a reply and notes, and only the reply is sent', async () => {
    const id = await newOne(SUPPORT);
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    const notes = page.getByRole('textbox', { name: 'Private notes' });
    await page.getByRole('textbox', { name: 'Your reply to the customer' }).fill('A new one leaves today.');
    await button(page, 'Send reply').click();
    await page.getByText('This is needed.').waitFor();
    await notes.fill('Ask the carrier.');
    await button(page, 'Send reply').click();
    await page.getByText('What was answered').waitFor();
    await desk.deskbell.allSent();
    const { answer, delivery } = await read(id);
    assert.equal(answer.resolution_notes, 'Ask the carrier.');
    assert.equal(
      (await api('GET', `/api/v1/delivery/${delivery.id}`)).json.content,
      'A new one leaves today.',
    );
    await window.close();
  });

  it('a long question leaves the field for the answer in sight, and is shown whole when asked for', async () => {
    const id = await newOne({ ...QUESTION, context: { question: 'Are the beans from León? '.repeat(160) } });
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    const fieldTop = async () => (await answerField(page).boundingBox())!.y;
    await button(page, 'Show all').waitFor();
    assert.ok((await fieldTop()) < 800);
    await button(page, 'Show all').click();
    await button(page, 'Show less').waitFor();
    assert.ok((await fieldTop()) > 800);
    await button(page, 'Show less').press('Enter');
    await button(page, 'Show all').waitFor();
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Show all');
    assert.ok((await fieldTop()) < 800);
    await window.close();
  });

  it('a similar answer is reused with one key', async () => {
    const id = await newOne({
      ...QUESTION,
      context: { question: 'Do you grind the beans for a moka pot?' },
    });
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    await page.locator('.suggestion').first().waitFor();
    await page.keyboard.press('1');
    const said = await answerField(page).inputValue();
    assert.match(said, /moka/i);
    await window.close();
  });

  it('a key is named while it works: opening by Enter leaves it to reuse an answer, and Tab leads to the field', async () => {
    const id = await newOne({
      ...QUESTION,
      context: { question: 'Can you grind the beans for my moka pot?' },
    });
    const window = await desk.open();
    const { page } = window;
    await rowOf(page, id).waitFor();
    await page.keyboard.press('j');
    const badge = page.locator('.suggestion .key-hint').first();
    await badge.waitFor();
    await page.keyboard.press('Enter');
    assert.equal(await isWriting(page), false);
    assert.ok(await badge.isVisible());
    await page.keyboard.press('Tab');
    assert.equal(await isWriting(page), true);
    await badge.waitFor({ state: 'hidden' });
    await page.getByText('Ctrl ↵').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await page.keyboard.press('1');
    assert.match(await answerField(page).inputValue(), /moka/i);
    await window.close();
  });

  it('who opens by Enter and begins to write means the field: no letter is a command then', async () => {
    const context = { question: 'Do you grind the beans for a moka pot, too?' };
    const id = await newOne({ ...QUESTION, context });
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    await page.locator('.suggestion').first().waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type('Yes, we do.');
    assert.equal(await answerField(page).inputValue(), 'Yes, we do.');
    await page.keyboard.press('Control+Enter');
    await page.getByText('What was answered').waitFor();
    assert.equal((await read(id)).answer.answer, 'Yes, we do.');
    await window.close();
  });

  it('however one is opened, the keys mean that one', async () => {
    const id = await newOne();
    const window = await desk.open();
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

  it('opening by Enter leads straight to the field where there is nothing to reuse', async () => {
    const id = await newOne({ ...QUESTION, context: { question: 'Xylophones?' } });
    await newOne();
    // By its address: what is open is meant, not the first of the list.
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    await page.getByText('Nothing like it has been answered yet.').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type('Sadly not.');
    assert.equal(await answerField(page).inputValue(), 'Sadly not.');
    await window.close();
  });

  it('who answers second is told so, sees what the customer got, and keeps the text', async () => {
    const id = await newOne();
    // The server refuses it, which browsers note.
    const window = await desk.open({ at: `/inbox/${id}`, mayFail: /status of 500/ });
    const { page } = window;
    await answerField(page).fill('My own words.');
    // While it is on its way, somebody else's arrives.
    await page.route('**/answer', async (route) => {
      await api('POST', `/api/v1/notification/${id}/answer`, { answer: 'The first answer.' });
      await route.continue();
    });
    await button(page, 'Send answer').click();
    await page.getByText('Somebody else answered first').waitFor();
    await page.getByText('The first answer.').waitFor();
    await page.getByText('My own words.').waitFor();
    await window.close();
  });

  it('what is not there is neither said to be deleted by somebody nor to be chosen', async () => {
    const window = await desk.open({ at: '/inbox/999999', mayFail: /status of 404/ });
    const { page } = window;
    await page.getByText('It was deleted, or there never was one with this number.').waitFor();
    await page.goto('/');
    await page.getByText('Choose a notification').waitFor();
    await page.getByRole('searchbox').fill('nobody asks this');
    await page.getByText('Nothing fits').waitFor();
    assert.equal(await page.getByText('Choose a notification').count(), 0);
    await window.close();
  });

  it('a hasty Enter in the command palette deletes nothing: that command comes last', async () => {
    const window = await desk.open({ at: '/inbox/1' });
    const { page } = window;
    await page.locator('.outcome').waitFor();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog');
    const commands = palette.getByRole('option');
    await commands.first().waitFor();
    assert.equal(await commands.last().textContent(), 'Delete');
    assert.notEqual(await palette.getByRole('option', { selected: true }).textContent(), 'Delete');
    await page.keyboard.press('Escape');
    await window.close();
  });

  it('without a network it says so, and back in it catches up', async () => {
    const window = await desk.open({ mayFail: /ERR_INTERNET_DISCONNECTED|Failed to fetch|network/i });
    const { page } = window;
    await live(page);
    await page.context().setOffline(true);
    await page.locator('.connection[data-state="offline"]').waitFor();
    const id = await newOne();
    await page.context().setOffline(false);
    await rowOf(page, id).waitFor();
    await live(page);
    await window.close();
  });

  it('seven tabs of one person are all live, and stay so when the first is closed', async () => {
    const window = await desk.open();
    const tabs = await Promise.all(Array.from({ length: 6 }, () => window.tab()));
    await Promise.all([window.page, ...tabs].map(live));
    const first = await newOne();
    await Promise.all([window.page, ...tabs].map((page) => rowOf(page, first).waitFor()));
    await window.page.close();
    const second = await newOne();
    await Promise.all(tabs.map((page) => rowOf(page, second).waitFor()));
    await window.close();
  });

  it('what the assistant cannot answer on the telephone rings here at once', async () => {
    const window = await desk.open();
    const { page } = window;
    await live(page);
    const telephone = await window.tab('/telephone/2');
    await telephone.getByRole('textbox').fill('Do you repair espresso machines?');
    await telephone.keyboard.press('Enter');
    await telephone.getByText('ask a colleague').waitFor();
    await page.getByText('Do you repair espresso machines?').first().waitFor();
    await window.close();
  });

  it('from the door to the answer with the keyboard alone', async () => {
    const id = await newOne({ ...QUESTION, context: { question: 'Only by keyboard?' } });
    const window = await desk.open({ as: 'nobody' });
    const { page } = window;
    await page.getByLabel('E-mail').waitFor();
    for (let presses = 0; presses < 5; presses += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate("document.activeElement?.getAttribute('name') === 'email'")) break;
    }
    await page.keyboard.type('owner@aurora.example');
    await page.keyboard.press('Tab');
    await page.keyboard.type('aurora-demo');
    await page.keyboard.press('Enter');
    await rowOf(page, id).waitFor();
    await page.keyboard.press('j');
    await page.getByText('Only by keyboard?').first().waitFor();
    await answerField(page).waitFor();
    await page.keyboard.press('r');
    await page.keyboard.type('Yes, all of it.');
    await page.keyboard.press('Control+Enter');
    await page.getByText('What was answered').waitFor();
    assert.equal((await read(id)).answer.answer, 'Yes, all of it.');
    await window.close();
  });
});
