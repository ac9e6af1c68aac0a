import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { assertAccessible, violationsIn } from './axe.ts';
import { inBrowser, type Shop } from './browser.ts';
import { goTo } from './page.ts';

const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };

/** Every page of the dashboard, and what it shows when it is complete, in any language. */
async function pagesOf(shop: Shop): Promise<[name: string, path: string, content: string][]> {
  await shop.setUndoSeconds(0);
  const question = await shop.ask('Do you have decaf beans?', { customer: 2 });
  const support = await shop.raise({
    notification_type: 'user_support_request',
    context: { support_request_reason: 'The bag arrived torn and half empty.', order: 'AC-2041' },
  });
  const answered = await shop.ask('Do you grind the beans for a moka pot?');
  await shop.answer(answered, 'Yes. Choose “moka” at checkout.');
  const group: number[] = [];
  for (const customer of [0, 1, 2]) group.push(await shop.ask('Do you roast on Mondays?', { customer }));
  const untaught = await shop.ask('Do you lend machines for weddings?');
  await shop.answer(untaught, { answer: 'Yes, for 40 euros.', only_send_campaign: true });
  const failed = await shop.ask('Can you call me back?', { lead_phone: 'call me' });
  await shop.answer(failed, 'Yes, today at five.');
  const document = { title: 'Shipping times and costs', body: 'Free from 35 €, else 4.90 €.' };
  const { id } = (await shop.post('/knowledge/', document)).json;
  await shop.deskbell.allSent();
  return [
    ['the inbox', '/', `[data-notification="${question}"]`],
    ['what needs attention', '/inbox?tab=attention', '.attention-actions >> nth=0'],
    ['a search without results', '/inbox?tab=all&q=zzzqq', '.inbox-list .empty'],
    ['a question', `/inbox/${question}`, '[data-answer] textarea >> nth=0'],
    ['a support request', `/inbox/${support}`, '[data-answer] textarea >> nth=1'],
    ['customers who ask the same', `/inbox/${group[0]}`, '.group-members'],
    ['an answered question', `/inbox/${answered}`, '.sent-answer'],
    ['the knowledge base', '/knowledge', '.document-row >> nth=0'],
    ['a document', `/knowledge/${id}`, '.versions'],
    ['what no document answers', '/knowledge?show=gaps', '.gap >> nth=0'],
    ['documents that are out of date', '/knowledge?show=stale', '.inbox-list .empty'],
    ['changes to the documents', '/knowledge?show=changes', '.document-row >> nth=0'],
    ['a new document', '/knowledge?new=1', '.document textarea'],
    ['the overview', '/overview', '.bars-weeks >> nth=0'],
    ['an unknown address', '/nowhere', '.empty'],
    ['the test phone', `/test-phone/${shop.conversations[0]}`, '.phone'],
    ['the shop', '/settings/shop', '.settings-content textarea'],
    ['the connection', '/settings/connection', '.settings-content input >> nth=2'],
    ['the team', '/settings/team', '[data-member] >> nth=0'],
    ['the account', '/settings/account', '.settings-actions'],
    ['the assistant', '/settings/assistant', '.settings-content fieldset'],
    ['the developer tools', '/settings/developer', '.settings-content input >> nth=0'],
    ['the data', '/settings/data', '.settings-block'],
  ];
}

/** What is wider than its place, and the direction of the text. */
const LAYOUT = `[
  getComputedStyle(document.body).direction,
  ...[...document.querySelectorAll('html, main, main *')]
    .filter((element) => element === document.documentElement
      || ['auto', 'scroll'].includes(getComputedStyle(element).overflowX))
    .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth)
    .map((element) => element.className || element.localName),
].join(' ')`;

/** What is wrong and stays so: on a busy machine a page is laid out again after its size has changed. */
async function settledLayout(page: Page, right: string): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    const layout = await page.evaluate<string>(LAYOUT);
    if (layout === right) return undefined;
    if (tries === 20) return layout;
    await sleep(100);
  }
}

inBrowser('every page', (shop) => {
  let pages: Awaited<ReturnType<typeof pagesOf>>;
  before(async () => {
    pages = await pagesOf(shop);
  });

  for (const language of ['en', 'es', 'ar']) {
    // Only right-to-left text changes what a wide screen looks like.
    const sizes = language === 'es' ? [PHONE] : [WIDE, PHONE];
    it(`fits the screen in “${language}”${language === 'en' ? ', and axe finds no violations' : ''}`, async () => {
      const { page } = await shop.open({ language, viewport: PHONE });
      await page.locator(`html[lang="${language}"]`).waitFor();
      const problems: string[] = [];
      for (const [name, path, content] of pages) {
        await goTo(page, path);
        for (const size of sizes) {
          await page.setViewportSize(size);
          await page.locator(content).waitFor();
          const layout = await settledLayout(page, language === 'ar' ? 'rtl' : 'ltr');
          if (layout !== undefined) problems.push(`${name}: ${layout}`);
          if (language !== 'en') continue;
          const violations = await violationsIn(page, size === WIDE ? 'light' : 'dark');
          problems.push(...violations.map((violation) => `${name}: ${violation}`));
        }
      }
      await page.emulateMedia({ colorScheme: 'light' });
      assert.deepEqual(problems, []);
    });
  }
});

inBrowser('every page without a session', (shop) => {
  it('that leads nowhere says so, leads on, and has no violations that axe finds', async () => {
    const { page } = await shop.open({ user: 'nobody', path: '/invite', expectedErrors: /404/ });
    await page.getByText('This link cannot be opened').waitFor();
    await assertAccessible(page);
    await page.goto('/nowhere');
    await page.getByText('Page not found').waitFor();
    await assertAccessible(page);
    await page.getByRole('link', { name: 'Go to the inbox' }).click();
    await page.waitForURL('**/inbox');
    await page.getByLabel('Email').waitFor();
    await page.setViewportSize(PHONE);
    await assertAccessible(page);
  });

  it('speaks the language of the browser, and shows every button in full on a narrow phone', async () => {
    for (const [locale, operator] of [
      ['pt', 'Entrar como operador (sem loja)'],
      ['es', 'Entrar como operador (sin tienda)'],
    ] as const) {
      const viewport = { width: 320, height: 568 };
      const { page } = await shop.open({ user: 'nobody', locale, viewport });
      await page.getByRole('button', { name: operator }).waitFor();
      const clipped = await page
        .locator('.sign-in .mantine-Button-label')
        .evaluateAll((labels) =>
          labels.filter(
            ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
              scrollWidth > clientWidth || scrollHeight > clientHeight,
          ),
        );
      assert.equal(clipped.length, 0, locale);
    }
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

inBrowser('text written by customers', (shop) => {
  it('is shown as plain text on every page: no injected script runs', async () => {
    const { database } = shop.deskbell;
    const [conversation] = shop.conversations;
    await shop.setUndoSeconds(0);
    const rename = 'update conversations set customer_name = $1, reference = $1 where id = $2';
    await database.run(rename, [XSS[1]!, conversation!]);
    await database.run('update users set name = $1 where id = $2', [XSS[0]!, shop.owner.id]);
    const created = await shop.post('/knowledge/', { title: 'A title', body: 'A text' });
    const document = `/knowledge/${created.json.id}`;
    const ids: number[] = [];
    for (const text of XSS) {
      ids.push(await shop.ask(text, { lead_phone: text, [text]: text, nested: { [text]: [text] } }));
      await shop.post(`/simulator/${conversation}`, { text });
      const change = { title: text.replace(/[\0\ud83d]/g, ''), body: text };
      await shop.patch(document, change);
    }
    for (const id of ids.slice(0, 3)) await shop.answer(id, XSS[1]!);
    await shop.deskbell.allSent();

    const { page } = await shop.open();
    await page.getByText('window.hit').first().waitFor();
    for (const path of ['/knowledge', document, `/test-phone/${conversation}`, '/overview']) {
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
    // An image of our own fails after those that were injected.
    await page.evaluate(`new Promise((resolve) => {
      const image = new Image();
      image.onerror = resolve;
      image.src = '/healthz';
    })`);
    assert.equal(await page.evaluate('window.hit'), undefined);
    assert.equal(await page.locator('a[href^="javascript:" i]').count(), 0);
  });
});
