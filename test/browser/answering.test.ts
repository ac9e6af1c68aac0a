import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { QUESTION } from '../support/server.ts';
import { until } from '../support/shops.ts';
import {
  answerField,
  apiOf,
  becomes,
  button,
  focused,
  inBrowser,
  rowOf,
  sentAnswer,
  sentToast,
  waitUntilLive,
} from './browser.ts';

inBrowser('sending an answer', (dashboard) => {
  const { read, createNotification, setUndoSeconds } = apiOf(dashboard);
  const title = (page: Parameters<typeof button>[0]) => page.getByRole('textbox', { name: 'Title' });
  before(() => setUndoSeconds(60));
  // The server's clock stands still: an answer can be undone until a test lets it become due. It begins with the time of
  // the browser, which goes on: the browser must not think that the minute is over.
  beforeEach(() => {
    dashboard.deskbell.clock.go();
    dashboard.deskbell.clock.stop();
  });
  after(() => dashboard.deskbell.clock.go());
  const release = async (id: string) => {
    dashboard.deskbell.clock.jump(61);
    await until('it is sent', async () => (await read(id)).undo_until === null);
  };

  it('moves on to the next question, and Undo opens it again with its text and choices; nothing was sent', async () => {
    const ask = (question: string) => createNotification({ ...QUESTION, context: { question } });
    const next = await ask('Is the roastery open to visitors?');
    const id = await ask('Where does your swiss water coffee come from?');
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await rowOf(page, next).waitFor();
    await title(page).fill('Decaf');
    await answerField(page).fill('From Colombia.');
    await page.keyboard.press('Control+Enter');
    await page.waitForURL(`**/inbox/${next}`);
    await sentToast(page)
      .getByText(/in \d+\ss$/)
      .first()
      .waitFor();
    // What is typed now was meant for the question before: it writes nothing and does nothing.
    await page.locator('h2:focus').waitFor();
    await page.keyboard.type(' See you. xe#');
    assert.equal(await answerField(page).inputValue(), '');
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);
    assert.equal((await read(next)).status, 'requested');
    const held = await read(id);
    assert.deepEqual([held.status, held.answer.answer, held.delivery], ['answered', 'From Colombia.', null]);

    await button(page, 'Undo').click();
    await page.waitForURL(`**/inbox/${id}`);
    await answerField(page).waitFor();
    await becomes(() => answerField(page).inputValue(), 'From Colombia.');
    await becomes(() => title(page).inputValue(), 'Decaf');
    assert.equal((await read(id)).status, 'requested');
    await sentToast(page).waitFor({ state: 'detached' });
    // The same text can be sent again.
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await release(id);
    const { delivery, lesson } = await read(id);
    assert.notEqual(delivery, null);
    assert.equal(lesson.do, 'new');
    await window.close();
  });

  it('does nothing to the next question if I click twice', async () => {
    const next = await createNotification();
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await rowOf(page, next).waitFor();
    await answerField(page).fill('Two of them.');
    // The second click, as soon as the next question is there: 700 ms later, however long the machine takes for it.
    await page.evaluate(`{
      let now = performance.now();
      performance.now = () => now;
      new MutationObserver((_, observer) => {
        const resolve = document.querySelector('.reply-actions .action:last-child button');
        if (!location.pathname.endsWith('/${next}') || !resolve) return;
        observer.disconnect();
        now += 700;
        resolve.click();
        document.body.dataset.clicked = true;
      }).observe(document.body, { subtree: true, childList: true });
    }`);
    await answerField(page).press('Control+Enter');
    await page.locator('[data-clicked]').waitFor();
    await sentToast(page).waitFor();
    assert.equal((await read(next)).status, 'requested');
    assert.equal(await page.locator('.toast').count(), 1);
    await window.close();
  });

  it('is done by the server: the tab can be closed, and it is sent once', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await answerField(page).fill('On Mondays.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await page.goto('/healthz');
    assert.equal((await read(id)).delivery, null);
    await release(id);
    assert.equal((await read(id)).answer.answer, 'On Mondays.');
    assert.notEqual((await read(id)).delivery, null);
    await window.close();
  });

  it('can be undone after a reload, and by somebody else in another browser, who gets the text', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await answerField(page).fill('At nine.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await page.goto(`/inbox/${id}`);
    await page.getByText(/^Will be sent in \d+\ss$/).waitFor();
    await button(page, 'Undo').click();
    await becomes(() => answerField(page).inputValue(), 'At nine.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();

    const other = await dashboard.open({ path: `/inbox/${id}` });
    await other.page.getByText('At nine.').waitFor();
    await button(other.page, 'Undo').click();
    await becomes(() => answerField(other.page).inputValue(), 'At nine.');
    assert.equal((await read(id)).status, 'requested');
    await other.close();
    await window.close();
  });

  it('says plainly when it is too late to undo, and shows what was sent', async () => {
    const next = await createNotification();
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await rowOf(page, next).waitFor();
    await answerField(page).fill('Only in spring.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await release(id);
    await button(page, 'Undo').click();
    await page.getByText('Too late to undo: the message is already on its way.').first().waitFor();
    await page.waitForURL(`**/inbox/${id}`);
    await sentAnswer(page).waitFor();
    await page.getByText('Only in spring.').waitFor();
    assert.equal((await read(id)).status, 'answered');
    await window.close();
  });

  it('moves on on a phone too, and stays if nobody else waits', async () => {
    const next = await createNotification();
    const id = await createNotification();
    const phone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 740 } };
    const window = await dashboard.open(phone);
    const { page } = window;
    await rowOf(page, next).waitFor();
    await rowOf(page, id).tap();
    await answerField(page).fill('Both.');
    await button(page, 'Send answer').tap();
    await page.waitForURL(`**/inbox/${next}`);
    await answerField(page).waitFor();
    assert.equal(await page.locator('.inbox-list').count(), 0);
    await button(page, 'Undo').tap();
    await page.waitForURL(`**/inbox/${id}`);
    await window.close();

    const only = await dashboard.open({ path: `/inbox/${id}?q=nobody-asks-this`, ...phone });
    await answerField(only.page).fill('Both.');
    await button(only.page, 'Send answer').tap();
    await sentAnswer(only.page).waitFor();
    assert.equal(new URL(only.page.url()).pathname, `/inbox/${id}`);
    await only.close();
  });

  it('has no undo if the shop does not want it', async () => {
    const next = await createNotification();
    const id = await createNotification();
    await setUndoSeconds(0);
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await rowOf(page, next).waitFor();
    await answerField(page).fill('At once.');
    await button(page, 'Send answer').click();
    await page.waitForURL(`**/inbox/${next}`);
    await page.getByText('Your answer is on its way.').first().waitFor();
    assert.equal(await button(page, 'Undo').count(), 0);
    const { delivery, undo_until } = await read(id);
    assert.notEqual(delivery, null);
    assert.equal(undo_until, null);
    await setUndoSeconds(60);
    await window.close();
  });

  it('keeps the form with its text if the server cannot be reached', async () => {
    const id = await createNotification();
    const window = await dashboard.open({
      path: `/inbox/${id}`,
      expectedErrors: /ERR_FAILED|Failed to fetch/,
    });
    const { page } = window;
    await answerField(page).fill('Slowly.');
    await page.route('**/answer', (route) => route.abort());
    await button(page, 'Send answer').click();
    await page.getByText('Not sent. Your text is still here.').waitFor();
    assert.equal(await answerField(page).inputValue(), 'Slowly.');
    assert.equal(new URL(page.url()).pathname, `/inbox/${id}`);
    await page.unrouteAll();
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await window.close();
  });

  it('shows the answer as mine if it arrived but the response did not, and undoes it', async () => {
    const id = await createNotification();
    const window = await dashboard.open({
      path: `/inbox/${id}`,
      expectedErrors: /ERR_FAILED|Failed to fetch/,
    });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Slowly.');
    await page.route('**/answer', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await button(page, 'Send answer').click();
    await page.getByText(/^Will be sent in/).waitFor();
    assert.equal(await page.getByText('answered this').count(), 0);
    await button(page, 'Undo').click();
    await becomes(() => answerField(page).inputValue(), 'Slowly.');
    assert.equal(await page.getByText('Not sent.').count(), 0);
    await window.close();
  });
});

inBrowser('resolving without a reply', (dashboard) => {
  const { read, createNotification } = apiOf(dashboard);

  it('is one request, is never called an answer, and can be undone at any time with the draft', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Nearly done.');
    const requests: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('/notification/'))
        requests.push(new URL(request.url()).pathname);
    });
    await button(page, 'Resolve without replying').click();
    await page.getByRole('heading', { name: /^Resolved without a reply/ }).waitFor();
    await page.getByText('Nothing was sent to the customer.').waitFor();
    assert.deepEqual(requests, ['/api/v1/notification/resolve-many']);
    assert.equal(await sentAnswer(page).count(), 0);
    await rowOf(page, id).waitFor({ state: 'detached' });
    const { status, outcome, delivery } = await read(id);
    assert.deepEqual([status, outcome, delivery], ['answered', 'resolved', null]);
    await page.reload();
    await button(page, 'Reopen').click();
    await becomes(() => answerField(page).inputValue(), 'Nearly done.');
    assert.equal((await read(id)).status, 'requested');
    await window.close();
  });
});

inBrowser('deleting', (dashboard) => {
  const { read, createNotification } = apiOf(dashboard);

  it('asks first, with the customer’s name and the question, and does nothing if the answer is no', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /404/ });
    const { page } = window;
    await answerField(page).waitFor();
    await button(page, 'Delete').first().click();
    const dialog = page.getByRole('dialog', { name: 'Delete Lucía Fernández’s question?' });
    await dialog.getByText((await read(id)).context.question).waitFor();
    await dialog.getByText('This cannot be undone.').waitFor();
    await becomes(() => focused(page), 'Cancel');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await read(id)).status, 'requested');

    await button(page, 'Delete').first().click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    assert.equal((await read(id)).code, 'NOTIFICATION_NOT_FOUND');
    await page.waitForURL('**/inbox');
    await window.close();
  });

  it('several is one question and one request', async () => {
    const ids = [await createNotification(), await createNotification()];
    const window = await dashboard.open();
    const { page } = window;
    const requests: string[] = [];
    page.on('request', (request) => {
      if (['POST', 'DELETE'].includes(request.method()) && request.url().includes('/notification/'))
        requests.push(new URL(request.url()).pathname);
    });
    for (const id of ids) await page.locator(`#select-${id}`).check({ force: true });
    await page.keyboard.press('#');
    const dialog = page.getByRole('dialog', { name: 'Delete 2 notifications?' });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    for (const id of ids) await rowOf(page, id).waitFor({ state: 'detached' });
    assert.deepEqual(requests, ['/api/v1/notification/delete-many']);
    for (const id of ids) assert.equal((await read(id)).code, 'NOTIFICATION_NOT_FOUND');
    await window.close();
  });
});
