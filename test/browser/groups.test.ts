import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import {
  answerField,
  becomes,
  button,
  CUSTOMERS,
  changesOf,
  focused,
  goTo,
  heading,
  holdResponse,
  inBrowser,
  rowOf,
  turnOnShortcuts,
  waitUntilLive,
} from './browser.ts';

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
const undo = (page: Page) => page.locator('.toast').getByRole('button', { name: /^Undo/ }).click();
const layla = (page: Page) =>
  page.locator('.group-members').getByRole('checkbox', { name: new RegExp(LAYLA!) });

inBrowser('customers who ask the same', (shop) => {
  before(() => shop.setUndoSeconds(0));
  /** From each of the three customers. */
  const ask = async (question: string) => {
    const ids: string[] = [];
    for (const customer of [0, 1, 2]) ids.push(await shop.ask(question, { customer }));
    return ids;
  };
  const answersOf = (ids: string[]) =>
    Promise.all(ids.map(async (id) => (await shop.readAnswered(id)).answer.answer));
  const statusOf = async (id: string | undefined) => (await shop.read(id!)).status;

  it('are one row, and get one answer, which the assistant learns once', async () => {
    const { page } = await shop.open({ fresh: true });
    await waitUntilLive(page);
    const ids = await ask('Do you sell oat milk?');
    const row = page.locator('.row', { hasText: '3 customers ask this' });
    await row.waitFor();
    assert.equal(await page.locator('.row', { hasText: 'oat milk' }).count(), 1);
    await row.locator('.row-link').click();
    await customersAsk(page, 3);
    await answerField(page).fill('Yes, from Asturias.');
    await button(page, 'Send to 3 customers').click();
    await sentTo(page, 3);
    for (const answer of await answersOf(ids)) assert.equal(answer, 'Yes, from Asturias.');
    assert.equal((await shop.api('GET', '/api/v1/knowledge/?q=oat')).json.length, 1);
    await row.waitFor({ state: 'detached' });
  });

  it('can be left out or taken out, and the button says how many get the answer', async () => {
    const [first, second, third] = await ask('Do you sell rye bread?');
    const { page } = await shop.open({ path: `/inbox/${first}`, fresh: true });
    await customersAsk(page, 3);
    await button(page, `Not the same: ${TOMAS}`).click();
    await customersAsk(page, 2);
    await rowOf(page, second!).waitFor();
    await button(page, 'Undo').click();
    await customersAsk(page, 3);
    await layla(page).uncheck();
    await answerField(page).fill('On Fridays.');
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector('form.answer .answer-actions')?.textContent.includes('Send answer'))
        document.body.dataset.askedAgain = true;
    }).observe(document.body, { subtree: true, childList: true })`);
    await page.keyboard.press('Control+Enter');
    await sentTo(page, 2);
    // No empty form was shown before, as if nothing had been sent.
    assert.equal(await page.locator('[data-asked-again]').count(), 0);
    await answersOf([first!, second!]);
    assert.equal(await statusOf(third), 'requested');
  });

  it('are answered with a document, which gets their questions as the form says', async () => {
    const title = 'How to store coffee beans';
    await shop.api('POST', '/api/v1/knowledge/', { title, body: 'In the bag they came in, closed.' });
    const ids = await ask('How should I store my beans?');
    const { page } = await shop.open({ path: `/inbox/${ids[0]}`, fresh: true });
    await customersAsk(page, 3);
    await button(page, title).click();
    await page.getByText(`Their questions will be added to “${title}” as other wordings.`).waitFor();
    const learns = page.getByRole('combobox', { name: 'The assistant learns' });
    const chosen = await learns.locator('option:checked').textContent();
    assert.equal(chosen, `Other wordings for “${title}”`);
    await page.keyboard.type(' Or ask us.');
    await page.getByText('Each customer gets your answer, and the assistant learns it once.').waitFor();
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

  it('stay left out when I come back to the answer, and for the shortcuts', async () => {
    const [first, second, third] = await ask('Do you sell pine nuts?');
    const { page } = await shop.open({ path: `/inbox/${first}`, fresh: true });
    await customersAsk(page, 3);
    await answerField(page).fill('In small bags.');
    await layla(page).uncheck();
    await page.reload();
    await button(page, 'Send to 2 customers').waitFor();
    assert.equal(await layla(page).isChecked(), false);
    assert.equal(await answerField(page).inputValue(), 'In small bags.');
    await turnOnShortcuts(page);
    await page.keyboard.press('e');
    await page.getByText('2 resolved without a reply.').waitFor();
    await page.keyboard.press('z');
    await button(page, 'Send to 2 customers').click();
    await answersOf([first!, second!]);
    assert.equal(await statusOf(third), 'requested');
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

  it('are resolved with the text, which is back if only one of them is reopened', async () => {
    const [first] = await ask('Do you sell almond milk?');
    const { page } = await shop.open({ path: `/inbox/${first}`, fresh: true });
    await customersAsk(page, 3);
    await answerField(page).fill('Not yet, but');
    await button(page, 'Resolve without replying').click();
    await button(page, 'Reopen').click();
    await becomes(() => answerField(page).inputValue(), 'Not yet, but');
  });

  it('are answered while another answer is being taken back', async () => {
    await shop.setUndoSeconds(60);
    const [figs] = await ask('Do you sell dried figs?');
    await ask('Do you sell green tea?');
    const { page } = await shop.open({ path: `/inbox/${figs}`, fresh: true });
    await customersAsk(page, 3);
    await answerField(page).fill('From Izmir.');
    await button(page, 'Send to 3 customers').click();
    await sentTo(page, 3);
    const answered = Promise.withResolvers<void>();
    await holdResponse(page, '**/reopen-many', () => answered.promise);
    await undo(page);
    await page.locator('.row', { hasText: 'green tea' }).locator('.row-link').click();
    await customersAsk(page, 3);
    await answerField(page).fill('Three kinds.');
    await button(page, 'Send to 3 customers').click();
    await sentTo(page, 3);
    answered.resolve();
    await becomes(() => answerField(page).inputValue(), 'From Izmir.');
    await customersAsk(page, 3);
    await page.goBack();
    await sentTo(page, 3);
    await shop.setUndoSeconds(0);
  });

  it('are moved over, selected and resolved as one row by the keyboard', async () => {
    const ids = await ask('Do you sell seed cake?');
    const { page } = await shop.open({ fresh: true });
    // Other tests have left groups of three, too.
    const row = page.locator('.row[data-group="3"]', { hasText: 'seed cake' });
    await row.waitFor();
    await turnOnShortcuts(page);
    await page.keyboard.press('j');
    await customersAsk(page, 3);
    await page.keyboard.press('x');
    await page.getByText('3 selected').waitFor();
    await page.keyboard.press('e');
    await page.getByText('3 resolved without a reply.').waitFor();
    await page.locator('.row', { hasText: 'seed cake' }).waitFor({ state: 'detached' });
    await page.keyboard.press('z');
    await row.waitFor();
    for (const id of ids) assert.equal(await statusOf(id), 'requested');
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

  it('keep the text when some are taken out, and the user is told if that cannot be undone', async () => {
    const [first, second, third] = await ask('Do you sell date syrup?');
    const { page } = await shop.open({ path: `/inbox/${first}`, expectedErrors: /503/, fresh: true });
    await waitUntilLive(page);
    await customersAsk(page, 3);
    await answerField(page).fill('By the litre.');
    await button(page, 'Not the same: Lucía Fernández').click();
    await customersAsk(page, 2);
    assert.equal(await answerField(page).inputValue(), 'By the litre.');
    await button(page, `Not the same: ${TOMAS}`).click();
    await customersAsk(page, 1);
    assert.equal(await answerField(page).inputValue(), 'By the litre.');
    await page.route('**/ungroup', (route) =>
      route.request().method() === 'DELETE' ? route.fulfill({ status: 503 }) : route.continue(),
    );
    await page.keyboard.press('Escape');
    await button(page, 'Undo').last().click();
    await page.locator('.toast[data-tone="error"]').waitFor();
    await customersAsk(page, 1);
    await button(page, 'Send to 1 customer').click();
    await sentTo(page, 1);
    assert.deepEqual(await answersOf([third!]), ['By the litre.']);
    for (const id of [first, second]) {
      await rowOf(page, id!).click();
      await page.getByRole('heading', { level: 2, name: /Lucía|Tomás/ }).waitFor();
      assert.equal(await answerField(page).inputValue(), '');
      assert.equal(await statusOf(id), 'requested');
    }
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

  it('get one answer with one request; who got another one meanwhile is named, and gets no second one', async () => {
    const ids = await ask('Do you sell soy milk?');
    const { page } = await shop.open({ path: `/inbox/${ids[0]}`, fresh: true });
    await waitUntilLive(page);
    await customersAsk(page, 3);
    await answerField(page).fill('Yes, from Asturias.');
    const changes = changesOf(page);
    await meanwhile(page, '/notification/answer-many', () => shop.answer(ids[1]!, 'Only on Mondays.'));
    await button(page, 'Send to 3 customers').click();
    await sentTo(page, 2);
    const refused = page.locator('.sent-to-many [data-status="refused"]');
    assert.equal(await refused.count(), 1);
    assert.match((await refused.textContent())!, /Someone else already answered/);
    assert.deepEqual(changes, ['/api/v1/notification/answer-many']);
    assert.deepEqual(await answersOf(ids), [
      'Yes, from Asturias.',
      'Only on Mondays.',
      'Yes, from Asturias.',
    ]);
  });
});

inBrowser('an action on many that the server refuses for some', (shop) => {
  const select = async (page: Page, ids: readonly string[]) => {
    for (const id of ids) await page.locator(`#select-${id}`).check({ force: true });
  };
  before(() => shop.setUndoSeconds(0));

  it('is one request; what a colleague answered meanwhile keeps that answer, and its row says so', async () => {
    const first = await shop.ask('Is the terrace heated?');
    const answered = await shop.ask('Do you ship to Iceland?');
    const last = await shop.ask('Which filter fits a Chemex?');
    const ids = [first, answered, last];
    const { page } = await shop.open({ path: '/inbox?tab=all', fresh: true });
    await rowOf(page, first).waitFor();
    await select(page, ids);
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

    // A person who takes care of them is one request, too.
    const mills = [await shop.ask('Who repairs the mill?'), await shop.ask('Who repairs the oven?')];
    const deleted = await shop.ask('Who repairs the door?');
    await goTo(page, '/inbox');
    await rowOf(page, deleted).waitFor();
    await select(page, [...mills, deleted]);
    changes.length = 0;
    await meanwhile(page, '/notification/assign-many', () =>
      shop.api('DELETE', `/api/v1/notification/${deleted}`),
    );
    await page.getByRole('combobox', { name: 'Assign to …' }).selectOption({ label: 'Alma Reyes (Me)' });
    await page.locator('.toast', { hasText: '2 assigned to Alma Reyes.' }).waitFor();
    assert.deepEqual(changes, ['/api/v1/notification/assign-many']);
    for (const id of mills) assert.equal((await shop.read(id)).assigned_to.name, 'Alma Reyes');
  });

  it('leaves those selected that can be tried again, each with the reason in its row', async () => {
    const resolved = await shop.ask('Is the cellar open?');
    await shop.answer(resolved, { resolve_only: true });
    const asked = await shop.api('POST', '/api/v1/ask', {
      ...{ conversation_id: shop.conversations[1], question: 'Do you fix kettles?' },
    });
    const cancelled = String(asked.json.id);
    await shop.api('DELETE', `/api/v1/ask/${cancelled}`);
    const { page } = await shop.open({
      path: '/inbox?tab=resolved',
      expectedErrors: /ERR_FAILED/,
      fresh: true,
    });
    await rowOf(page, cancelled).waitFor();
    await select(page, [resolved, cancelled]);
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

    // If the server fails, nothing is lost, and the same selection can be tried again.
    await goTo(page, '/inbox');
    await rowOf(page, resolved).waitFor();
    await select(page, [resolved]);
    await page.route('**/notification/resolve-many', (route) => route.abort());
    await button(page, 'Resolve').click();
    await rowOf(page, resolved).locator('.row-failure').waitFor();
    assert.ok(await page.locator(`#select-${resolved}`).isChecked());
    await page.unrouteAll();
    await button(page, 'Resolve').click();
    await rowOf(page, resolved).waitFor({ state: 'detached' });
    assert.equal((await shop.read(resolved)).outcome, 'resolved');
  });
});
