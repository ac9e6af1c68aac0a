import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { CUSTOMERS, inBrowser } from './browser.ts';
import {
  answerField,
  becomes,
  button,
  changesOf,
  focused,
  goTo,
  heading,
  holdResponse,
  rowOf,
  select,
  turnOnShortcuts,
  waitUntilLive,
} from './page.ts';

/** Does something on the server after the user acts, and before the server hears of it. */
const meanwhile = (page: Page, path: string, work: () => Promise<unknown>) =>
  page.route(`**${path}`, async (route) => {
    await work();
    await route.continue();
  });
const [, TOMAS, LAYLA] = CUSTOMERS.map(({ customer_name }) => customer_name);
const customersAsk = (page: Page, count: number) =>
  heading(page, count === 1 ? '1 customer asks this' : `${count} customers ask this`).waitFor();
const sentTo = (page: Page, count: number) =>
  heading(page, count === 1 ? 'Sent to 1 customer' : `Sent to ${count} customers`).waitFor();
const layla = (page: Page) =>
  page.locator('.group-members').getByRole('checkbox', { name: new RegExp(LAYLA!) });

inBrowser('customers who ask the same', (shop) => {
  before(() => shop.setUndoSeconds(0));
  /** From each of the three customers. */
  const ask = async (question: string) => {
    const ids: number[] = [];
    for (const customer of [0, 1, 2]) ids.push(await shop.ask(question, { customer }));
    return ids;
  };
  const answersOf = (ids: number[]) =>
    Promise.all(ids.map(async (id) => (await shop.readAnswered(id)).answer.answer));
  const statusOf = async (id: number | undefined) => (await shop.read(id!)).status;

  it('are one row, and get one answer with one request, which the assistant learns once', async () => {
    const { page } = await shop.open({ fresh: true });
    await waitUntilLive(page);
    const ids = await ask('Do you sell oat milk?');
    const row = page.locator('.row', { hasText: '3 customers ask this' });
    await row.waitFor();
    assert.equal(await page.locator('.row', { hasText: 'oat milk' }).count(), 1);
    await row.locator('.row-link').click();
    await customersAsk(page, 3);
    await answerField(page).fill('Yes, from Asturias.');
    const changes = changesOf(page);
    await meanwhile(page, '/notification/answer-many', () => shop.answer(ids[1]!, 'Only on Mondays.'));
    await button(page, 'Send to 3 customers').click();
    // Who got another answer meanwhile is named, and gets no second one.
    await sentTo(page, 2);
    const refused = page.locator('.sent-to-many [data-status="refused"]');
    assert.equal(await refused.count(), 1);
    assert.match((await refused.textContent())!, /Someone else already answered/);
    assert.deepEqual(changes, ['/api/v1/notification/answer-many']);
    const answers = ['Yes, from Asturias.', 'Only on Mondays.', 'Yes, from Asturias.'];
    assert.deepEqual(await answersOf(ids), answers);
    const learned = (await shop.get('/knowledge/?q=oat')).json.filter(
      ({ body }: { body: string }) => body === 'Yes, from Asturias.',
    );
    assert.equal(learned.length, 1);
    await row.waitFor({ state: 'detached' });
  });

  it('can be left out or taken out; the button says how many get the answer, also after a reload', async () => {
    const [first, second, third] = await ask('Do you sell rye bread?');
    const { page } = await shop.open({ path: `/inbox/${first}`, fresh: true });
    await customersAsk(page, 3);
    await answerField(page).fill('On Fridays.');
    await button(page, `Not the same: ${TOMAS}`).click();
    await customersAsk(page, 2);
    await rowOf(page, second!).waitFor();
    assert.equal(await answerField(page).inputValue(), 'On Fridays.');
    await button(page, 'Undo').click();
    await customersAsk(page, 3);
    await layla(page).uncheck();
    await page.reload();
    await button(page, 'Send to 2 customers').waitFor();
    assert.equal(await layla(page).isChecked(), false);
    assert.equal(await answerField(page).inputValue(), 'On Fridays.');
    // The shortcuts leave out the same.
    await turnOnShortcuts(page);
    await page.keyboard.press('e');
    await page.getByText('2 resolved without a reply.').waitFor();
    await page.keyboard.press('z');
    await button(page, 'Send to 2 customers').click();
    await answersOf([first!, second!]);
    assert.equal(await statusOf(third), 'requested');
  });

  it('do not get an answer that was begun before they asked', async () => {
    const first = await shop.ask('Do you sell plum jam?');
    const { page } = await shop.open({ path: `/inbox/${first}`, fresh: true });
    await waitUntilLive(page);
    await answerField(page).fill('From August.');
    const second = await shop.ask('Do you sell plum jam?', { customer: 1 });
    await page.locator('.row[data-group="2"]', { hasText: 'plum jam' }).waitFor();
    await button(page, 'Send answer').click();
    await shop.readAnswered(first);
    assert.equal(await statusOf(second), 'requested');
  });

  it('can be undone together: nobody gets it, and the text and who was left out are back', async () => {
    await shop.setUndoSeconds(60);
    const ids = await ask('Do you sell sour cherries?');
    const { page } = await shop.open({ path: `/inbox/${ids[0]}`, fresh: true });
    await customersAsk(page, 3);
    await layla(page).uncheck();
    await answerField(page).fill('In June.');
    await button(page, 'Send to 2 customers').click();
    await sentTo(page, 2);
    assert.equal((await shop.read(ids[0]!)).delivery, null);
    // The page hears of it before the response arrives.
    await holdResponse(page, '**/reopen-many', () =>
      page.locator('.row[data-group="3"]', { hasText: 'sour cherries' }).waitFor(),
    );
    await page.locator('.toast').getByRole('button', { name: /^Undo/ }).last().click();
    await customersAsk(page, 3);
    await becomes(() => answerField(page).inputValue(), 'In June.');
    await becomes(() => layla(page).isChecked(), false);
    for (const id of ids) assert.equal(await statusOf(id), 'requested');
    await shop.setUndoSeconds(0);
  });

  it('keep the text, and who was left out, when somebody else answers the one that is open', async () => {
    const [first, second, third] = await ask('Do you sell fig bars?');
    const { page } = await shop.open({ path: `/inbox/${first}`, fresh: true });
    await waitUntilLive(page);
    await customersAsk(page, 3);
    await layla(page).uncheck();
    await answerField(page).fill('In autumn.');
    await shop.answer(first!, 'Ask Alma.');
    await customersAsk(page, 2);
    assert.equal(await answerField(page).inputValue(), 'In autumn.');
    assert.equal(await focused(page), 'answer');
    assert.equal(await layla(page).isChecked(), false);
    await button(page, 'Send to 1 customer').click();
    assert.deepEqual(await answersOf([second!]), ['In autumn.']);
    assert.equal(await statusOf(third), 'requested');
  });

  it('keep the text when the server fails, and get it when it is sent again', async () => {
    const ids = await ask('Do you sell rose water?');
    const { page } = await shop.open({ path: `/inbox/${ids[2]}`, expectedErrors: /503/, fresh: true });
    await customersAsk(page, 3);
    await answerField(page).fill('Since May.');
    const address = '**/notification/answer-many';
    await page.route(address, async (route) => {
      // One of them has got it before the failure.
      await shop.answer(ids[2]!, 'Since May.');
      await route.fulfill({ status: 503, json: { detail: 'Try again', code: 'SERVICE_UNAVAILABLE' } });
    });
    await button(page, 'Send to 3 customers').click();
    await page.getByRole('alert').waitFor();
    assert.equal(await answerField(page).inputValue(), 'Since May.');
    await page.unroute(address);
    await button(page, 'Send to 2 customers').click();
    await sentTo(page, 2);
    for (const answer of await answersOf(ids)) assert.equal(answer, 'Since May.');
  });
});

inBrowser('an action on many that the server refuses for some', (shop) => {
  before(() => shop.setUndoSeconds(0));

  it('is one request; what a colleague answered meanwhile keeps that answer, and its row says so', async () => {
    const [first, answered, last] = [await shop.ask(), await shop.ask(), await shop.ask()];
    const ids = [first, answered, last];
    const { page } = await shop.open({ path: '/inbox?tab=all', fresh: true });
    await rowOf(page, first).waitFor();
    await select(page, ...ids);
    const changes = changesOf(page);
    await meanwhile(page, '/notification/resolve-many', () => shop.answer(answered, 'Yes, every week.'));
    await button(page, 'Resolve').click();
    await page.locator('.toast', { hasText: '2 resolved without a reply.' }).waitFor();
    await page.locator('.toast', { hasText: 'Someone else had already answered or deleted it.' }).waitFor();
    await rowOf(page, answered).getByText('Someone else already answered').waitFor();
    for (const id of [first, last]) await rowOf(page, id).getByText('Resolved').waitFor();
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    assert.deepEqual(changes, ['/api/v1/notification/resolve-many']);
    const outcomes = await Promise.all(ids.map(async (id) => (await shop.read(id)).outcome));
    assert.deepEqual(outcomes, ['resolved', 'answered', 'resolved']);
    assert.equal((await shop.read(answered)).answer.answer, 'Yes, every week.');
    await page.locator('.toast').getByRole('button', { name: /^Undo/ }).click();
    for (const id of [first, last]) {
      await rowOf(page, id).getByText('Resolved').waitFor({ state: 'detached' });
      assert.equal((await shop.read(id)).status, 'requested');
    }
    assert.equal(changes.at(-1), '/api/v1/notification/reopen-many');

    // A person who takes care of them is one request, too.
    const others = [await shop.ask(), await shop.ask()];
    const deleted = await shop.ask();
    await goTo(page, '/inbox');
    await rowOf(page, deleted).waitFor();
    await select(page, ...others, deleted);
    changes.length = 0;
    await meanwhile(page, '/notification/assign-many', () => shop.delete(`/notification/${deleted}`));
    await page.getByRole('combobox', { name: 'Assign to …' }).selectOption({ label: 'Alma Reyes (Me)' });
    await page.locator('.toast', { hasText: '2 assigned to Alma Reyes.' }).waitFor();
    assert.deepEqual(changes, ['/api/v1/notification/assign-many']);
    for (const id of others) assert.equal((await shop.read(id)).assigned_to.name, 'Alma Reyes');
  });

  it('leaves those selected that can be tried again, each with the reason in its row', async () => {
    const resolved = await shop.ask('Is the cellar open?');
    await shop.answer(resolved, { resolve_only: true });
    const body = { conversation_id: shop.conversations[1], question: 'Do you fix kettles?' };
    const cancelled: number = (await shop.post('/ask', body)).json.id;
    await shop.delete(`/ask/${cancelled}`);
    const { page } = await shop.open({ path: '/inbox?tab=resolved', fresh: true });
    await rowOf(page, cancelled).waitFor();
    await select(page, resolved, cancelled);
    const changes = changesOf(page);
    await button(page, 'Reopen').click();
    await page.locator('.toast', { hasText: 'Reopened.' }).waitFor();
    await rowOf(page, resolved).waitFor({ state: 'detached' });
    await rowOf(page, cancelled).locator('.row-failure').waitFor();
    assert.match((await rowOf(page, cancelled).locator('.row-failure').textContent())!, /cancelled/i);
    assert.ok(await page.locator(`#select-${cancelled}`).isChecked());
    assert.equal(await page.getByText('1 selected').count(), 1);
    assert.deepEqual(changes, ['/api/v1/notification/reopen-many']);
    assert.equal((await shop.read(resolved)).status, 'requested');
  });
});
