import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import { assertAccessible } from './axe.ts';
import { inBrowser, type Shop } from './browser.ts';
import { answerField, becomes, button, goTo, heading } from './page.ts';

const KNOWLEDGE = '/knowledge';
const SHIPPING = 'Shipping times and costs';
const BEANS = 'How to store coffee beans';
const documentRow = (page: Page, id: number) => page.locator(`a.document-row[href="/knowledge/${id}"]`);
const told = (page: Page) => page.getByRole('textbox', { name: 'What the assistant tells customers' });
const choice = (page: Page) => page.getByRole('combobox', { name: 'The assistant learns' });
const chosen = (page: Page) => choice(page).locator('option:checked').textContent();
const isChosen = (page: Page, label: string) =>
  choice(page).locator('option:checked', { hasText: label }).waitFor({ state: 'attached' });

function documentsOf(shop: Shop) {
  return {
    write: async (title: string, body: string): Promise<number> =>
      (await shop.post(`${KNOWLEDGE}/`, { title, body })).json.id,
    read: async (id: number) => (await shop.get(`${KNOWLEDGE}/${id}`)).json,
    change: (id: number, body: string) => shop.patch(`${KNOWLEDGE}/${id}`, { body }),
  };
}

inBrowser('the knowledge base', (shop) => {
  const { write, read, change } = documentsOf(shop);
  let grind = 0;
  before(async () => {
    await shop.setUndoSeconds(0);
    grind = await write('Which grind for which maker?', 'Espresso machine: fine. Moka pot: medium-fine.');
  });

  it('deleting a document asks first, and then deletes it', async () => {
    const id = await write(BEANS, 'In a dark and dry cupboard.');
    const { page } = await shop.open({ path: `/knowledge/${id}`, expectedErrors: /404/ });
    await button(page, 'Delete').click();
    const dialog = page.getByRole('dialog', { name: `Delete “${BEANS}”?` });
    await dialog.getByText('This cannot be undone.').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await read(id)).id, id);
    await button(page, 'Delete').click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await documentRow(page, id).waitFor({ state: 'detached' });
    assert.equal((await read(id)).code, 'DOCUMENT_NOT_FOUND');
  });

  it('an unsaved edit survives another document and a reload, and replaces a newer version only after a warning', async () => {
    const hours = await write('Opening hours', 'Open from eight.');
    // The server rejects the first save, and the browser logs the failed request.
    const { page } = await shop.open({ path: `/knowledge/${hours}`, expectedErrors: /status of 409/ });
    await button(page, 'Edit').click();
    await told(page).fill('Open from nine.');
    await documentRow(page, grind).click();
    await button(page, 'Edit').waitFor();
    await change(hours, 'Open from ten.');
    await page.reload();
    await documentRow(page, hours).click();
    await page.getByText('Draft saved on this device').waitFor();
    assert.equal(await told(page).inputValue(), 'Open from nine.');
    await button(page, 'Save').click();
    await page.getByText('Someone else changed this document while you were editing it.').waitFor();
    assert.equal((await read(hours)).body, 'Open from ten.');
    await button(page, 'Save').click();
    await button(page, 'Edit').waitFor();
    assert.equal((await read(hours)).body, 'Open from nine.');

    // A change leads to its version, which shows what was changed in words.
    const { version } = await read(hours);
    await goTo(page, '/knowledge?show=changes');
    const row = page.locator('.document-row', { hasText: 'Opening hours' }).first();
    await row.getByText('Changed by Alma Reyes').waitFor();
    await row.click();
    const history = page.locator('details[open]');
    await history.getByText(`Version ${version}`).waitFor();
    assert.deepEqual(await history.locator('.diff del').allTextContents(), ['removed: ten']);
    assert.deepEqual(await history.locator('.diff ins').allTextContents(), ['added: nine']);
    await assertAccessible(page);
  });

  it('other wordings are added and removed on the page of the document, and removing one asks first', async () => {
    const { page } = await shop.open({ path: `/knowledge/${grind}`, expectedErrors: /status of 422/ });
    const field = page.getByRole('textbox', { name: 'Add another wording' });
    const wordings = page.getByRole('region', { name: 'Other wordings' }).getByRole('listitem');
    for (const wording of ['How fine for a moka?', 'Coarse or fine?']) {
      await field.fill(wording);
      await field.press('Enter');
      await wordings.filter({ hasText: wording }).waitFor();
      // It may be in the list before the response is here, which clears the field.
      await becomes(() => field.inputValue(), '');
    }
    await field.fill('coarse or FINE');
    await button(page, 'Add').click();
    await page.getByText('The document already has this wording.').waitFor();

    await button(page, 'Remove this wording: Coarse or fine?').click();
    const dialog = page.getByRole('dialog', { name: 'Remove this wording?' });
    await dialog.getByText('Coarse or fine?').waitFor();
    await dialog.getByRole('button', { name: 'Remove this wording' }).click();
    await wordings.filter({ hasText: 'Coarse' }).waitFor({ state: 'detached' });
    const [left, ...others] = (await read(grind)).wordings;
    assert.deepEqual([left.text, others], ['How fine for a moka?', []]);
  });

  it('a document is written by hand, and the text survives a reload', async () => {
    const { page } = await shop.open({ path: '/knowledge', fresh: true });
    const title = page.getByRole('textbox', { name: 'Title' });
    await button(page, 'New document').click();
    await title.fill('Courses');
    await told(page).fill('Every first Saturday.');
    await page.reload();
    assert.equal(await told(page).inputValue(), 'Every first Saturday.');
    await button(page, 'Save').click();
    await heading(page, 'Courses').waitFor();
    const id = Number(new URL(page.url()).pathname.split('/').at(-1));
    assert.equal((await read(id)).body, 'Every first Saturday.');
  });

  it('a file shows what it would change, with the lines that are wrong, before it is imported, and all can be downloaded', async () => {
    await write('Tastings', 'Every Friday.');
    const { page } = await shop.open({ path: '/knowledge' });
    await button(page, 'Import and export').click();
    const csv = 'title,body\nTastings,Every second Saturday.\nParking,Behind the house.\nEmpty,\n';
    const file = { name: 'faq.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByText('New: 1. Changed: 1. Unchanged: 0.').waitFor();
    await page.getByText('Line 4:').waitFor();
    await assertAccessible(page);
    assert.equal((await shop.get(`${KNOWLEDGE}/?q=parking`)).json.length, 0);
    await button(page, 'Import 2 documents').click();
    await page.getByText('Imported. New: 1. Changed: 1.').waitFor();
    await page.locator('.document-row', { hasText: 'Behind the house.' }).waitFor();
    await goTo(page, '/inbox');
    await page.keyboard.press('Escape');
    await goTo(page, '/knowledge');
    await button(page, 'Import and export').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button(page, 'Download JSON').click(),
    ]);
    assert.equal(download.suggestedFilename(), 'knowledge.jsonl');
    assert.ok((await text(await download.createReadStream())).includes('"title":"Parking"'));
    await page.keyboard.press('Escape');
  });

  it('customers who ask what no document answers are answered together, and an answer becomes a document', async () => {
    for (const customer of [0, 1]) await shop.ask('Do you repair grinders?', { customer });
    const told = await shop.ask('Do you lend machines for weddings?', { customer: 2 });
    await shop.answer(told, { answer: 'Yes, for 40 euros.', only_send_campaign: true });
    const { page } = await shop.open({ path: '/knowledge?show=gaps', fresh: true });
    await button(page, 'Write a document: Do you lend machines for weddings?').click();
    await button(page, 'Save').click();
    await heading(page, 'Do you lend machines for weddings?').waitFor();
    await page.locator('.gap', { hasText: 'weddings' }).waitFor({ state: 'detached' });
    await button(page, 'Answer all 2: Do you repair grinders?').click();
    await heading(page, '2 customers ask this').waitFor();
    await page.goBack();
    await page.locator('.gap', { hasText: 'grinders' }).waitFor();
  });
});

inBrowser('what the assistant learns from an answer', (shop) => {
  const { write, read } = documentsOf(shop);
  const taught = async (id: number) => {
    await until('it is learned', async () => (await shop.read(id)).lesson !== null);
    return (await shop.read(id)).lesson;
  };
  before(() => shop.setUndoSeconds(0));

  it('is nothing for a personal question, or if I choose that on one line on a phone', async () => {
    const { page } = await shop.open({ path: `/inbox/${await shop.ask('Where is my order 4471?')}` });
    await page.getByText('This question is only about this customer.').waitFor();
    assert.equal(await chosen(page), 'Nothing');
    const id = await shop.ask('Do you sell postcards?');
    await page.setViewportSize({ width: 390, height: 740 });
    await goTo(page, `/inbox/${id}`);
    await page.getByText('The assistant learns: new document “Do you sell postcards?”').waitFor();
    assert.equal(await told(page).count(), 0);
    await button(page, 'Change').click();
    await choice(page).selectOption({ label: 'Nothing' });
    await assertAccessible(page);
    await answerField(page).fill('At the till, in packs of ten.');
    await button(page, 'Send answer').click();
    assert.equal((await shop.readAnswered(id)).lesson, null);
  });

  it('never replaces a document by itself: the answer is added, unless I replace it after I saw what changes', async () => {
    const document = await write(SHIPPING, 'Parcels take two to three working days in Spain.');
    const before = await read(document);
    const id = await shop.ask('How long does a parcel take?', { document_id: document });
    const { page } = await shop.open({ path: `/inbox/${id}`, fresh: true });
    await choice(page).waitFor();
    assert.equal(await chosen(page), `Add it to “${SHIPPING}”`);
    await answerField(page).fill('About nine days, Lucía. Sorry!');
    // The customer's name may be loaded after what the answer could teach.
    await becomes(() => told(page).inputValue(), 'About nine days. Sorry!');
    await told(page).fill('Parcels take about nine days.');
    await answerField(page).fill('About nine days, Lucía. Sorry about that!');
    assert.equal(await told(page).inputValue(), 'Parcels take about nine days.');
    await choice(page).selectOption({ label: `Replace “${SHIPPING}”` });
    const diff = page.getByRole('region', { name: `What changes in “${SHIPPING}”` });
    await diff.locator('del').first().waitFor();
    await diff.locator('ins').first().waitFor();
    await button(page, 'Send answer').click();
    const lesson = await taught(id);
    assert.deepEqual([lesson.do, lesson.document_id], ['replace', document]);
    assert.equal((await read(document)).body, 'Parcels take about nine days.');
    assert.equal((await shop.read(id)).answer.answer, 'About nine days, Lucía. Sorry about that!');

    await goTo(page, `/inbox/${id}`);
    await page.getByText(`It replaced the text of “${SHIPPING}”.`).waitFor();
    await button(page, 'Undo what it learned').click();
    await button(page, 'Undo what it learned').waitFor({ state: 'detached' });
    assert.equal((await read(document)).body, before.body);
  });

  it('is not lost if I send before it is known', async () => {
    const id = await shop.ask('Do you sell coffee filters?');
    const { promise: known, resolve: tell } = Promise.withResolvers<void>();
    const { page } = await shop.open({ path: '/overview' });
    await page.route('**/teaching', async (route) => {
      await known;
      await route.continue();
    });
    await goTo(page, `/inbox/${id}`);
    await answerField(page).fill('Yes, in packs of forty.');
    await button(page, 'Send answer').click();
    assert.equal(await choice(page).count(), 0);
    tell();
    const lesson = await taught(id);
    const { body } = await read(lesson.document_id);
    assert.deepEqual([lesson.do, body], ['new', 'Yes, in packs of forty.']);
  });

  it('is another wording if a document is sent as it is', async () => {
    await write(BEANS, 'In the bag they came in, closed, in a dark and dry cupboard.');
    const id = await shop.ask('How should I keep my beans?');
    const { page } = await shop.open({ path: `/inbox/${id}` });
    await button(page, BEANS).click();
    await isChosen(page, `Another wording for “${BEANS}”`);
    // A changed text is not, and a draft remembers it.
    await answerField(page).press('End');
    await answerField(page).pressSequentially('!');
    await isChosen(page, 'A new document');
    await page.keyboard.press('Backspace');
    await page.reload();
    await isChosen(page, `Another wording for “${BEANS}”`);
    await button(page, 'Send answer').click();
    assert.equal((await taught(id)).do, 'wording');
    await goTo(page, `/inbox/${id}`);
    await page.getByText(`The question is another wording for “${BEANS}”.`).waitFor();
  });
});

inBrowser('answers without you', (shop) => {
  it('are shown, take judgements back, and have a threshold', async () => {
    const confidence = async () => (await shop.get(`${KNOWLEDGE}/confidence`)).json;
    const { write } = documentsOf(shop);
    const title = 'How much is shipping?';
    await write(title, 'Nothing from 35 €.');
    const customer = { phone: '+34611550101' };
    const { json } = await shop.post('/ask', { question: title, customer });
    assert.equal(json.status, 'known');

    const { page } = await shop.open({ path: '/settings/assistant' });
    const section = page.locator('.settings-block', { hasText: 'Answers without you' });
    const judge = (name: string) => section.getByRole('button', { name: `${name}: ${title}` });
    const says = (text: string) => section.getByText(text).waitFor();
    await says('No recognised question has been judged yet.');
    await says('For now, only the same question is answered without asking you.');
    await judge('Wrong').click();
    await says('Right: 0 of 1 recognised question.');
    assert.deepEqual((await confidence()).learned.wrong, 1);
    // The button that was pressed is gone: the focus is on what takes its place.
    await page.locator(`button:focus[aria-label="Undo: ${title}"]`).waitFor();
    await judge('Undo').click();
    await says('No recognised question has been judged yet.');

    await section.getByText('Always ask me').click();
    await says('You are asked every time.');
    assert.equal((await confidence()).setting, 'off');
    await section.getByText('My own threshold').click();
    await section.getByRole('slider').fill('75');
    await says('Answers from 75% match are given without asking you.');
    await assertAccessible(page);
    assert.equal((await confidence()).setting, 0.75);
  });
});
