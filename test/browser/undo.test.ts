import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { until } from '../support/shops.ts';
import {
  answerField,
  apiOf,
  becomes,
  button,
  focused,
  inBrowser,
  openSettings,
  rowOf,
  sentToast,
  turnOnShortcuts,
  waitUntilLive,
} from './browser.ts';

inBrowser('undoing a resolve in the inbox', (dashboard) => {
  const { read, createNotification, setUndoSeconds } = apiOf(dashboard);
  // The server's clock stands still: nothing becomes due.
  before(async () => {
    dashboard.deskbell.clock.stop();
    await setUndoSeconds(60);
  });
  after(() => dashboard.deskbell.clock.go());

  it('resolving by mistake can be undone, and the draft is still there', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Nearly done.');
    await turnOnShortcuts(page);
    await page.keyboard.press('e');
    await rowOf(page, id).waitFor({ state: 'detached' });
    // Another notification reloads the list, but the resolved one stays away.
    await rowOf(page, await createNotification()).waitFor();
    assert.equal(await rowOf(page, id).count(), 0);
    await button(page, 'Undo').click();
    await rowOf(page, id).waitFor();
    await becomes(() => answerField(page).inputValue(), 'Nearly done.');
    assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('what I type after it goes on with the text, and is no shortcut', async () => {
    const others = [await createNotification(), await createNotification()];
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await rowOf(page, others[0]!).waitFor();
    await answerField(page).fill('We do.');
    await button(page, 'Send answer').click();
    await sentToast(page).getByRole('button', { name: 'Undo' }).click();
    await page.waitForURL(`**/inbox/${id}`);
    await becomes(() => focused(page), 'answer');
    await page.keyboard.type(' Even on Mondays, jex.');
    await becomes(() => answerField(page).inputValue(), 'We do. Even on Mondays, jex.');
    for (const one of [...others, id]) assert.equal((await read(one)).status, 'requested');
    await window.close();
  });

  it('the draft is there even if the page hears that it is open again before the response arrives', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Half done.');
    await button(page, 'Resolve without replying').click();
    await page.route('**/reopen-many', async (route) => {
      const response = await route.fetch();
      await answerField(page).waitFor();
      await route.fulfill({ response });
    });
    await button(page, 'Reopen').click();
    await becomes(() => answerField(page).inputValue(), 'Half done.');
    await window.close();
  });

  it('nobody can write in the form until the text is back', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Nobody must lose this.');
    await button(page, 'Resolve without replying').click();
    await page.route('**/reopen-many', async (route) => {
      const response = await route.fetch();
      await answerField(page).waitFor();
      await answerField(page).pressSequentially('x');
      await route.fulfill({ response });
    });
    await button(page, 'Reopen').click();
    await becomes(() => answerField(page).inputValue(), 'Nobody must lose this.');
    await becomes(() => answerField(page).isEditable(), true);
    await window.close();
  });

  it('what was begun in another tab meanwhile stays below the text that comes back', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Written first.');
    await button(page, 'Resolve without replying').click();
    await page.route('**/reopen-many', async (route) => {
      const response = await route.fetch();
      await page.evaluate(`(() => {
        const sent = Object.keys(localStorage).find((key) => key.endsWith('.sent.${id}'));
        const draft = JSON.parse(localStorage.getItem(sent));
        draft.fields = { answer: 'Begun in another tab.' };
        localStorage.setItem(sent.replace('.sent.', '.'), JSON.stringify(draft));
      })()`);
      await route.fulfill({ response });
    });
    await button(page, 'Reopen').click();
    await becomes(() => answerField(page).inputValue(), 'Written first.\n\nBegun in another tab.');
    await window.close();
  });

  it('several notifications are resolved with one request and undone with one', async () => {
    const ids = [await createNotification(), await createNotification()];
    const window = await dashboard.open();
    const { page } = window;
    const requests: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('/notification/'))
        requests.push(new URL(request.url()).pathname.split('/').at(-1)!);
    });
    const selectAndResolve = async () => {
      for (const id of ids) await page.locator(`#select-${id}`).check({ force: true });
      await page.keyboard.press('e');
      await Promise.all(ids.map((id) => rowOf(page, id).waitFor({ state: 'detached' })));
    };
    await selectAndResolve();
    await page.getByText('2 resolved without a reply.').first().waitFor();
    await button(page, 'Undo').click();
    await Promise.all(ids.map((id) => rowOf(page, id).waitFor()));
    for (const id of ids) assert.equal((await read(id)).status, 'requested');
    await selectAndResolve();
    // The server has it: the tab can be closed at once.
    await page.goto('/healthz');
    for (const id of ids) assert.equal((await read(id)).outcome, 'resolved');
    assert.deepEqual(requests, ['resolve-many', 'reopen-many', 'resolve-many']);
    await window.close();
  });

  it('each of several resolves can be undone, the last one with a key', async () => {
    const ids = [];
    for (let n = 0; n < 5; n += 1) ids.push(await createNotification());
    const window = await dashboard.open();
    const { page } = window;
    await rowOf(page, ids[0]!).waitFor();
    for (const id of ids) {
      await rowOf(page, id).click();
      await page.keyboard.press('e');
      await rowOf(page, id).waitFor({ state: 'detached' });
    }
    await becomes(() => button(page, 'Undo').count(), ids.length);
    await page.keyboard.press('z');
    await rowOf(page, ids.at(-1)!).waitFor();
    await button(page, 'Undo').first().click();
    await rowOf(page, ids[0]!).waitFor();
    for (const id of ids.slice(1, -1)) assert.equal((await read(id)).outcome, 'resolved');
    for (const id of [ids[0]!, ids.at(-1)!]) assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('signing out loses nothing: what was sent is sent, and the next user cannot undo it here', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /401/ });
    const { page } = window;
    await answerField(page).fill('Yes, in small bags.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    await openSettings(page);
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    // Without a question about drafts: there is none.
    await page.getByText('You are signed out.').waitFor();
    assert.equal(await button(page, 'Undo').count(), 0);
    assert.ok(!(await page.evaluate<string>('JSON.stringify(localStorage)')).includes('small bags'));
    dashboard.deskbell.clock.jump(61);
    await until('it is sent', async () => (await read(id)).delivery !== null);
    await window.close();
  });
});
