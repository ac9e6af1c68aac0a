import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import { inBrowser } from './browser.ts';
import { rowOf, waitUntilLive } from './page.ts';

/** Several times what the first page may have, if it had all of them, and more than are counted. */
const ANSWERED = 2000;
/** Of the page. */
const LIST = "document.querySelector('.list')";
const FIRST_PAGE_MAX = 300 * 1024;

/** What the page loads from the API, besides its own files and the stream of events. */
function countLoads(page: Page) {
  const paths: string[] = [];
  const sizes: Promise<number>[] = [];
  page.on('response', (response) => {
    const { pathname, search } = new URL(response.url());
    if (!pathname.startsWith('/api/') || pathname === '/api/v1/events') return;
    paths.push(pathname + search);
    // A page that is gone has no body any more.
    sizes.push(
      response.body().then(
        ({ length }) => length,
        () => 0,
      ),
    );
  });
  const bytes = async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  return { paths, bytes };
}

inBrowser('an inbox with thousands of answered questions', (shop) => {
  before(async () => {
    const context = { question: `Is this the longest question? ${'Really '.repeat(80)}` };
    const id = await shop.raise({ context });
    await shop.answer(id, `Yes. ${'Really. '.repeat(60)}`);
    await shop.deskbell.allSent();
    await shop.deskbell.database.run(
      `insert into notifications (merchant_id, conversation_id, notification_type, status, created_at, updated_at,
          context, requested_fields, answered_fields, answer_schema_id, answer, answered_by)
        with recursive copy (n) as (select 1 union all select n + 1 from copy where n < $2)
        select merchant_id, conversation_id, notification_type, status, created_at,
            strftime('%Y-%m-%dT%H:%M:%fZ', 1e9 + n, 'unixepoch'),
            context, requested_fields, answered_fields, answer_schema_id, answer, answered_by
          from notifications cross join copy where id = $1`,
      [id, ANSWERED],
    );
  });

  it('loads at most 300 KB for the first page, and after an event only what changed', async () => {
    const open = await shop.ask();
    // The app's own files are loaded before.
    const { page } = await shop.open({ fresh: true });
    await waitUntilLive(page);
    await page.goto('/healthz');
    const first = countLoads(page);
    await page.goto('/inbox?tab=answered');
    await page.locator('.row-link').first().waitFor();
    await waitUntilLive(page);
    await page.locator('.tab', { hasText: 'Answered' }).locator('.count', { hasText: '1,000+' }).waitFor();
    const loaded = await first.bytes();
    assert.ok(loaded <= FIRST_PAGE_MAX, `${loaded} bytes: ${first.paths.join(' ')}`);

    // Some pages further down, and no more rows in the document than fit on the screen.
    const later = countLoads(page);
    const isLaterPage = (path: string) => path.includes('cursor=');
    for (let pages = 1; pages <= 3; pages += 1) {
      await page.evaluate(`${LIST}.scrollTo(0, ${LIST}.scrollHeight)`);
      await until('the next page is loaded', async () => later.paths.filter(isLaterPage).length === pages);
      // When its rows are in the list, nothing more is loaded until somebody scrolls.
      const rows = 50 * (pages + 1);
      await page.locator(`.list-row[aria-posinset="${rows - 49}"] .row-link`).waitFor();
    }
    assert.ok((await page.locator('.row-link').count()) < 60);

    const event = countLoads(page);
    await shop.answer(open, 'Yes.');
    const isRefreshed = (path: string) => path === '/api/v1/inbox?tab=answered';
    await until('the list is refreshed', async () => event.paths.some(isRefreshed));
    await page.evaluate(`${LIST}.scrollTo(0, 0)`);
    await rowOf(page, open).waitFor();
    const refreshed = await event.bytes();
    // The first page, and of the others only the rows on the screen.
    assert.deepEqual(event.paths.filter(isLaterPage), []);
    assert.ok(refreshed <= FIRST_PAGE_MAX, `${refreshed} bytes: ${event.paths.join(' ')}`);
  });
});
