import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addUser, QUESTION } from '../support/server.ts';
import { apiOf, inBrowser, rowOf, typeUntilSeen, waitUntilLive } from './browser.ts';

inBrowser('colleagues in the list', (dashboard) => {
  const { createNotification } = apiOf(dashboard);
  const ask = (question: string, conversation_id = 1) =>
    createNotification({ ...QUESTION, conversation_id, context: { question } });

  it('are shown live in the rows that they have open or answer, with one request for the whole screen', async () => {
    const first = await ask('Do you ship to Iceland?');
    const second = await ask('Is the parking free on Sundays?');
    const other = await ask('Which filter fits a Chemex?');
    const colleague = await addUser(dashboard.deskbell);
    const mine = await dashboard.open({ path: '/inbox' });
    const { page } = mine;
    await waitUntilLive(page);
    await rowOf(page, first).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname.endsWith('/presence')) asked.push(`${pathname} ${searchParams.get('ids')}`);
    });

    const theirs = await dashboard.open({ path: `/inbox/${first}`, user: colleague });
    await rowOf(page, first).getByText('has this open').waitFor();
    const writing = 'is writing an answer';
    await typeUntilSeen(theirs.page.locator('[data-reply]'), rowOf(page, first).getByText(writing));
    assert.equal(await rowOf(page, other).locator('.row-presence').count(), 0);
    // They move on: so does the mark.
    await rowOf(theirs.page, second).click();
    await rowOf(page, second).locator('.row-presence').waitFor();
    await rowOf(page, first).locator('.row-presence').waitFor({ state: 'detached' });
    await theirs.close();
    await rowOf(page, second).locator('.row-presence').waitFor({ state: 'detached' });

    // Never a request for each row: each one is about all rows on the screen.
    assert.ok(asked.length > 0);
    for (const call of asked) {
      assert.ok(call.startsWith('/api/v1/inbox/presence '), call);
      for (const id of [first, second, other]) assert.ok(call.includes(id), `${call} without ${id}`);
    }
    await mine.close();
  });

  it('are also shown to each other where customers who ask the same are answered together', async () => {
    const ids = [await ask('Do you sell oat milk?', 1), await ask('Do you sell oat milk?', 2)];
    const colleague = await addUser(dashboard.deskbell);
    const [mine, theirs] = await Promise.all([
      dashboard.open({ path: `/inbox/${ids[0]}` }),
      // Another question of the same group.
      dashboard.open({ path: `/inbox/${ids[1]}`, user: colleague }),
    ]);
    for (const { page } of [mine, theirs])
      await page.getByRole('heading', { name: '2 customers ask this' }).waitFor();
    await mine.page.getByRole('status').getByText('has this open').waitFor();
    const notice = mine.page.getByRole('status').getByText('is writing an answer');
    await typeUntilSeen(theirs.page.locator('[data-reply]'), notice);
    await mine.page.locator('.row', { hasText: 'oat milk' }).locator('.row-presence').waitFor();
    await mine.close();
    await theirs.close();
  });
});
