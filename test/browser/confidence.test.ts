import assert from 'node:assert/strict';
import { it } from 'node:test';
import { apiOf, button, inBrowser } from './browser.ts';

const KNOWLEDGE = '/api/v1/knowledge';

inBrowser('answers without you', (dashboard) => {
  const { api } = apiOf(dashboard);
  const confidence = async () => (await api('GET', `${KNOWLEDGE}/confidence`)).json;

  it('shows what was answered, takes judgements back, and sets the threshold', async () => {
    const [document] = (await api('GET', `${KNOWLEDGE}/?limit=1`)).json;
    const customer = { phone: '+34611550101' };
    const { json } = await api('POST', '/api/v1/ask', { question: document.title, customer });
    assert.equal(json.status, 'known');

    const window = await dashboard.open({ path: '/settings/assistant' });
    const { page } = window;
    const section = page.locator('.settings-block', { hasText: 'Answers without you' });
    await section.getByText('No recognised question has been judged yet.').waitFor();
    await section.getByText('For now, only the same question is answered without asking you.').waitFor();
    await section.getByRole('button', { name: `Wrong: ${document.title}` }).click();
    await section.getByText('Right: 0 of 1 recognised question.').waitFor();
    assert.deepEqual((await confidence()).learned.wrong, 1);
    // The button that was pressed is gone: the focus is on what takes its place.
    await page.locator(`button:focus[aria-label="Undo: ${document.title}"]`).waitFor();
    await section.getByRole('button', { name: `Undo: ${document.title}` }).click();
    await section.getByText('No recognised question has been judged yet.').waitFor();
    await section.getByRole('button', { name: `Right: ${document.title}` }).click();
    await section.getByText('Right: 1 of 1 recognised question.').waitFor();
    await button(page, 'Forget what was learned').click();
    await section.getByText('No recognised question has been judged yet.').waitFor();
    await section.getByRole('button', { name: /^Count what was learned before/ }).click();
    await section.getByText('Right: 1 of 1 recognised question.').waitFor();

    await section.getByText('Always ask me').click();
    await section.getByText('You are asked every time.').waitFor();
    assert.equal((await confidence()).setting, 'off');
    await section.getByText('My own threshold').click();
    await section.getByRole('slider').fill('75');
    await section.getByText('Answers from 75% match are given without asking you.').waitFor();
    assert.equal((await confidence()).setting, 0.75);
    await section.getByText('Learned from your answers').click();
    await section.getByRole('slider').waitFor({ state: 'detached' });

    await section.getByRole('link', { name: document.title }).click();
    await page.waitForURL(`**/knowledge/${document.id}`);
    await window.close();
  });
});
