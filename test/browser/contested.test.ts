import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addUser } from '../support/server.ts';
import {
  answerField,
  apiOf,
  button,
  focused,
  inBrowser,
  rowOf,
  sentAnswer,
  typeUntilSeen,
  waitUntilLive,
} from './browser.ts';

inBrowser('an answer that somebody else gives while I write mine', (dashboard) => {
  const { api, read, createNotification } = apiOf(dashboard);
  const answer = (id: string, body: unknown) => api('POST', `/api/v1/notification/${id}/answer`, body);

  it('locks the form with my text, says who answered what, and moves neither the focus nor the page', async () => {
    const other = await createNotification();
    const id = await createNotification();
    const window = await dashboard.open({
      path: `/inbox/${id}`,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = window;
    await waitUntilLive(page);
    await rowOf(page, other).waitFor();
    await answerField(page).click();
    await page.keyboard.type('We have them');
    await answer(id, { answer: 'Yes, on Fridays.' });
    const notice = page.getByRole('alert');
    await notice.getByText('Yes, on Fridays.').waitFor();
    assert.match((await notice.textContent())!, /^Alma Reyes answered this:/);
    await page.keyboard.type(' on Mondays, too. See you there#');
    await page.keyboard.press('Control+Enter');
    assert.equal(await answerField(page).inputValue(), 'We have them');
    assert.equal(await focused(page), 'answer');
    assert.equal(new URL(page.url()).pathname, `/inbox/${id}`);
    assert.equal((await read(other)).status, 'requested');
    assert.equal(await button(page, 'Send answer').count(), 0);
    assert.equal(await button(page, 'Resolve').count(), 0);
    await button(page, 'Copy my text').click();
    await button(page, 'Copied').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'We have them');
    // It is not lost by a reload either.
    await page.reload();
    await notice.getByText('Yes, on Fridays.').waitFor();
    assert.equal(await answerField(page).inputValue(), 'We have them');
    await button(page, 'Discard my text').click();
    await sentAnswer(page).waitFor();
    await page.getByText('Yes, on Fridays.').waitFor();
    assert.equal(await answerField(page).count(), 0);
    await window.close();
  });

  it('can be followed by my text as another message, and nobody gets it twice', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Also on Mondays.');
    await answer(id, { answer: 'Yes, on Fridays.' });
    const { conversation_id } = await read(id);
    await button(page, 'Send as a follow-up').click();
    await page.getByText('Your message is on its way.').first().waitFor();
    await sentAnswer(page).waitFor();
    const { json } = await api('GET', `/api/v1/conversation/${conversation_id}/timeline?limit=50`);
    const texts = JSON.stringify(json.items);
    assert.equal(texts.split('Also on Mondays.').length, 2, texts);
    await window.close();
  });

  it('is announced: I see who else has the question open and who is typing before it comes to that', async () => {
    const id = await createNotification();
    const colleague = await addUser(dashboard.deskbell);
    const [mine, theirs] = await Promise.all([
      dashboard.open({ path: `/inbox/${id}` }),
      dashboard.open({ path: `/inbox/${id}`, user: colleague }),
    ]);
    await mine.page
      .getByRole('status')
      .getByText(/has this open/)
      .waitFor();
    // In the form, not in the list.
    const notice = mine.page.getByRole('status').getByText(/is writing an answer/);
    await typeUntilSeen(theirs.page.locator('[data-reply]'), notice);
    await theirs.page.goto('/healthz');
    await notice.waitFor({ state: 'detached' });
    await mine.close();
    await theirs.close();
  });

  it('is shown instead of an empty form, because nothing would be lost', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).click();
    await answer(id, { answer: 'Yes, on Fridays.' });
    await sentAnswer(page).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.keyboard.type('xe#');
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    assert.equal(await page.locator('.toast').count(), 0);
    await window.close();
  });
});
