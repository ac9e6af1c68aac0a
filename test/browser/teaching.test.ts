import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { QUESTION } from '../support/server.ts';
import { until } from '../support/shops.ts';
import { answerField, apiOf, becomes, button, inBrowser, isInSight } from './browser.ts';

const choice = (page: Page) => page.getByRole('combobox', { name: 'The assistant learns' });
const learns = (page: Page) => page.getByRole('textbox', { name: 'What the assistant tells customers' });
const chosen = (page: Page) => choice(page).locator('option:checked').textContent();

inBrowser('what the assistant learns from an answer', (dashboard) => {
  const { api, read, readAnswered, createNotification, setUndoSeconds } = apiOf(dashboard);
  const document = async (id: number) => (await api('GET', `/api/v1/knowledge/${id}`)).json;
  const ask = (question: string, more: object = {}) =>
    createNotification({ ...QUESTION, context: { question, ...more } });
  const taught = async (id: string) => {
    await until('it is learned', async () => (await read(id)).lesson !== null);
    return (await read(id)).lesson;
  };
  before(() => setUndoSeconds(0));

  it('is nothing for a personal question or an answer that says nothing by itself', async () => {
    const window = await dashboard.open({ path: `/inbox/${await ask('Where is my order 4471?')}` });
    const { page } = window;
    await page.getByText('This question is only about this customer.').waitFor();
    assert.equal(await chosen(page), 'Nothing');
    const id = await ask('Do you roast on Sundays?');
    await page.goto(`/inbox/${id}`);
    await learns(page).waitFor();
    await answerField(page).fill('Yes!');
    await page.getByText('This answer means nothing without its question.').waitFor();
    await button(page, 'Send answer').click();
    assert.equal((await readAnswered(id)).lesson, null);
    await window.close();
  });

  it('never replaces a document by itself: the answer is added, unless I replace it after I saw what changes', async () => {
    const before = await document(1);
    const id = await ask('How long does a parcel take?', { document_id: 1 });
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await choice(page).waitFor();
    assert.equal(await chosen(page), `Add it to “${before.title}”`);
    await answerField(page).fill('About nine days, Lucía. Sorry!');
    // The customer's name may be loaded after what the answer could teach.
    await becomes(() => learns(page).inputValue(), 'About nine days. Sorry!');
    await learns(page).fill('Parcels take about nine days.');
    await answerField(page).fill('About nine days, Lucía. Sorry about that!');
    assert.equal(await learns(page).inputValue(), 'Parcels take about nine days.');
    await choice(page).selectOption({ label: `Replace “${before.title}”` });
    const diff = page.getByRole('region', { name: `What changes in “${before.title}”` });
    await diff.locator('del').first().waitFor();
    await diff.locator('ins').first().waitFor();
    await button(page, 'Send answer').click();
    const lesson = await taught(id);
    assert.deepEqual([lesson.do, lesson.document_id], ['replace', 1]);
    assert.equal((await document(1)).body, 'Parcels take about nine days.');
    assert.equal((await read(id)).answer.answer, 'About nine days, Lucía. Sorry about that!');

    await page.goto(`/inbox/${id}`);
    await page.getByText(`It replaced the text of “${before.title}”.`).waitFor();
    await button(page, 'Undo what it learned').click();
    await button(page, 'Undo what it learned').waitFor({ state: 'detached' });
    assert.equal((await document(1)).body, before.body);
    await window.close();
  });

  it('is not lost if I send before it is known', async () => {
    const id = await ask('Do you sell coffee filters?');
    const { promise: known, resolve: tell } = Promise.withResolvers<void>();
    const window = await dashboard.open();
    const { page } = window;
    await page.route('**/teaching', async (route) => {
      await known;
      await route.continue();
    });
    await page.goto(`/inbox/${id}`);
    await answerField(page).fill('Yes, in packs of forty.');
    await button(page, 'Send answer').click();
    assert.equal(await choice(page).count(), 0);
    tell();
    const lesson = await taught(id);
    assert.deepEqual(
      [lesson.do, (await document(lesson.document_id)).body],
      ['new', 'Yes, in packs of forty.'],
    );
    await window.close();
  });

  it('is a new document with a title of my own, which I can take back later', async () => {
    const id = await ask('Do you sell vouchers?');
    const viewport = { width: 1400, height: 900 };
    const window = await dashboard.open({ path: `/inbox/${id}`, viewport, expectedErrors: /404/ });
    const { page } = window;
    await learns(page).waitFor();
    assert.equal(await chosen(page), 'A new document');
    // Nobody has to scroll to see it.
    await becomes(() => isInSight(choice(page)), true);
    await page.getByRole('textbox', { name: 'Title' }).fill('Vouchers');
    await answerField(page).fill('From 20 €, at the till.');
    await button(page, 'Send answer').click();
    const lesson = await taught(id);
    const { title, body } = await document(lesson.document_id);
    assert.deepEqual([lesson.do, title, body], ['new', 'Vouchers', 'From 20 €, at the till.']);
    await page.goto(`/inbox/${id}`);
    await page.getByText('A new document: “Vouchers”').waitFor();
    await page.getByRole('link', { name: 'Open the document' }).waitFor();
    await button(page, 'Undo what it learned').click();
    await page.getByText('The document is deleted.').waitFor();
    assert.equal((await document(lesson.document_id)).code, 'DOCUMENT_NOT_FOUND');
    await window.close();
  });

  it('is another wording if a document is sent as it is', async () => {
    // The server keeps the beginning of a long question, on one line.
    const id = await ask(`How should I keep my beans?\n${'They are from the last market. '.repeat(12)}`);
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await button(page, 'How to store coffee beans').click();
    await becomes(() => chosen(page), 'Another wording for “How to store coffee beans”');
    await button(page, 'Send answer').click();
    assert.equal((await taught(id)).do, 'wording');
    await page.goto(`/inbox/${id}`);
    await page.getByText('The question is another wording for “How to store coffee beans”.').waitFor();
    await button(page, 'Undo what it learned').click();
    await button(page, 'Undo what it learned').waitFor({ state: 'detached' });
    await window.close();
  });

  it('is one line on a phone until I open it', async () => {
    const id = await ask('Do you sell postcards?');
    const window = await dashboard.open({ path: `/inbox/${id}`, viewport: { width: 390, height: 740 } });
    const { page } = window;
    await page.getByText('The assistant learns: new document “Do you sell postcards?”').waitFor();
    assert.equal(await learns(page).count(), 0);
    await button(page, 'Change').click();
    await choice(page).selectOption({ label: 'Nothing' });
    await answerField(page).fill('At the till, in packs of ten.');
    await button(page, 'Send answer').click();
    assert.equal((await readAnswered(id)).lesson, null);
    await window.close();
  });
});
