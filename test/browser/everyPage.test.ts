import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { AURORA, QUESTION, raise } from '../harness.ts';
import { button, inBrowser, openSettings, turnOnShortcuts } from './browser.ts';

/** Every page of the dashboard, and what it shows when it is complete, in any language. */
const PAGES: [name: string, path: string, content: string][] = [
  ['the inbox', '/', '[data-notification="9"]'],
  ['a question', '/inbox/9', '[data-answer] textarea'],
  ['a support request', '/inbox/8', '[data-answer] textarea >> nth=1'],
  ['customers who ask the same', '/inbox/10', '.group-members'],
  ['an answered question', '/inbox/1', '.sent-answer'],
  ['the knowledge base', '/knowledge', '.document-row >> nth=0'],
  ['a document', '/knowledge/1', '.versions'],
  ['what no document answers', '/knowledge?show=gaps', '.gap >> nth=0'],
  ['documents that are out of date', '/knowledge?show=stale', '.inbox-list .empty'],
  ['changes to the documents', '/knowledge?show=changes', '.document-row >> nth=0'],
  ['a new document', '/knowledge?new=1', '.document textarea'],
  ['the overview', '/overview', '.bars-weeks >> nth=0'],
  ['the test phone', '/test-phone/1', '.phone'],
  ['the shop', '/settings/shop', '.settings-content textarea'],
  ['the connection', '/settings/connection', '.settings-content input >> nth=2'],
  ['the team', '/settings/team', '[data-member]'],
  ['the account', '/settings/account', '.settings-actions'],
  ['the assistant', '/settings/assistant', '.settings-content fieldset'],
  ['the developer tools', '/settings/developer', '.settings-content input >> nth=0'],
  ['the data', '/settings/data', '.settings-block'],
];

/** The only axe rules whose result depends on the color scheme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
async function violationsOn(page: Page, rules?: string[]): Promise<string[]> {
  // The half megabyte of axe is compiled only once for a page.
  const isThere = await page.evaluate<boolean>("'axe' in window");
  // The page has no frames, so legacy mode gives the same result without a second page for each check.
  const axe = new AxeBuilder({ page, ...(isThere && { axeSource: 'void 0' }) })
    .setLegacyMode(true)
    // To describe all that is in order takes longer than to check it.
    .options({ reporter: 'no-passes' });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}

/** Navigates within the app, which is faster than loading the page again. */
async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);
}

/** A color that changes smoothly is inherited, so the end of one transition can start the next one. */
const animationsFinished = (page: Page) =>
  page.evaluate(`(async () => {
    for (;;) {
      const running = document.getAnimations().filter(({ playState }) => playState === 'running');
      if (running.length === 0) return;
      await Promise.all(running.map(({ finished }) => finished.catch(() => {})));
    }
  })()`);

inBrowser('every page of the dashboard', (dashboard) => {
  before(async () => {
    const { deskbell } = dashboard;
    const token = await deskbell.signIn();
    const question = 'Do you roast on Mondays?';
    for (const conversation_id of [1, 2, 3])
      await raise(deskbell, token, { ...QUESTION, conversation_id, context: { question } });
  });

  it('is accessible: axe finds no violations in the light or the dark theme', async () => {
    const window = await dashboard.open({ user: 'nobody', reducedMotion: 'reduce' });
    const { page } = window;
    const violationsByPage: Record<string, string[]> = {};
    const colorSchemes: ('light' | 'dark')[] = ['dark', 'light'];
    const check = async (name: string) => {
      // Each page starts with the theme that the one before ended with.
      for (const colorScheme of colorSchemes.reverse()) {
        await page.emulateMedia({ colorScheme });
        await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
        await animationsFinished(page);
        const violations = await violationsOn(page, colorScheme === 'dark' ? COLOR_RULES : undefined);
        if (violations.length > 0) violationsByPage[`${name}, ${colorScheme}`] = violations;
      }
    };
    await page.getByRole('button', { name: 'Sign in as Aurora Coffee' }).waitFor();
    await check('the sign-in page');
    await window.signIn();
    for (const [name, path, content] of PAGES) {
      await goTo(page, path);
      await page.locator(content).waitFor();
      await check(name);
    }
    // The overlay dims the page until it has faded out.
    const overlay = page.locator('.mantine-Modal-overlay');
    await goTo(page, '/knowledge');
    await button(page, 'Answers without you').click();
    await page.getByText('My own threshold').click();
    await page.getByRole('slider').waitFor();
    await check('the answers without a person');
    await page.keyboard.press('Escape');
    await overlay.waitFor({ state: 'detached' });
    await goTo(page, '/');
    await turnOnShortcuts(page);
    await page.keyboard.press('?');
    await overlay.waitFor();
    await check('the keyboard shortcuts');
    await page.keyboard.press('Escape');
    await overlay.waitFor({ state: 'detached' });
    await openSettings(page, 'Account');
    await button(page, 'Security').click();
    await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor();
    await check('the security settings');
    await page.getByLabel('Your password').fill(AURORA.password);
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await check('the set-up of an authenticator app');
    assert.deepEqual(violationsByPage, {});
    await window.close();
  });

  for (const [title, language, width] of [
    ['a narrow phone', 'en', 360],
    ['a narrow phone in Spanish', 'es', 360],
    ['a narrow phone in Portuguese', 'pt', 360],
    ['a narrow phone with right-to-left text', 'ar', 360],
    ['a wide screen with right-to-left text', 'ar', 1280],
  ] as const) {
    it(`fits ${title} without horizontal scrolling`, async () => {
      const window = await dashboard.open({ language, viewport: { width, height: 740 } });
      const { page } = window;
      assert.equal(await page.getAttribute('html', 'lang'), language);
      const problems: string[] = [];
      for (const [name, path, content] of PAGES) {
        await goTo(page, path);
        await page.locator(content).waitFor();
        await animationsFinished(page);
        const { scrolling, direction } = await page.evaluate<{ scrolling: string[]; direction: string }>(`({
          scrolling: [...document.querySelectorAll('html, main, main *')]
            .filter((element) => element === document.documentElement
              || ['auto', 'scroll'].includes(getComputedStyle(element).overflowX))
            .filter((element) => element.scrollWidth > element.clientWidth)
            .map((element) => element.className || element.localName),
          direction: getComputedStyle(document.body).direction,
        })`);
        if (scrolling.length > 0) problems.push(`${name} scrolls: ${scrolling}`);
        if (direction !== (language === 'ar' ? 'rtl' : 'ltr'))
          problems.push(`${name} has direction ${direction}`);
      }
      assert.deepEqual(problems, []);
      await window.close();
    });
  }

  it('shows every button of the sign-in page in full on a narrow phone, in every language', async () => {
    const window = await dashboard.open({
      user: 'nobody',
      baseURL: dashboard.deskbell.url.replace('127.0.0.1', 'localhost'),
      viewport: { width: 320, height: 568 },
    });
    const { page } = window;
    const devTools = await page.context().newCDPSession(page);
    const userAgent = await page.evaluate<string>('navigator.userAgent');
    for (const language of ['en', 'es', 'pt', 'ar']) {
      // The first choice of the browser, as for a first visit.
      await devTools.send('Emulation.setUserAgentOverride', { userAgent, acceptLanguage: language });
      await page.reload();
      await page.locator('.sign-in-demo button').first().waitFor();
      assert.equal(await page.getAttribute('html', 'lang'), language);
      const clipped = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.sign-in .mantine-Button-label')]
          .filter((label) => label.scrollWidth > label.clientWidth || label.scrollHeight > label.clientHeight)
          .map((label) => label.textContent)`,
      );
      assert.deepEqual(clipped, [], language);
    }
    await window.close();
  });

  it('shows the dates of the overview chart in full on a phone, in every language', async () => {
    const window = await dashboard.open({ path: '/overview', viewport: { width: 390, height: 740 } });
    const { page } = window;
    for (const language of ['en', 'es', 'pt', 'ar']) {
      await page.evaluate(`localStorage.setItem('deskbell.preferences', '{"language":"${language}"}')`);
      await page.reload();
      await page.locator('.bars-text').first().waitFor();
      assert.equal(await page.getAttribute('html', 'lang'), language);
      const clipped = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.bars text')].filter((text) => {
          const chart = text.ownerSVGElement.getBoundingClientRect();
          const { left, right } = text.getBoundingClientRect();
          return left < chart.left || right > chart.right;
        }).map((text) => text.textContent)`,
      );
      assert.deepEqual(clipped, [], language);
    }
    await window.close();
  });

  it('loads at most 220 KB of compressed script, and nothing from other origins', async () => {
    const window = await dashboard.open({ user: 'nobody' });
    await window.page.getByLabel('Email').waitFor();
    const loaded = await window.page.evaluate<string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))",
    );
    assert.ok(loaded.length > 0);
    const sizes = await Promise.all(
      loaded.map(async (url) => {
        const headers = { 'accept-encoding': 'gzip' };
        const reply = await dashboard.deskbell.call('GET', new URL(url).pathname, { headers });
        assert.equal(reply.headers.get('content-encoding'), 'gzip');
        return Number(reply.headers.get('content-length'));
      }),
    );
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total > 0 && total <= 220_000, `${total} bytes`);
    await window.close();
  });

  it('returns 404 for an unknown path', async () => {
    const reply = await dashboard.deskbell.call('GET', '/nowhere');
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

inBrowser('text written by customers', (dashboard) => {
  it('is shown as plain text on every page: no injected script runs', async () => {
    const { database, signIn, call } = dashboard.deskbell;
    const token = await signIn();
    await database.run('update conversations set customer_name = $1, reference = $1 where id = 1', [XSS[1]!]);
    await database.run('update users set name = $1 where id = 1', [XSS[0]!]);
    const ids: string[] = [];
    for (const text of XSS) {
      const context = { question: text, lead_phone: text, [text]: text, nested: { [text]: [text] } };
      const body = { notification_type: 'user_question_request', conversation_id: 1, context };
      const address = await raise(dashboard.deskbell, token, body);
      ids.push(address.split('/').at(-1)!);
      await call('POST', '/api/v1/simulator/1', { token, body: { text } });
      const change = { title: text.replace(/[\0\ud83d]/g, ''), body: text };
      await call('PATCH', '/api/v1/knowledge/1', { token, body: change });
    }
    for (const id of ids.slice(0, 3)) {
      await call('POST', `/api/v1/notification/${id}/answer`, { token, body: { answer: XSS[1] } });
    }
    await dashboard.deskbell.allSent();

    const window = await dashboard.open();
    const { page } = window;
    await page.getByText('window.hit').first().waitFor();
    for (const path of ['/knowledge', '/knowledge/1', '/test-phone/1', '/overview']) {
      await goTo(page, path);
      await page.locator('main').locator('h1, h2, h3').first().waitFor({ state: 'attached' });
    }
    for (const id of ids) {
      await goTo(page, `/inbox/${id}`);
      await page.locator('.question-text').waitFor();
      for (const details of await page.locator('details').all())
        await details.evaluate((element) => element.setAttribute('open', ''));
    }
    for (const section of ['shop', 'connection', 'team', 'assistant', 'account']) {
      await goTo(page, `/settings/${section}`);
      await page.locator('.settings-content .mantine-Button-root').first().waitFor();
    }
    await page.waitForTimeout(200);
    assert.equal(await page.evaluate('window.hit'), undefined);
    const links = await page.locator('a[href^="javascript:" i]').count();
    assert.equal(links, 0);
    await window.close();
  });
});
