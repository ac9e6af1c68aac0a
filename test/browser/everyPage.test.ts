import assert from 'node:assert/strict';
import { it } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { raise } from '../harness.ts';
import { button, inBrowser, rowOf } from './browser.ts';

/** Every page of the dashboard, and what shows that it is there. */
const PAGES: [name: string, path: string, there: (page: Page) => Promise<unknown>][] = [
  ['the inbox', '/', (page) => rowOf(page, 9).waitFor()],
  ['a question', '/inbox/9', (page) => page.getByRole('textbox', { name: 'Your answer' }).waitFor()],
  ['a support request', '/inbox/8', (page) => page.getByRole('textbox', { name: 'Private notes' }).waitFor()],
  ['an answered one', '/inbox/1', (page) => page.locator('.outcome').waitFor()],
  ['the knowledge base', '/knowledge', (page) => page.locator('.document-row').first().waitFor()],
  ['a document', '/knowledge/1', (page) => page.locator('.versions').waitFor()],
  ['the overview', '/overview', (page) => page.getByText('Answered per day').waitFor()],
  ['the telephone', '/telephone/1', (page) => page.locator('.phone').waitFor()],
];

/** Told in one line each. Of all rules these alone may judge the same page otherwise in other colours. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
async function violationsOn(page: Page, rules?: string[]): Promise<string[]> {
  // Without frames the older way is the same, and needs no second page for each look.
  const axe = new AxeBuilder({ page }).setLegacyMode(true);
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}

/** Goes there within the app, as a person does: faster than a new start. */
async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);
}

const settled = (page: Page) =>
  page.evaluate('Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))');

inBrowser('every page of the dashboard', (desk) => {
  it('can be used by everybody: axe finds nothing, in light colours and in dark', async () => {
    const window = await desk.open({ as: 'nobody', reducedMotion: 'reduce' });
    const { page } = window;
    const found: Record<string, string[]> = {};
    const look = async (name: string) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
        await settled(page);
        const violations = await violationsOn(page, colorScheme === 'dark' ? OF_COLOURS : undefined);
        if (violations.length > 0) found[`${name}, ${colorScheme}`] = violations;
      }
    };
    await page.getByRole('button', { name: 'Sign in as Aurora Coffee' }).waitFor();
    await look('the door');
    await window.signIn();
    for (const [name, path, there] of PAGES) {
      await goTo(page, path);
      await there(page);
      await look(name);
    }
    await goTo(page, '/');
    await page.keyboard.press('?');
    // While it fades away it dims the page.
    const shade = page.locator('.mantine-Modal-overlay');
    await shade.waitFor();
    await look('the keys');
    await page.keyboard.press('Escape');
    await shade.waitFor({ state: 'detached' });
    await button(page, 'Menu').click();
    await page.getByRole('dialog').waitFor();
    await look('the preferences');
    assert.deepEqual(found, {});
    await window.close();
  });

  for (const [title, language, width] of [
    ['on a narrow telephone', 'en', 360],
    ['on a narrow telephone, from right to left', 'ar', 360],
    ['from right to left', 'ar', 1280],
  ] as const) {
    it(`fits ${title}: nothing scrolls sideways`, async () => {
      const window = await desk.open({ viewport: { width, height: 740 } });
      const { page } = window;
      await page.evaluate(`localStorage.setItem('deskbell.preferences', '{"language":"${language}"}')`);
      await page.reload();
      await page.getByRole('navigation').waitFor();
      const wrong: string[] = [];
      for (const [name, path] of PAGES) {
        await goTo(page, path);
        await page.locator('main').locator('h1, h2, h3').first().waitFor({ state: 'attached' });
        await settled(page);
        const size = await page.evaluate<{ wide: number; direction: string }>(
          '({ wide: document.documentElement.scrollWidth, direction: getComputedStyle(document.body).direction })',
        );
        if (size.wide > width) wrong.push(`${name} is ${size.wide} wide`);
        if (size.direction !== (language === 'ar' ? 'rtl' : 'ltr'))
          wrong.push(`${name} runs ${size.direction}`);
      }
      assert.deepEqual(wrong, []);
      await window.close();
    });
  }

  it('names the days of the overview in full on a telephone, in every language', async () => {
    const window = await desk.open({ at: '/overview', viewport: { width: 390, height: 740 } });
    const { page } = window;
    for (const language of ['en', 'es', 'pt', 'ar']) {
      await page.evaluate(`localStorage.setItem('deskbell.preferences', '{"language":"${language}"}')`);
      await page.reload();
      await page.locator('.bars-text').first().waitFor();
      const clipped = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.bars text')].filter((text) => {
          const whole = text.ownerSVGElement.getBoundingClientRect();
          const { left, right } = text.getBoundingClientRect();
          return left < whole.left || right > whole.right;
        }).map((text) => text.textContent)`,
      );
      assert.deepEqual(clipped, [], language);
    }
    await window.close();
  });

  it('loads at most 200 KB of script, packed, and nothing from elsewhere', async () => {
    const window = await desk.open({ as: 'nobody' });
    await window.page.getByLabel('E-mail').waitFor();
    const loaded = await window.page.evaluate<string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))",
    );
    assert.ok(loaded.length > 0);
    const sizes = await Promise.all(
      loaded.map(async (url) => {
        const headers = { 'accept-encoding': 'gzip' };
        const reply = await desk.deskbell.call('GET', new URL(url).pathname, { headers });
        assert.equal(reply.headers.get('content-encoding'), 'gzip');
        return Number(reply.headers.get('content-length'));
      }),
    );
    const total = sizes.reduce((sum, one) => sum + one, 0);
    assert.ok(total > 0 && total <= 200_000, `${total} bytes`);
    await window.close();
  });

  it('an address that is none is the app’s own to explain, or 404', async () => {
    const reply = await desk.deskbell.call('GET', '/nowhere');
    assert.equal(reply.status, 404);
  });
});

const XSS = [
  '<script>window.hit = 1</script>',
  '"><img src=x onerror="window.hit = 1">',
  '<svg onload="window.hit = 1">',
  "'-window.hit=1-'",
  'javascript:window.hit=1',
  '{{constructor.constructor("window.hit=1")()}}',
  '<iframe srcdoc="<script>parent.hit=1</script>">',
  '<a href="javascript:window.hit=1">x</a>',
  '</textarea><script>window.hit = 1</script>',
  '\u202e<b onmouseover=window.hit=1>\u0000\ud83d',
];

inBrowser('what customers write', (desk) => {
  it('is shown as text, wherever it stands: no script of theirs runs', async () => {
    const { database, signIn, call } = desk.deskbell;
    const token = await signIn();
    await database.run('update conversations set customer_name = $1, reference = $1 where id = 1', [XSS[1]!]);
    await database.run('update users set name = $1 where id = 1', [XSS[0]!]);
    const ids: string[] = [];
    for (const text of XSS) {
      const context = { question: text, lead_phone: text, [text]: text, nested: { [text]: [text] } };
      const body = { notification_type: 'user_question_request', conversation_id: 1, context };
      const address = await raise(desk.deskbell, token, body);
      ids.push(address.split('/').at(-1)!);
      await call('POST', '/api/v1/simulator/1', { token, body: { text } });
      const change = { title: text.replace(/[\0\ud83d]/g, ''), body: text };
      await call('PATCH', '/api/v1/knowledge/1', { token, body: change });
    }
    for (const id of ids.slice(0, 3)) {
      await call('POST', `/api/v1/notification/${id}/answer`, { token, body: { answer: XSS[1] } });
    }
    await desk.deskbell.allSent();

    const window = await desk.open();
    const { page } = window;
    await page.getByText('window.hit').first().waitFor();
    for (const path of ['/knowledge', '/knowledge/1', '/telephone/1', '/overview']) {
      await goTo(page, path);
      await page.locator('main').locator('h1, h2, h3').first().waitFor({ state: 'attached' });
    }
    for (const id of ids) {
      await goTo(page, `/inbox/${id}`);
      await page.locator('.asked-text').waitFor();
      for (const details of await page.locator('details').all())
        await details.evaluate((one) => one.setAttribute('open', ''));
    }
    await button(page, 'Menu').click();
    await page.getByRole('dialog').waitFor();
    await page.waitForTimeout(200);
    assert.equal(await page.evaluate('window.hit'), undefined);
    const links = await page.locator('a[href^="javascript:" i]').count();
    assert.equal(links, 0);
    await window.close();
  });
});
