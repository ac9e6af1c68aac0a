import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { inBrowserOn, MOVED_CLOCK } from './browser.ts';
import { answerField, button, goTo, rowOf, sentAnswer, waitUntilLive } from './page.ts';

inBrowserOn(MOVED_CLOCK, 'questions of an assistant that asks for itself', (shop) => {
  before(() => shop.setUndoSeconds(0));
  let key: string | undefined;
  const call = async (method: string, path: string, body?: unknown) => {
    key ??= await shop.key();
    const reply = await shop.deskbell.call(method, `/api/v1/ask${path}`, { token: key, body });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  let asked = 0;
  const ask = (body: object = {}) => {
    asked += 1;
    const question = `Can I pick up order ${asked} tomorrow?`;
    return call('POST', '', { question, customer: { phone: `+3461177${asked + 1000}` }, ...body });
  };

  it('one that has expired is marked at once, in its row and above the answer, and can still be answered', async () => {
    const { id } = await ask({ expires_in_seconds: 60 });
    const { page } = await shop.open({ path: `/inbox/${id}` });
    await waitUntilLive(page);
    const mark = rowOf(page, id).getByText('Assistant stopped waiting');
    await answerField(page).waitFor();
    assert.equal(await mark.count(), 0);
    await shop.deskbell.clock.advance(61);
    await call('GET', `/${id}`);
    await mark.waitFor();
    await page
      .getByText('The assistant is no longer waiting for this answer. Your reply still reaches the customer.')
      .waitFor();
    await answerField(page).fill('Yes, from nine.');
    await button(page, 'Send answer').click();
    await shop.readAnswered(id);
    await goTo(page, `/inbox/${id}`);
    await sentAnswer(page).waitFor();
    await page.getByText('Delivered').first().waitFor();
    assert.equal((await call('GET', `/${id}`)).late, true);
  });

  it('a question that the assistant cancels leaves the list, and its page says why', async () => {
    const { id } = await ask();
    const { page } = await shop.open({ path: `/inbox/${id}` });
    await waitUntilLive(page);
    await answerField(page).waitFor();
    await call('DELETE', `/${id}`);
    await page.getByText('The assistant cancelled this question. Nothing was sent.').waitFor();
    await page.getByRole('heading', { name: /^Cancelled/ }).waitFor();
    assert.equal(await sentAnswer(page).count(), 0);
    await rowOf(page, id).waitFor({ state: 'detached' });
    await page.locator('.tab').filter({ hasText: 'Resolved' }).click();
    await rowOf(page, id).getByText('Cancelled').first().waitFor();
  });

  it('with an assistant that speaks to the customer, it says who passes the reply on and shows no delivery', async () => {
    const { id } = await ask({ deliver: 'assistant', customer: { reference: 'web-7', name: 'Marta' } });
    const { page } = await shop.open({ path: `/inbox/${id}` });
    await page.getByText('The assistant passes your answer on to Marta').waitFor();
    const header = page.locator('.notification-header');
    assert.equal(await header.locator('a[href^="tel:"]').count(), 0);
    // Nobody can write to this customer, so there is no time left to reply either.
    assert.equal(await rowOf(page, id).locator('.row-phone, .reply-window').count(), 0);
    await answerField(page).fill('Yes, from nine.');
    await button(page, 'Send answer').click();
    await shop.readAnswered(id);
    await goTo(page, `/inbox/${id}`);
    await sentAnswer(page).waitFor();
    await page.getByText('The assistant passes your reply on to the customer.').waitFor();
    assert.equal(await page.locator('.steps').count(), 0);
    assert.equal((await call('GET', `/${id}`)).answer, 'Yes, from nine.');
  });
});
