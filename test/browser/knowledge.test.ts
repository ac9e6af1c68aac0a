import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { button, inBrowser } from './browser.ts';

const documentRow = (page: Page, id: number) => page.locator(`a.document-row[href="/knowledge/${id}"]`);

inBrowser('the knowledge base', (desk) => {
  const read = async (id: number) =>
    (await desk.deskbell.call('GET', `/api/v1/knowledge/${id}`, { token: await desk.deskbell.signIn() }))
      .json;

  it('a document that was deleted can be brought back for a while; nothing has happened then', async () => {
    const window = await desk.open({ at: '/knowledge/1' });
    const { page } = window;
    await button(page, 'Delete').click();
    await documentRow(page, 1).waitFor({ state: 'detached' });
    await page.getByText('Choose a document').waitFor();
    await button(page, 'Undo').click();
    await documentRow(page, 1).waitFor();
    assert.equal((await read(1)).id, 1);
    await window.close();
  });

  it('a document that was deleted is gone for good after ten seconds', async () => {
    const window = await desk.open({ at: '/knowledge' });
    const { page } = window;
    await documentRow(page, 2).click();
    await page.clock.install();
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

  it('who signs out has not undone it', async () => {
    const window = await desk.open({ at: '/knowledge/3' });
    const { page } = window;
    await button(page, 'Delete').click();
    await documentRow(page, 3).waitFor({ state: 'detached' });
    await button(page, 'Menu').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    assert.equal((await read(3)).code, 'DOCUMENT_NOT_FOUND');
    await window.close();
  });
});
