import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { QUESTION } from '../support/server.ts';
import { answerField, apiOf, button, inBrowser, rowOf, waitUntilLive } from './browser.ts';

/** Which calls of the API change many notifications, or one. */
function changesOf(page: Page): string[] {
  const paths: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== 'GET' && /\/notification\/(?!\d+\/presence)/.test(pathname))
      paths.push(pathname);
  });
  return paths;
}

inBrowser('an action on many that the server refuses for some', (dashboard) => {
  const { api, read, createNotification, setUndoSeconds } = apiOf(dashboard);
  const ask = (question: string, conversation_id = 1) =>
    createNotification({ ...QUESTION, conversation_id, context: { question } });
  const select = async (page: Page, ids: readonly string[]) => {
    for (const id of ids) await page.locator(`#select-${id}`).check({ force: true });
  };
  /** Does something on the server after the user acts, and before the server hears of it. */
  const meanwhile = (page: Page, path: string, work: () => Promise<unknown>) =>
    page.route(`**${path}`, async (route) => {
      await work();
      await route.continue();
    });
  before(() => setUndoSeconds(0));
  after(() => setUndoSeconds(5));

  it('is one request; what a colleague answered meanwhile keeps that answer, and its row says so', async () => {
    const ids = [
      await ask('Is the terrace heated?'),
      await ask('Do you ship to Iceland?'),
      await ask('Which filter fits a Chemex?'),
    ];
    const [first, answered, last] = ids as [string, string, string];
    const window = await dashboard.open({ path: '/inbox?tab=all' });
    const { page } = window;
    await rowOf(page, first).waitFor();
    await select(page, ids);
    const changes = changesOf(page);
    await meanwhile(page, '/notification/resolve-many', () =>
      api('POST', `/api/v1/notification/${answered}/answer`, { answer: 'Yes, every week.' }),
    );
    await button(page, 'Resolve').click();
    await page.locator('.toast', { hasText: '2 resolved without a reply.' }).waitFor();
    await page.locator('.toast', { hasText: 'Someone else had already answered or deleted it.' }).waitFor();
    await rowOf(page, answered).getByText('Someone else already answered').waitFor();
    for (const id of [first, last]) await rowOf(page, id).getByText('Resolved').waitFor();
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    assert.deepEqual(changes, ['/api/v1/notification/resolve-many']);
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await read(id)).outcome)), [
      'resolved',
      'answered',
      'resolved',
    ]);
    assert.equal((await read(answered)).answer.answer, 'Yes, every week.');
    await window.close();
  });

  it('is one request for a person who takes care of them, too', async () => {
    const ids = [await ask('Who repairs the mill?'), await ask('Who repairs the oven?')];
    const deleted = await ask('Who repairs the door?');
    const window = await dashboard.open();
    const { page } = window;
    await rowOf(page, deleted).waitFor();
    await select(page, [...ids, deleted]);
    const changes = changesOf(page);
    await meanwhile(page, '/notification/assign-many', () =>
      api('DELETE', `/api/v1/notification/${deleted}`),
    );
    await page.getByRole('combobox', { name: 'Assign to …' }).selectOption({ label: 'Alma Reyes (Me)' });
    await page.locator('.toast', { hasText: '2 assigned to Alma Reyes.' }).waitFor();
    assert.deepEqual(changes, ['/api/v1/notification/assign-many']);
    for (const id of ids) assert.equal((await read(id)).assigned_to.name, 'Alma Reyes');
    await window.close();
  });

  it('leaves those selected that can be tried again, each with the reason in its row', async () => {
    const resolved = await ask('Is the cellar open?');
    await api('POST', `/api/v1/notification/${resolved}/answer`, { resolve_only: true });
    const asked = await api('POST', '/api/v1/ask', { conversation_id: 2, question: 'Do you fix kettles?' });
    const cancelled = String(asked.json.id);
    await api('DELETE', `/api/v1/ask/${cancelled}`);
    const window = await dashboard.open({ path: '/inbox?tab=resolved', expectedErrors: /ERR_FAILED/ });
    const { page } = window;
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
    assert.equal((await read(resolved)).status, 'requested');

    // If the server fails, nothing is lost, and the same selection can be tried again.
    await page.goto('/inbox');
    await rowOf(page, resolved).waitFor();
    await select(page, [resolved]);
    await page.route('**/notification/resolve-many', (route) => route.abort());
    await button(page, 'Resolve').click();
    await rowOf(page, resolved).locator('.row-failure').waitFor();
    assert.ok(await page.locator(`#select-${resolved}`).isChecked());
    await page.unrouteAll();
    await button(page, 'Resolve').click();
    await rowOf(page, resolved).waitFor({ state: 'detached' });
    assert.equal((await read(resolved)).outcome, 'resolved');
    await window.close();
  });

  it('is one answer for many customers; who got another one meanwhile is named, and gets no second one', async () => {
    const ids: string[] = [];
    for (const conversation of [1, 2, 3]) ids.push(await ask('Do you sell oat milk?', conversation));
    const window = await dashboard.open({ path: `/inbox/${ids[0]}` });
    const { page } = window;
    await waitUntilLive(page);
    await page.getByRole('heading', { name: '3 customers ask this' }).waitFor();
    await answerField(page).fill('Yes, from Asturias.');
    const changes = changesOf(page);
    await meanwhile(page, '/notification/answer-many', () =>
      api('POST', `/api/v1/notification/${ids[1]}/answer`, { answer: 'Only on Mondays.' }),
    );
    await button(page, 'Send to 3 customers').click();
    await page.getByRole('heading', { name: 'Sent to 2 customers' }).waitFor();
    const refused = page.locator('.sent-to-many [data-status="refused"]');
    assert.equal(await refused.count(), 1);
    assert.match((await refused.textContent())!, /Someone else already answered/);
    assert.deepEqual(changes, ['/api/v1/notification/answer-many']);
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await read(id)).answer.answer)), [
      'Yes, from Asturias.',
      'Only on Mondays.',
      'Yes, from Asturias.',
    ]);
    await window.close();
  });
});

inBrowser('a question that is resolved without a reply', (dashboard) => {
  const { api, read, createNotification, setUndoSeconds } = apiOf(dashboard);
  before(() => setUndoSeconds(0));
  after(() => setUndoSeconds(5));

  it('is not shown or counted as answered, and can be reopened later', async () => {
    const id = await createNotification({ ...QUESTION, context: { question: 'Do you rent out the room?' } });
    const answered = await createNotification();
    await api('POST', `/api/v1/notification/${answered}/answer`, { answer: 'Yes, on Mondays.' });
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    const counts = async () => {
      const { json } = await api('GET', '/api/v1/inbox/counts');
      return { answered: json.answered.count, resolved: json.resolved.count };
    };
    const answers = async () => (await api('GET', '/api/v1/overview')).json;
    const tabCount = (name: string, count: number) =>
      page.locator('.tab', { hasText: name }).locator('.count', { hasText: new RegExp(`^${count}$`) });
    const before = await counts();
    const statisticsBefore = await answers();
    await button(page, 'Resolve without replying').click();
    await tabCount('Resolved', before.resolved + 1).waitFor();
    await tabCount('Answered', before.answered).waitFor();
    assert.deepEqual(await counts(), { answered: before.answered, resolved: before.resolved + 1 });
    assert.deepEqual((await answers()).answered_per_day, statisticsBefore.answered_per_day);

    await page.locator('.tab', { hasText: 'Answered' }).click();
    await rowOf(page, answered).waitFor();
    assert.equal(await rowOf(page, id).count(), 0);
    await page.locator('.tab', { hasText: 'Resolved' }).click();
    await rowOf(page, id).waitFor();
    const row = (await rowOf(page, id).textContent())!;
    assert.ok(row.includes('Resolved') && !row.includes('Answered'), row);
    // Also later, at another visit.
    dashboard.deskbell.clock.jump(10 * 60);
    await page.goto(`/inbox/${id}?tab=resolved`);
    await page.getByText('Nothing was sent to the customer.').waitFor();
    await page.locator('.inbox-pane').getByRole('button', { name: 'Reopen', exact: true }).click();
    await answerField(page).waitFor();
    assert.equal((await read(id)).status, 'requested');
    await tabCount('Resolved', before.resolved).waitFor();
    await page.locator('.tab', { hasText: 'Open' }).click();
    await rowOf(page, id).waitFor();
    await window.close();
  });
});
