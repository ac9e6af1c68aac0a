import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerField, button, inBrowser, live, rowOf, shopOf } from './browser.ts';

inBrowser('what is resolved or deleted in the inbox', (desk) => {
  const { read, newOne } = shopOf(desk);
  const become = async (id: string, expected: { status?: string; code?: string }) => {
    for (let tries = 0; tries < 200; tries += 1) {
      const { status, code } = await read(id);
      if (status === expected.status && code === expected.code) return;
      await sleep(100);
    }
    assert.fail(`${id} does not become ${JSON.stringify(expected)}`);
  };

  it('resolving closes it and sends nothing', async () => {
    const id = await newOne();
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    await page.clock.install();
    await button(page, 'Resolve without replying').click();
    await page.getByText('Resolved without replying. Nothing was sent.').waitFor();
    const done = page.waitForResponse(`**/notification/${id}/answer`);
    await page.clock.fastForward(10_000);
    await done;
    const { status, delivery } = await read(id);
    assert.deepEqual([status, delivery], ['answered', null]);
    await page.getByText('Resolved without replying. Nothing was sent.').waitFor();
    await window.close();
  });

  it('a slip of the key that resolves can be undone for a while, and the draft is still there', async () => {
    const id = await newOne();
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    await live(page);
    await answerField(page).fill('Nearly done.');
    await page.keyboard.press('Escape');
    await page.keyboard.press('e');
    await rowOf(page, id).waitFor({ state: 'detached' });
    // What happens elsewhere meanwhile brings it back no sooner.
    await rowOf(page, await newOne()).waitFor();
    assert.equal(await rowOf(page, id).count(), 0);
    await button(page, 'Undo').click();
    await rowOf(page, id).waitFor();
    assert.equal(await answerField(page).inputValue(), 'Nearly done.');
    assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('several are resolved together, and can be undone together', async () => {
    const ids = [await newOne(), await newOne()];
    const window = await desk.open();
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
    await page.goto('/docs');
    for (const id of ids) await become(id, { status: 'answered' });
    await window.close();
  });

  it('many resolved in a row can each be undone, the last one with a key', async () => {
    const ids = [];
    for (let n = 0; n < 5; n += 1) ids.push(await newOne());
    const window = await desk.open();
    const { page } = window;
    await page.clock.install();
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
    for (const id of ids.slice(1, -1)) await become(id, { status: 'answered' });
    for (const id of [ids[0]!, ids.at(-1)!]) assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('what was resolved is done when one signs out in another tab', async () => {
    const id = await newOne();
    const window = await desk.open({ at: `/inbox/${id}` });
    const { page } = window;
    const other = await window.tab();
    await live(other);
    await button(page, 'Resolve without replying').click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    await button(other, 'Menu').click();
    await button(other, 'Sign out').click();
    await page.getByLabel('E-mail').waitFor();
    assert.equal((await read(id)).status, 'answered');
    await window.close();
  });

  it('a telephone that is put away has done what was not undone', async () => {
    const id = await newOne();
    const window = await desk.open({
      at: `/inbox/${id}`,
      hasTouch: true,
      isMobile: true,
      viewport: { width: 390, height: 740 },
    });
    const { page } = window;
    await button(page, 'Resolve without replying').click();
    await button(page, 'Undo').waitFor();
    // Nothing here can lock a telephone: the page is told so.
    await page.evaluate(
      "Object.defineProperty(document, 'hidden', { get: () => true }); document.dispatchEvent(new Event('visibilitychange'))",
    );
    await become(id, { status: 'answered' });
    await button(page, 'Undo').waitFor({ state: 'detached' });
    await window.close();
  });

  it('a delete can be undone for a while; nothing has happened then', async () => {
    const id = await newOne();
    const window = await desk.open();
    const { page } = window;
    await rowOf(page, id).click();
    await button(page, 'Delete').first().click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    await button(page, 'Undo').click();
    await rowOf(page, id).waitFor();
    assert.equal((await read(id)).status, 'requested');
    await window.close();
  });

  it('a delete that nobody undoes is done when the page is left', async () => {
    const id = await newOne();
    const window = await desk.open();
    const { page } = window;
    await rowOf(page, id).click();
    await button(page, 'Delete').first().click();
    await rowOf(page, id).waitFor({ state: 'detached' });
    await page.goto('/docs');
    await become(id, { code: 'NOTIFICATION_NOT_FOUND' });
    await window.close();
  });
});
