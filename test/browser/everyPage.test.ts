import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { raise } from '../support/server.ts';
import { inBrowser } from './browser.ts';
import { animationsFinished, goTo, PAGES, prepare } from './pages.ts';

inBrowser('every page of the dashboard', (dashboard) => {
  before(() => prepare(dashboard));

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
      await page.locator(`html[lang="${language}"]`).waitFor();
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
      await page.locator(`html[lang="${language}"]`).waitFor();
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
      await page.locator(`html[lang="${language}"]`).waitFor();
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
      // At once: some of them may be replaced when more is loaded.
      await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
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
