import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { QUESTION } from '../support/server.ts';
import { answerField, apiOf, becomes, button, focused, inBrowser } from './browser.ts';

const documentRow = (page: Page, id: number) => page.locator(`a.document-row[href="/knowledge/${id}"]`);

inBrowser('the knowledge base', (dashboard) => {
  const { api, createNotification, setUndoSeconds } = apiOf(dashboard);
  before(() => setUndoSeconds(0));
  const read = async (id: number) => (await api('GET', `/api/v1/knowledge/${id}`)).json;

  it('deleting a document asks first, and then deletes it', async () => {
    const window = await dashboard.open({ path: '/knowledge/2', expectedErrors: /404/ });
    const { page } = window;
    const { title } = await read(2);
    await button(page, 'Delete').click();
    const dialog = page.getByRole('dialog', { name: `Delete “${title}”?` });
    await dialog.getByText('This cannot be undone.').waitFor();
    await becomes(() => focused(page), 'Cancel');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await read(2)).id, 2);
    await button(page, 'Delete').click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await documentRow(page, 2).waitFor({ state: 'detached' });
    await page.getByText('Select a document').waitFor();
    assert.equal((await read(2)).code, 'DOCUMENT_NOT_FOUND');
    await window.close();
  });

  it('an unsaved edit survives opening another document and a reload, until it is saved or cancelled', async () => {
    const window = await dashboard.open({ path: '/knowledge/4' });
    const { page } = window;
    const field = page.getByRole('textbox', { name: 'What the assistant tells customers' });
    await button(page, 'Edit').click();
    await field.fill('Coarse for the press.');
    await documentRow(page, 1).click();
    await button(page, 'Edit').waitFor();
    await page.reload();
    await documentRow(page, 4).click();
    await page.getByText('Draft saved on this device').waitFor();
    assert.equal(await field.inputValue(), 'Coarse for the press.');
    await button(page, 'Save').click();
    await page.locator('.document-body', { hasText: 'Coarse for the press.' }).first().waitFor();
    assert.equal((await read(4)).body, 'Coarse for the press.');

    await button(page, 'Edit').click();
    await field.fill('Something else.');
    await button(page, 'Cancel').click();
    await button(page, 'Edit').click();
    assert.equal(await field.inputValue(), 'Coarse for the press.');
    assert.equal(await page.getByText('Draft saved on this device').count(), 0);
    await window.close();
  });

  it('a draft of an older version is saved only after a warning about the newer version', async () => {
    // The server rejects the first save, and the browser logs the failed request.
    const window = await dashboard.open({ path: '/knowledge/1', expectedErrors: /status of 409/ });
    const { page } = window;
    const field = page.getByRole('textbox', { name: 'What the assistant tells customers' });
    await button(page, 'Edit').click();
    await field.fill('Open from nine.');
    await api('PATCH', '/api/v1/knowledge/1', { body: 'Open from ten.' });
    await page.reload();
    await page.getByText('Draft saved on this device').waitFor();
    await button(page, 'Save').click();
    await page.getByText('Someone else changed this document while you were editing it.').waitFor();
    assert.equal((await read(1)).body, 'Open from ten.');
    await button(page, 'Save').click();
    await button(page, 'Edit').waitFor();
    assert.equal((await read(1)).body, 'Open from nine.');
    await window.close();
  });

  it('other wordings are added and removed on the page of the document, and removing one asks first', async () => {
    const window = await dashboard.open({ path: '/knowledge/4', expectedErrors: /status of 422/ });
    const { page } = window;
    const field = page.getByRole('textbox', { name: 'Add another wording' });
    const wordings = page.getByRole('region', { name: 'Other wordings' }).getByRole('listitem');
    for (const text of ['How fine for a moka?', 'Coarse or fine?']) {
      await field.fill(text);
      await field.press('Enter');
      await wordings.filter({ hasText: text }).waitFor();
      // It may be in the list before the response is here, which clears the field.
      await becomes(() => field.inputValue(), '');
    }
    await field.fill((await read(4)).title);
    await field.press('Enter');
    await page.getByText('The title already says this.').waitFor();
    await field.fill('coarse or FINE');
    await button(page, 'Add').click();
    await page.getByText('The document already has this wording.').waitFor();

    await button(page, 'Remove this wording: Coarse or fine?').click();
    const dialog = page.getByRole('dialog', { name: 'Remove this wording?' });
    await dialog.getByText('Coarse or fine?').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await read(4)).wordings.length, 2);
    await button(page, 'Remove this wording: Coarse or fine?').click();
    await dialog.getByRole('button', { name: 'Remove this wording' }).click();
    await wordings.filter({ hasText: 'Coarse' }).waitFor({ state: 'detached' });
    const [left, ...others] = (await read(4)).wordings;
    assert.deepEqual([left.text, others], ['How fine for a moka?', []]);
    await window.close();
  });

  it('an answer that is a document’s text adds the question to it; a changed text does not', async () => {
    const ask = (question: string) => createNotification({ ...QUESTION, context: { question } });
    const { title, version } = await read(1);
    const wording = `Another wording for “${title}”`;
    const window = await dashboard.open({
      path: `/inbox/${await ask('What are your shipping times and costs now?')}`,
    });
    const { page } = window;
    const choice = page.getByRole('combobox', { name: 'The assistant learns' });
    const chosen = (label: string) => choice.locator('option:checked', { hasText: label });
    await page.locator('.suggestion', { hasText: title }).click();
    await chosen(wording).waitFor({ state: 'attached' });
    // A draft remembers it.
    await page.reload();
    await chosen(wording).waitFor({ state: 'attached' });
    await answerField(page).press('Control+Enter');
    await page.getByText('Your answer is on its way.').first().waitFor();
    const document = await read(1);
    assert.deepEqual(
      [document.version, document.wordings.map(({ text }: { text: string }) => text)],
      [version, ['What are your shipping times and costs now?']],
    );

    await page.goto(`/inbox/${await ask('Which shipping costs and times for Lugo?')}`);
    await page.locator('.suggestion', { hasText: title }).first().click();
    await chosen(wording).waitFor({ state: 'attached' });
    await answerField(page).press('End');
    await answerField(page).pressSequentially(' Thanks!');
    await chosen('A new document').waitFor({ state: 'attached' });
    await answerField(page).press('Control+Enter');
    await page.getByText('Your answer is on its way.').first().waitFor();
    assert.equal((await read(1)).wordings.length, 1);
    await window.close();
  });

  it('a document can be written by hand, and the unsaved text survives a reload', async () => {
    const window = await dashboard.open({ path: '/knowledge' });
    const { page } = window;
    await button(page, 'New document').click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Courses');
    const field = page.getByRole('textbox', { name: 'What the assistant tells customers' });
    await field.fill('Every first Saturday.');
    await page.reload();
    assert.equal(await field.inputValue(), 'Every first Saturday.');
    await button(page, 'Save').click();
    await page.getByRole('heading', { name: 'Courses' }).waitFor();
    const id = Number(new URL(page.url()).pathname.split('/').at(-1));
    assert.equal((await read(id)).body, 'Every first Saturday.');
    await button(page, 'New document').click();
    assert.equal(await field.inputValue(), '');
    await window.close();
  });

  it('a new document is never the one that is written for an answer', async () => {
    const window = await dashboard.open({ path: '/knowledge' });
    const { page } = window;
    const draft = JSON.stringify({ title: 'Weddings', body: 'We lend machines.', notificationId: 1 });
    await page.evaluate(`localStorage.setItem('deskbell.drafts.1.document.new.1', ${JSON.stringify(draft)})`);
    await button(page, 'New document').click();
    const title = page.getByRole('textbox', { name: 'Title' });
    assert.equal(await title.inputValue(), '');
    await title.fill('Gift cards');
    await page.goto('/knowledge?new=1');
    assert.equal(await title.inputValue(), 'Weddings');
    await window.close();
  });

  it('a file shows what it would change, with the lines that are wrong, before it is imported', async () => {
    const window = await dashboard.open({ path: '/knowledge' });
    const { page } = window;
    await button(page, 'Import and export').click();
    const csv = 'title,body\nCourses,Every second Saturday.\nParking,Behind the house.\nEmpty,\n';
    const file = { name: 'faq.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByText('New: 1. Changed: 1. Unchanged: 0.').waitFor();
    await page.getByText('Line 4:').waitFor();
    assert.equal((await api('GET', '/api/v1/knowledge/?q=parking')).json.length, 0);
    await button(page, 'Import 2 documents').click();
    await page.getByText('Imported. New: 1. Changed: 1.').waitFor();
    await page.locator('.document-row', { hasText: 'Behind the house.' }).waitFor();
    await window.close();
  });

  it('all documents can be downloaded as a file', async () => {
    const window = await dashboard.open({ path: '/knowledge' });
    const { page } = window;
    await button(page, 'Import and export').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button(page, 'Download JSON').click(),
    ]);
    assert.equal(download.suggestedFilename(), 'knowledge.jsonl');
    const content = await text(await download.createReadStream());
    assert.ok(content.includes('"title":"Parking"'));
    await window.close();
  });

  it('customers who ask what no document answers are answered together, and an answer becomes a document', async () => {
    const ask = (question: string, conversation_id: number) =>
      createNotification({ ...QUESTION, conversation_id, context: { question } });
    for (const conversation of [1, 2]) await ask('Do you repair grinders?', conversation);
    const told = await ask('Do you lend machines for weddings?', 3);
    const answer = { answer: 'Yes, for 40 euros.', only_send_campaign: true };
    await api('POST', `/api/v1/notification/${told}/answer`, answer);
    const window = await dashboard.open({ path: '/knowledge?show=gaps' });
    const { page } = window;
    await button(page, 'Write a document: Do you lend machines for weddings?').click();
    await button(page, 'Save').click();
    await page.getByRole('heading', { name: 'Do you lend machines for weddings?' }).waitFor();
    await page.locator('.gap', { hasText: 'weddings' }).waitFor({ state: 'detached' });
    await button(page, 'Answer all 2: Do you repair grinders?').click();
    await page.getByRole('heading', { name: '2 customers ask this' }).waitFor();
    await page.goBack();
    await page.locator('.gap', { hasText: 'grinders' }).waitFor();
    await window.close();
  });

  it('a change leads to its version, which shows what was changed in words', async () => {
    await api('PATCH', '/api/v1/knowledge/4', { body: 'Espresso machine: fine. Moka pot: coarse.' });
    await api('PATCH', '/api/v1/knowledge/4', { body: 'Espresso machine: fine. Moka pot: medium.' });
    const { version, title } = await read(4);
    const window = await dashboard.open({ path: '/knowledge?show=changes' });
    const { page } = window;
    const change = page.locator('.document-row', { hasText: title }).first();
    await change.getByText('Changed by Alma Reyes').waitFor();
    await change.click();
    const history = page.locator('details[open]');
    await history.getByText(`Version ${version}`).waitFor();
    assert.deepEqual(await history.locator('.diff del').allTextContents(), ['removed: coarse']);
    assert.deepEqual(await history.locator('.diff ins').allTextContents(), ['added: medium']);
    await window.close();
  });
});
