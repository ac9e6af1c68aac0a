import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { until } from '../support/shops.ts';
import { inBrowser, rowOf, waitUntilLive } from './browser.ts';

/** Many times what the first page may have, if it had all of them. */
const ANSWERED = 5000;
/** Of the page. */
const LIST = "document.querySelector('.list')";
const FIRST_PAGE_MAX = 300 * 1024;

/** What the page loads from the API, besides its own files and the stream of events. */
function countLoads(page: Page) {
  const loads: { path: string; bytes: Promise<number> }[] = [];
  page.on('response', (response) => {
    const { pathname, search } = new URL(response.url());
    if (!pathname.startsWith('/api/') || pathname === '/api/v1/events') return;
    // A page that is gone has no body any more.
    const bytes = response.body().then(
      (body) => body.length,
      () => 0,
    );
    loads.push({ path: pathname + search, bytes });
  });
  return {
    loads,
    paths: () => loads.map(({ path }) => path),
    async bytes() {
      return (await Promise.all(loads.map((load) => load.bytes))).reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

inBrowser('an inbox with thousands of answered questions', (shop) => {
  /** Copies one answered question. Without the triggers, which would count and index each of them. */
  before(async () => {
    const { deskbell } = shop;
    const context = { question: `Is this the longest question? ${'Really '.repeat(80)}` };
    const id = await shop.raise({ notification_type: 'user_question_request', context });
    await shop.answer(id, `Yes. ${'Really. '.repeat(60)}`);
    await deskbell.allSent();
    const database = new DatabaseSync(databaseFile(deskbell.config.dataDir), { timeout: 30_000 });
    const columns = database
      .prepare(`select name from pragma_table_xinfo('notifications') where hidden = 0 and name <> 'id'`)
      .all()
      .map(({ name }) => String(name));
    const triggers = database
      .prepare(`select name, sql from sqlite_schema where type = 'trigger' and tbl_name = 'notifications'`)
      .all();
    const values = columns.map((name) =>
      name === 'updated_at'
        ? `strftime('%Y-%m-%dT%H:%M:%fZ', 1e9 + copy.n, 'unixepoch')`
        : `original.${name}`,
    );
    database.exec(`begin immediate;
      ${triggers.map(({ name }) => `drop trigger ${name};`).join('\n')}
      insert into notifications (${columns})
        with recursive copy (n) as (select 1 union all select n + 1 from copy where n < ${ANSWERED})
        select ${values} from notifications original cross join copy where original.id = ${id};
      ${triggers.map(({ sql }) => `${sql};`).join('\n')}
      commit`);
    database.close();
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
    assert.ok(loaded <= FIRST_PAGE_MAX, `${loaded} bytes: ${first.paths().join(' ')}`);

    // Some pages further down, and no more rows in the document than fit on the screen.
    const later = countLoads(page);
    const pagesIn = ({ paths }: typeof later) => paths().filter((path) => path.includes('cursor=')).length;
    for (let pages = 1; pages <= 3; pages += 1) {
      await page.evaluate(`${LIST}.scrollTo(0, ${LIST}.scrollHeight)`);
      await until('the next page is loaded', async () => pagesIn(later) === pages);
      // When its rows are in the list, nothing more is loaded until somebody scrolls.
      const rows = 50 * (pages + 1);
      await page.locator(`.list-row[aria-posinset="${rows - 49}"] .row-link`).waitFor();
    }
    assert.ok((await page.locator('.row-link').count()) < 60);

    const event = countLoads(page);
    await shop.answer(open, 'Yes.');
    const isRefreshed = (path: string) => path === '/api/v1/inbox?tab=answered';
    await until('the list is refreshed', async () => event.paths().some(isRefreshed));
    await page.evaluate(`${LIST}.scrollTo(0, 0)`);
    await rowOf(page, open).waitFor();
    const refreshed = await event.bytes();
    // The first page, and of the others only the rows on the screen.
    assert.ok(!event.paths().some((path) => path.includes('cursor=')), event.paths().join(' '));
    assert.ok(refreshed <= FIRST_PAGE_MAX, `${refreshed} bytes: ${event.paths().join(' ')}`);
  });
});
