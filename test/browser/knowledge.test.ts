import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { apiOf, button, inBrowser } from './browser.ts';

const documentRow = (page: Page, id: number) => page.locator(`a.document-row[href="/knowledge/${id}"]`);

inBrowser('the knowledge base', (dashboard) => {
  const { api } = apiOf(dashboard);
  const read = async (id: number) => (await api('GET', `/api/v1/knowledge/${id}`)).json;

  it('deleting a document can be undone, and then nothing is deleted', async () => {
    const window = await dashboard.open({ path: '/knowledge/1' });
    const { page } = window;
    await button(page, 'Delete').click();
    await documentRow(page, 1).waitFor({ state: 'detached' });
    await page.getByText('Select a document').waitFor();
    await button(page, 'Undo').click();
    await documentRow(page, 1).waitFor();
    assert.equal((await read(1)).id, 1);
    await window.close();
  });

  it('a deleted document is deleted on the server after ten seconds', async () => {
    const window = await dashboard.open({ path: '/knowledge' });
    const { page } = window;
    await documentRow(page, 2).click();
    await window.installClock();
    await button(page, 'Delete').click();
    await documentRow(page, 2).waitFor({ state: 'detached' });
    assert.equal((await read(2)).id, 2);
    const done = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await page.clock.fastForward(10_000);
    await done;
    assert.equal((await read(2)).code, 'DOCUMENT_NOT_FOUND');
    assert.equal(await documentRow(page, 2).count(), 0);
    await window.close();
  });

  it('signing out completes a pending delete', async () => {
    const window = await dashboard.open({ path: '/knowledge/3' });
    const { page } = window;
    await button(page, 'Delete').click();
    await documentRow(page, 3).waitFor({ state: 'detached' });
    await button(page, 'Settings').click();
    // By key: a click would wait until the message about the delete, which covers the button, has gone.
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    await page.getByText('You are signed out.').waitFor();
    assert.equal((await read(3)).code, 'DOCUMENT_NOT_FOUND');
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
});
