import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { QUESTION } from '../support/server.ts';
import {
  answerField,
  apiOf,
  becomes,
  button,
  inBrowser,
  rowOf,
  turnOnShortcuts,
  waitUntilLive,
} from './browser.ts';

inBrowser('customers who ask the same', (dashboard) => {
  const { api, read, readAnswered, createNotification, setUndoSeconds } = apiOf(dashboard);
  before(() => setUndoSeconds(0));

  /** From each of the three customers. */
  const ask = async (question: string) => {
    const ids: string[] = [];
    for (const conversation_id of [1, 2, 3])
      ids.push(await createNotification({ ...QUESTION, conversation_id, context: { question } }));
    return ids;
  };

  it('are one row, and get one answer, which the assistant learns once', async () => {
    const window = await dashboard.open();
    const { page } = window;
    await waitUntilLive(page);
    const ids = await ask('Do you sell oat milk?');
    const row = page.locator('.row', { hasText: '3 customers ask this' });
    await row.waitFor();
    assert.equal(await page.locator('.row', { hasText: 'oat milk' }).count(), 1);
    await row.locator('.row-link').click();
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('Yes, from Asturias.');
    await button(page, 'Send to 3 customers').click();
    await page.getByRole('heading', { name: 'Sent to 3 customers' }).waitFor();
    for (const id of ids) assert.equal((await readAnswered(id)).answer.answer, 'Yes, from Asturias.');
    const { json } = await api('GET', '/api/v1/knowledge/?q=oat');
    assert.equal(json.length, 1);
    await row.waitFor({ state: 'detached' });
    await window.close();
  });

  it('can be left out or taken out, and the button says how many get the answer', async () => {
    const [first, second, third] = await ask('Do you sell rye bread?');
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await button(page, 'Not the same: Tomás Oliveira').click();
    await page.getByRole('heading', { name: '2 customers ask this' }).waitFor();
    await rowOf(page, second!).waitFor();
    await button(page, 'Undo').click();
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await page
      .getByRole('checkbox', { name: /Layla Haddad/ })
      .last()
      .uncheck();
    await answerField(page).fill('On Fridays.');
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector('form.answer .answer-actions')?.textContent.includes('Send answer'))
        document.body.dataset.askedAgain = true;
    }).observe(document.body, { subtree: true, childList: true })`);
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { name: 'Sent to 2 customers' }).waitFor();
    // No empty form was shown before, as if nothing had been sent.
    assert.equal(await page.locator('[data-asked-again]').count(), 0);
    await readAnswered(first!);
    await readAnswered(second!);
    assert.equal((await read(third!)).status, 'requested');
    await window.close();
  });

  it('are answered with a document, which gets their questions as the form says', async () => {
    const ids = await ask('How should I store my beans?');
    const window = await dashboard.open({ path: `/inbox/${ids[0]}` });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await button(page, 'How to store coffee beans').click();
    await page
      .getByText('Their questions will be added to “How to store coffee beans” as other wordings.')
      .waitFor();
    assert.equal(
      await page
        .getByRole('combobox', { name: 'The assistant learns' })
        .locator('option:checked')
        .textContent(),
      'Other wordings for “How to store coffee beans”',
    );
    await page.keyboard.type(' Or ask us.');
    await page.getByText('Each customer gets your answer, and the assistant learns it once.').waitFor();
    await window.close();
  });

  it('do not get an answer that was begun before they asked', async () => {
    const ask = (conversation_id: number) =>
      createNotification({ ...QUESTION, conversation_id, context: { question: 'Do you sell plum jam?' } });
    const first = await ask(1);
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('From August.');
    const second = await ask(2);
    await page.locator('.row[data-group="2"]').waitFor();
    await button(page, 'Send answer').click();
    await readAnswered(first);
    assert.equal((await read(second)).status, 'requested');
    await window.close();
  });

  it('stay left out when the user comes back to the answer, and for the shortcuts', async () => {
    const [first, second, third] = await ask('Do you sell pine nuts?');
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    const layla = page.locator('.group-members').getByRole('checkbox', { name: /Layla Haddad/ });
    await answerField(page).fill('In small bags.');
    await layla.uncheck();
    await page.reload();
    await button(page, 'Send to 2 customers').waitFor();
    assert.equal(await layla.isChecked(), false);
    assert.equal(await answerField(page).inputValue(), 'In small bags.');
    await turnOnShortcuts(page);
    await page.keyboard.press('e');
    await page.getByText('2 resolved without a reply.').waitFor();
    await page.keyboard.press('z');
    await button(page, 'Send to 2 customers').click();
    await readAnswered(first!);
    await readAnswered(second!);
    assert.equal((await read(third!)).status, 'requested');
    await window.close();
  });

  it('can be undone together: nobody gets it, and the text and who was left out are back', async () => {
    await setUndoSeconds(60);
    const [first, second, third] = await ask('Do you sell sour cherries?');
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    const layla = page.locator('.group-members').getByRole('checkbox', { name: /Layla Haddad/ });
    await layla.uncheck();
    await answerField(page).fill('In June.');
    await button(page, 'Send to 2 customers').click();
    await page.getByRole('heading', { name: 'Sent to 2 customers' }).waitFor();
    assert.equal((await read(first!)).delivery, null);
    await page.locator('.toast').getByRole('button', { name: /^Undo/ }).click();
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await becomes(() => answerField(page).inputValue(), 'In June.');
    await becomes(() => layla.isChecked(), false);
    for (const id of [first, second, third]) assert.equal((await read(id!)).status, 'requested');
    await setUndoSeconds(0);
    await window.close();
  });

  it('are undone with the text even if the page hears of it before the response arrives', async () => {
    await setUndoSeconds(60);
    const [first] = await ask('Do you sell quince paste?');
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await waitUntilLive(page);
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('In October.');
    await button(page, 'Send to 3 customers').click();
    await page.getByRole('heading', { name: 'Sent to 3 customers' }).waitFor();
    await page.route('**/reopen-many', async (route) => {
      const response = await route.fetch();
      await page.locator('.row[data-group="3"]', { hasText: 'quince' }).waitFor();
      await route.fulfill({ response });
    });
    await page.locator('.toast').getByRole('button', { name: /^Undo/ }).click();
    await button(page, 'Send to 3 customers').waitFor();
    await becomes(() => answerField(page).inputValue(), 'In October.');
    await setUndoSeconds(0);
    await window.close();
  });

  it('are resolved with the text, which is back if only one of them is reopened', async () => {
    const [first] = await ask('Do you sell almond milk?');
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('Not yet, but');
    await button(page, 'Resolve without replying').click();
    await button(page, 'Reopen').click();
    await becomes(() => answerField(page).inputValue(), 'Not yet, but');
    await window.close();
  });

  it('are answered while another answer is being taken back', async () => {
    await setUndoSeconds(60);
    const [figs] = await ask('Do you sell dried figs?');
    await ask('Do you sell green tea?');
    const window = await dashboard.open({ path: `/inbox/${figs}` });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('From Izmir.');
    await button(page, 'Send to 3 customers').click();
    await page.getByRole('heading', { name: 'Sent to 3 customers' }).waitFor();
    const answered = Promise.withResolvers<void>();
    await page.route('**/reopen-many', async (route) => {
      const response = await route.fetch();
      await answered.promise;
      await route.fulfill({ response });
    });
    await page.locator('.toast').getByRole('button', { name: /^Undo/ }).click();
    await page.locator('.row', { hasText: 'green tea' }).locator('.row-link').click();
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('Three kinds.');
    await button(page, 'Send to 3 customers').click();
    await page.getByRole('heading', { name: 'Sent to 3 customers' }).waitFor();
    answered.resolve();
    await becomes(() => answerField(page).inputValue(), 'From Izmir.');
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Sent to 3 customers' }).waitFor();
    await setUndoSeconds(0);
    await window.close();
  });

  it('stay apart, and the user is told, if that cannot be undone', async () => {
    const [first] = await ask('Do you sell barley?');
    const window = await dashboard.open({ path: `/inbox/${first}`, expectedErrors: /503/ });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await page.route('**/ungroup', (route) =>
      route.request().method() === 'DELETE' ? route.fulfill({ status: 503 }) : route.continue(),
    );
    await button(page, 'Not the same: Tomás Oliveira').click();
    await page.getByRole('heading', { name: '2 customers ask this' }).waitFor();
    await button(page, 'Undo').click();
    await page.locator('.toast[data-tone="error"]').waitFor();
    await window.close();
  });

  it('are moved over, selected and resolved as one row by the keyboard', async () => {
    const ids = await ask('Do you sell seed cake?');
    const window = await dashboard.open();
    const { page } = window;
    // Other tests have left groups of three, too.
    const row = page.locator('.row[data-group="3"]', { hasText: 'seed cake' });
    await row.waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await page.keyboard.press('x');
    await page.getByText('3 selected').waitFor();
    await page.keyboard.press('e');
    await page.getByText('3 resolved without a reply.').waitFor();
    await page.locator('.row', { hasText: 'seed cake' }).waitFor({ state: 'detached' });
    await page.keyboard.press('z');
    await row.waitFor();
    for (const id of ids) assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('keep the text, and who was left out, when somebody else answers the one that is open', async () => {
    const [first, second, third] = await ask('Do you sell fig bars?');
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await waitUntilLive(page);
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    const layla = page.locator('.group-members').getByRole('checkbox', { name: /Layla Haddad/ });
    await layla.uncheck();
    await answerField(page).fill('In autumn.');
    await api('POST', `/api/v1/notification/${first}/answer`, { answer: 'Ask Alma.' });
    await page.getByRole('heading', { name: '2 customers ask this' }).waitFor();
    assert.equal(await answerField(page).inputValue(), 'In autumn.');
    assert.equal(await page.evaluate('document.activeElement.name'), 'answer');
    assert.equal(await layla.isChecked(), false);
    await button(page, 'Send to 1 customer').click();
    assert.equal((await readAnswered(second!)).answer.answer, 'In autumn.');
    assert.equal((await read(third!)).status, 'requested');
    await window.close();
  });

  it('keep the text when the one that is open is taken out, also if only one is left', async () => {
    const [first, second, third] = await ask('Do you sell date syrup?');
    const window = await dashboard.open({ path: `/inbox/${first}` });
    const { page } = window;
    await waitUntilLive(page);
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('By the litre.');
    await button(page, 'Not the same: Lucía Fernández').click();
    await page.getByRole('heading', { name: '2 customers ask this' }).waitFor();
    assert.equal(await answerField(page).inputValue(), 'By the litre.');
    await button(page, 'Not the same: Tomás Oliveira').click();
    await page.getByRole('heading', { name: '1 customer asks this' }).waitFor();
    assert.equal(await answerField(page).inputValue(), 'By the litre.');
    await button(page, 'Send to 1 customer').click();
    await page.getByRole('heading', { name: 'Sent to 1 customer' }).waitFor();
    assert.equal((await readAnswered(third!)).answer.answer, 'By the litre.');
    for (const id of [first, second]) {
      await rowOf(page, id!).click();
      await page.getByRole('heading', { level: 2, name: /Lucía|Tomás/ }).waitFor();
      assert.equal(await answerField(page).inputValue(), '');
      assert.equal((await read(id!)).status, 'requested');
    }
    await window.close();
  });

  it('keep the text when the server fails, and get it when it is sent again', async () => {
    const ids = await ask('Do you sell rose water?');
    const window = await dashboard.open({ path: `/inbox/${ids[2]}`, expectedErrors: /503/ });
    const { page } = window;
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('Since May.');
    const address = '**/notification/answer-many';
    await page.route(address, async (route) => {
      // One of them has got it before the failure.
      await api('POST', `/api/v1/notification/${ids[2]}/answer`, { answer: 'Since May.' });
      await route.fulfill({ status: 503, json: { detail: 'Try again', code: 'SERVICE_UNAVAILABLE' } });
    });
    await button(page, 'Send to 3 customers').click();
    await page.getByRole('alert').waitFor();
    assert.equal(await answerField(page).inputValue(), 'Since May.');
    await page.unroute(address);
    await button(page, 'Send to 2 customers').click();
    await page.getByRole('heading', { name: 'Sent to 2 customers' }).waitFor();
    for (const id of ids) assert.equal((await readAnswered(id)).answer.answer, 'Since May.');
    await window.close();
  });
});
