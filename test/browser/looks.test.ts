import assert from 'node:assert/strict';
import { it } from 'node:test';
import { QUESTION } from '../support/server.ts';
import { answerField, apiOf, inBrowser, rowOf } from './browser.ts';

/** How much wider the chosen name in each filter is than its place. */
const MISSING_PIXELS = `[...document.querySelectorAll('.filters-line select')].map((select) => {
  const style = getComputedStyle(select);
  const canvas = document.createElement('canvas').getContext('2d');
  canvas.font = style.font;
  const place = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const { width } = canvas.measureText(select.selectedOptions[0].textContent);
  return Math.max(0, Math.floor(width - place));
})`;

inBrowser('what the dashboard shows', (dashboard) => {
  const { api, createNotification } = apiOf(dashboard);

  it('is a skeleton in the place of a name that is not loaded, never a made-up name', async () => {
    const id = await createNotification({ ...QUESTION, context: { question: 'Xylophones?' } });
    const window = await dashboard.open({ path: '/overview' });
    const { page } = window;
    let release = () => {};
    const wanted = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/v1/conversation/**', async (route) => {
      await wanted;
      await route.continue();
    });
    await page.goto(`/inbox/${id}`);
    await rowOf(page, id).getByText('Lucía Fernández').waitFor();
    await page.locator('.pane-customer .name-loading').waitFor();
    assert.equal(await page.getByText(/Customer #?\d/).count(), 0);
    release();
    await page.locator('.pane-customer').getByText('Lucía Fernández').waitFor();
    await page.locator('.name-loading').first().waitFor({ state: 'detached' });
    await window.close();
  });

  it('is the time left to reply on a test phone too, as WhatsApp would count it, but never that it is over', async () => {
    await api('POST', '/api/v1/simulator/1', { text: 'Hello?' });
    const id = await createNotification({ ...QUESTION, context: { question: 'Accordions?' } });
    const silent = await api('POST', '/api/v1/conversation/', {
      ...{ reference: 'silent', customer_name: 'Quim Soler', customer_phone: '+34611559911' },
    });
    const other = await createNotification({
      ...{ ...QUESTION, conversation_id: silent.json.id, context: { question: 'Bagpipes?' } },
    });
    const window = await dashboard.open({ path: '/overview' });
    const { page } = window;
    await page.goto(`/inbox/${id}`);
    await rowOf(page, id).getByText('23 hr left to reply').waitFor();
    await page.locator('.window-notice', { hasText: 'You can write to' }).waitFor();
    await rowOf(page, other).getByText('+34611559911').waitFor();
    assert.equal(await rowOf(page, other).locator('.reply-window').count(), 0);
    await window.close();
  });

  it('is “Maybe related” at an earlier answer that has little in common with the question', async () => {
    const context = { question: 'Do you have decaf beans from Peru?' };
    const id = await createNotification({ ...QUESTION, context });
    const window = await dashboard.open({ path: '/overview' });
    const { page } = window;
    const suggestion = { kind: 'document', question: 'Beans', answer: 'In a bag.' };
    const json = [
      { ...suggestion, id: 1, score: 0.83 },
      { ...suggestion, id: 2, score: 0.24 },
    ];
    await page.route('**/suggestions*', (route) => route.fulfill({ json }));
    await page.goto(`/inbox/${id}`);
    const [good, weak] = [page.locator('.suggestion').first(), page.locator('.suggestion').nth(1)];
    await good.getByText('83% match').waitFor();
    await weak.getByText('Maybe related').waitFor();
    assert.equal(await weak.getByText('%').count(), 0);
    await window.close();
  });

  for (const language of ['en', 'es', 'pt', 'ar']) {
    it(`is the whole name in the filters of a phone’s inbox (${language})`, async () => {
      const window = await dashboard.open({ language, viewport: { width: 390, height: 844 } });
      const { page } = window;
      await page.locator('.row-link').first().waitFor();
      const missing = await page.evaluate<number[]>(MISSING_PIXELS);
      assert.deepEqual(missing, [0, 0]);
      await window.close();
    });
  }

  it('is only the question and its answer on paper', async () => {
    const window = await dashboard.open({ path: '/inbox/1' });
    const { page } = window;
    await page.locator('.sent-answer').waitFor();
    await page.emulateMedia({ media: 'print' });
    for (const visible of ['.question-text', '.turn[data-answer]', '.pane-customer h2'])
      await page.locator(visible).first().waitFor();
    for (const hidden of ['.nav', '.inbox-list', '.pane-actions', '.composer', '.notes', '.takeover'])
      assert.equal(await page.locator(hidden).isVisible(), false, hidden);
    await page.emulateMedia({ media: 'screen' });
    await page.locator('.nav').waitFor();
    assert.equal(await answerField(page).count(), 0);
    await window.close();
  });
});
