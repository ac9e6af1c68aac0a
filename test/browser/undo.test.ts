import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  answerField,
  apiOf,
  button,
  inBrowser,
  openSettings,
  rowOf,
  turnOnShortcuts,
  waitUntilLive,
} from './browser.ts';

inBrowser('undoing a resolve or delete in the inbox', (dashboard) => {
  const { read, createNotification } = apiOf(dashboard);
  const waitForStatus = async (id: string, expected: { status?: string; code?: string }) => {
    for (let tries = 0; tries < 200; tries += 1) {
      const { status, code } = await read(id);
      if (status === expected.status && code === expected.code) return;
      await sleep(100);
    }
    assert.fail(`notification ${id} never reached ${JSON.stringify(expected)}`);
  };

  it('resolving closes the notification and sends nothing', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await window.installClock();
    await button(page, 'Resolve without replying').click();
    await page.getByText('Resolved without a reply. Nothing was sent.').waitFor();
    const done = page.waitForResponse(`**/notification/${id}/answer`);
    await page.clock.fastForward(10_000);
    await done;
    const { status, delivery } = await read(id);
    assert.deepEqual([status, delivery], ['answered', null]);
    await page.getByText('Resolved without a reply. Nothing was sent.').waitFor();
    await window.close();
  });

  it('resolving by mistake can be undone, and the draft is still there', async () => {
    const id = await createNotification();
    const window = await dashboard.open({ path: `/inbox/${id}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('Nearly done.');
    await turnOnShortcuts(page);
    await page.keyboard.press('e');
    await rowOf(page, id).waitFor({ state: 'detached' });
    // Another notification reloads the list, but the resolved one stays hidden.
    await rowOf(page, await createNotification()).waitFor();
    assert.equal(await rowOf(page, id).count(), 0);
    await button(page, 'Undo').click();
    await rowOf(page, id).waitFor();
    assert.equal(await answerField(page).inputValue(), 'Nearly done.');
    assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('several notifications can be resolved together and undone together', async () => {
    const ids = [await createNotification(), await createNotification()];
    const window = await dashboard.open();
    const { page } = window;
    const selectAndResolve = async () => {
      for (const id of ids) await page.locator(`#select-${id}`).check({ force: true });
      await page.keyboard.press('e');
      await Promise.all(ids.map((id) => rowOf(page, id).waitFor({ state: 'detached' })));
    };
    await selectAndResolve();
    await page.getByText('2 resolved without a reply.').waitFor();
    await button(page, 'Undo').click();
    await Promise.all(ids.map((id) => rowOf(page, id).waitFor()));
    for (const id of ids) assert.equal((await read(id)).status, 'requested');
    await selectAndResolve();
    await page.goto('/healthz');
    for (const id of ids) await waitForStatus(id, { status: 'answered' });
    await window.close();
  });

  it('each of several resolves can be undone, the last one with a key', async () => {
    const ids = [];
    for (let n = 0; n < 5; n += 1) ids.push(await createNotification());
    const window = await dashboard.open();
    const { page } = window;
    await window.installClock();
    await rowOf(page, ids[0]!).waitFor();
    for (const id of ids) {
      await rowOf(page, id).click();
      await page.keyboard.press('e');
    }
    assert.equal(await button(page, 'Undo').count(), ids.length);
    await page.keyboard.press('z');
    await rowOf(page, ids.at(-1)!).waitFor();
    await button(page, 'Undo').first().click();
    await rowOf(page, ids[0]!).waitFor();
    await page.clock.fastForward(10_000);
    for (const id of ids.slice(1, -1)) await waitForStatus(id, { status: 'answered' });
    for (const id of [ids[0]!, ids.at(-1)!]) assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('signing out in another tab completes pending resolves', async () => {
    const id = await createNotification();
    // On a slow machine the live updates notice the end of the session before the tabs are told.
    const window = await dashboard.open({ path: `/inbox/${id}`, expectedErrors: /401/ });
    const { page } = window;
    const other = await window.tab();
    await waitUntilLive(other);
    await button(page, 'Resolve without replying').click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    await openSettings(other);
    await button(other, 'Sign out').click();
    await page.getByLabel('Email').waitFor();
    assert.equal((await read(id)).status, 'answered');
    await window.close();
  });

  it('hiding the page on a phone completes pending resolves', async () => {
    const id = await createNotification();
    const window = await dashboard.open({
      path: `/inbox/${id}`,
      hasTouch: true,
      isMobile: true,
      viewport: { width: 390, height: 740 },
    });
    const { page } = window;
    await button(page, 'Resolve without replying').click();
    await button(page, 'Undo').waitFor();
    // A test cannot lock a real phone, so it simulates the event.
    await page.evaluate(
      "Object.defineProperty(document, 'hidden', { get: () => true }); document.dispatchEvent(new Event('visibilitychange'))",
    );
    await waitForStatus(id, { status: 'answered' });
    await button(page, 'Undo').waitFor({ state: 'detached' });
    await window.close();
  });

  it('a delete can be undone, and then nothing is deleted', async () => {
    const id = await createNotification();
    const window = await dashboard.open();
    const { page } = window;
    await rowOf(page, id).click();
    await button(page, 'Delete').first().click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    await button(page, 'Undo').click();
    await rowOf(page, id).waitFor();
    assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('leaving the page completes a pending delete', async () => {
    const id = await createNotification();
    const window = await dashboard.open();
    const { page } = window;
    await rowOf(page, id).click();
    await button(page, 'Delete').first().click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    await page.goto('/healthz');
    await waitForStatus(id, { code: 'NOTIFICATION_NOT_FOUND' });
    await window.close();
  });
});
