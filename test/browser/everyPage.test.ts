import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { createChecks } from './axe.ts';
import {
  answerField,
  button,
  goTo,
  heading,
  inBrowser,
  openSettings,
  type Shop,
  turnOnShortcuts,
} from './browser.ts';

const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
/** On it, nothing is cut. */
const LARGER_PHONE = { width: 390, height: 740 };

/** What the pages show: open, answered and grouped questions, a document, and a message that failed. */
async function fill(shop: Shop) {
  await shop.setUndoSeconds(0);
  const question = await shop.ask('Do you have decaf beans?', { customer: 2 });
  const support = await shop.raise({
    notification_type: 'user_support_request',
    context: { support_request_reason: 'The bag arrived torn and half empty.', order: 'AC-2041' },
  });
  const answered = await shop.ask('Do you grind the beans for a moka pot?');
  await shop.answer(answered, 'Yes. Choose “moka” at checkout.');
  const group: string[] = [];
  for (const customer of [0, 1, 2]) group.push(await shop.ask('Do you roast on Mondays?', { customer }));
  const told = await shop.ask('Do you lend machines for weddings?');
  await shop.answer(told, { answer: 'Yes, for 40 euros.', only_send_campaign: true });
  await shop.answer(
    await shop.ask('Can you call me back?', { lead_phone: 'call me' }),
    'Yes, today at five.',
  );
  const document = { title: 'Shipping times and costs', body: 'Free from 35 €, else 4.90 €.' };
  const { id } = (await shop.api('POST', '/api/v1/knowledge/', document)).json;
  await shop.deskbell.allSent();
  return { question, support, answered, group: group[0]!, document: id as number };
}
type Filled = Awaited<ReturnType<typeof fill>>;

/** Every page of the dashboard, and what it shows when it is complete, in any language. */
const pagesOf = (shop: Shop, filled: Filled): [name: string, path: string, content: string][] => [
  ['the inbox', '/', `[data-notification="${filled.question}"]`],
  ['what needs attention', '/inbox?tab=attention', '.attention-actions >> nth=0'],
  ['a search without results', '/inbox?tab=all&q=zzzqq', '.inbox-list .empty'],
  ['a question', `/inbox/${filled.question}`, '[data-answer] textarea >> nth=0'],
  ['a support request', `/inbox/${filled.support}`, '[data-answer] textarea >> nth=1'],
  ['customers who ask the same', `/inbox/${filled.group}`, '.group-members'],
  ['an answered question', `/inbox/${filled.answered}`, '.sent-answer'],
  ['the knowledge base', '/knowledge', '.document-row >> nth=0'],
  ['a document', `/knowledge/${filled.document}`, '.versions'],
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

/** What is wider than its place, and the direction of the text. */
const LAYOUT = `[
  getComputedStyle(document.body).direction,
  ...[...document.querySelectorAll('html, main, main *')]
    .filter((element) => element === document.documentElement
      || ['auto', 'scroll'].includes(getComputedStyle(element).overflowX))
    .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth)
    .map((element) => element.className || element.localName),
].join(' ')`;
const CAN_BE_CUT = "document.querySelector('.bars text, .filters-line select') !== null";
const NOT_IN_THE_CHART = `[...document.querySelectorAll('.bars text')].filter((text) => {
  const chart = text.ownerSVGElement.getBoundingClientRect();
  const { left, right } = text.getBoundingClientRect();
  return left < chart.left || right > chart.right;
}).map((text) => text.textContent).join(', ')`;
/** How much wider the chosen name in each filter is than its place. */
const CUT_IN_THE_FILTERS = `[...document.querySelectorAll('.filters-line select')].filter((select) => {
  const style = getComputedStyle(select);
  const canvas = document.createElement('canvas').getContext('2d');
  canvas.font = style.font;
  const place = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return canvas.measureText(select.selectedOptions[0].textContent).width >= place + 1;
}).map((select) => select.selectedOptions[0].textContent).join(', ')`;

inBrowser('every page', (shop) => {
  let filled: Filled;
  before(async () => {
    filled = await fill(shop);
  });

  for (const language of ['en', 'es', 'pt', 'ar']) {
    // Only right-to-left text changes what a wide screen looks like.
    const sizes = language === 'en' || language === 'ar' ? [WIDE, PHONE] : [PHONE];
    const checked =
      language === 'en' ? ', and axe finds no violations, wide in light and narrow in dark colors' : '';
    it(`fits the screen without horizontal scrolling in “${language}”${checked}`, async () => {
      const { page } = await shop.open({ language, viewport: PHONE });
      const { checkIn, violationsByPage } = createChecks(page);
      await page.locator(`html[lang="${language}"]`).waitFor();
      const problems: string[] = [];
      let current = PHONE;
      // Each change lays out the page again.
      const resize = async (size: typeof PHONE) => {
        if (size !== current) await page.setViewportSize(size);
        current = size;
      };
      for (const [name, path, content] of pagesOf(shop, filled)) {
        await goTo(page, path);
        for (const size of sizes) {
          await resize(size);
          await page.locator(content).waitFor();
          const layout = await page.evaluate<string>(LAYOUT);
          if (layout !== (language === 'ar' ? 'rtl' : 'ltr')) problems.push(`${name}: ${layout}`);
          if (language === 'en') await checkIn(size === WIDE ? 'light' : 'dark', name);
        }
        if (!(await page.evaluate<boolean>(CAN_BE_CUT))) continue;
        await resize(LARGER_PHONE);
        for (const check of [NOT_IN_THE_CHART, CUT_IN_THE_FILTERS]) {
          const cut = await page.evaluate<string>(check);
          if (cut !== '') problems.push(`${name} cuts ${cut}`);
        }
      }
      await page.emulateMedia({ colorScheme: 'light' });
      assert.deepEqual(problems, []);
      assert.deepEqual(violationsByPage, {});
    });
  }

  it('has dialogs in which axe finds no violations, in light and dark colors', async () => {
    const id = await shop.ask('How long does a parcel to Peru take?', { document_id: filled.document });
    const { page } = await shop.open({ path: `/inbox/${id}`, fresh: true });
    const { check, violationsByPage } = createChecks(page);
    // The overlay dims the page until it is gone.
    const overlay = page.locator('.mantine-Modal-overlay');
    const closeDialog = async () => {
      await page.keyboard.press('Escape');
      await overlay.waitFor({ state: 'detached' });
    };
    await answerField(page).fill('About nine days.');
    await page.getByRole('combobox', { name: 'The assistant learns' }).selectOption({ index: 1 });
    await page.getByText('Internal notes').click();
    await page.getByLabel('Saved replies').first().click();
    await page.locator('.saved-replies').waitFor();
    await check('saved replies and what the assistant learns');
    await page.keyboard.press('Escape');
    await page.getByLabel('Emoji', { exact: true }).first().click();
    await page.locator('.emoji-grid').waitFor();
    await check('the emoji');
    await page.keyboard.press('Escape');
    await page.setViewportSize(PHONE);
    await page.getByRole('combobox', { name: 'The assistant learns' }).waitFor();
    await check('what the assistant learns, on a phone');
    await page.setViewportSize(WIDE);

    await goTo(page, '/knowledge');
    await button(page, 'Import and export').click();
    await page.locator('input[type="file"]').setInputFiles({
      name: 'documents.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('title,body\nGift wrapping,"Yes, for 3 €."\n,Nothing\n'),
    });
    await button(page, 'Import 1 document').waitFor();
    await check('an import');
    await closeDialog();
    await goTo(page, `/knowledge/${filled.document}`);
    await button(page, 'Delete').click();
    await overlay.waitFor();
    await check('the deletion of a document');
    await closeDialog();
    await button(page, 'Edit').click();
    await page.getByLabel('Title').waitFor();
    await page.locator('.versions summary').first().click();
    await check('a document that is edited, with its versions');

    await goTo(page, '/');
    // What had the focus is gone, so a key alone does nothing.
    await page.keyboard.press('Escape');
    await turnOnShortcuts(page);
    await page.keyboard.press('?');
    await overlay.waitFor();
    await check('the keyboard shortcuts');
    await closeDialog();
    await page.keyboard.press('ControlOrMeta+k');
    // Until the commands are loaded, the field controls a list that is not there.
    await page.locator('.palette-dialog').getByRole('option').first().waitFor();
    await check('the command menu');
    await page.keyboard.press('Escape');

    await openSettings(page, 'Team');
    await page.getByRole('button', { name: 'Create the invitation' }).click();
    await page.locator('.shown-once').waitFor();
    await check('a new invitation');
    await openSettings(page, 'Assistant');
    await page.getByText('My own threshold').click();
    await page.getByRole('slider').waitFor();
    await check('the threshold of the assistant');
    await openSettings(page, 'Account');
    await button(page, 'Security').click();
    await page.getByText('Where you are signed in').click();
    await page.getByLabel('Your password').fill(shop.merchant.owner.password);
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await check('the security settings, with the set-up of an authenticator app');
    assert.deepEqual(violationsByPage, {});
  });
});

inBrowser('every page without a session', (shop) => {
  it('says what it is, leads on, and has no violations that axe finds', async () => {
    const invite = (await shop.api('POST', '/api/v1/invites', { role: 'user', name: 'Bruno Díaz' })).json;
    const user = await shop.colleague();
    const reset = (await shop.api('POST', `/api/v1/team/${user.id}/reset-link`)).json;
    const { page } = await shop.open({ user: 'nobody', expectedErrors: /404|ERR_FAILED/ });
    const { checkIn, violationsByPage } = createChecks(page);
    const check = async (name: string) => {
      await checkIn('light', name);
      await page.setViewportSize(PHONE);
      await checkIn('dark', name);
      await page.setViewportSize(WIDE);
    };
    await page.getByRole('button', { name: 'Sign in as Aurora Coffee' }).waitFor();
    await check('the sign-in page');
    await button(page, 'Forgot password').click();
    await button(page, 'Send the link').waitFor();
    await check('a forgotten password');
    await page.goto(invite.link);
    await heading(page, 'Join Aurora Coffee').waitFor();
    assert.equal(await page.getByText('Sign in to answer').count(), 0);
    await check('an invitation');
    await page.goto('/invite');
    await page.getByText('This link cannot be opened').waitFor();
    await check('an invitation that does not work');
    await page.goto(reset.link);
    await page.getByLabel('New password').waitFor();
    await check('a new password');
    await page.goto('/nowhere');
    await page.getByText('Page not found').waitFor();
    await check('an unknown address');
    await page.getByRole('link', { name: 'Go to the inbox' }).click();
    await page.waitForURL('**/inbox');
    await page.getByLabel('Email').waitFor();
    const item = { id: 1, customer: 'Lucía Fernández', question: 'Decaf?', created_at: new Date() };
    const stored = {
      'deskbell.session': 'user-1',
      'deskbell.offline': JSON.stringify({ userId: 1, at: new Date(), items: [item] }),
    };
    await page.evaluate(`Object.assign(localStorage, ${JSON.stringify(stored)})`);
    await page.route('**/session/**', (route) => route.abort());
    await page.goto('/inbox');
    await page.getByText('You are offline.').waitFor();
    await check('the list without a connection');
    await page.emulateMedia({ colorScheme: 'light' });
    assert.deepEqual(violationsByPage, {});
  });

  it('shows every button of the sign-in page in full on a narrow phone, in every language', async () => {
    const { page } = await shop.open({
      user: 'nobody',
      baseURL: shop.deskbell.url.replace('127.0.0.1', 'localhost'),
      viewport: { width: 320, height: 568 },
    });
    const devTools = await page.context().newCDPSession(page);
    const userAgent = await page.evaluate<string>('navigator.userAgent');
    for (const language of ['en', 'pt', 'ar', 'es']) {
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
    // Also what only screen readers say.
    await page.getByRole('button', { name: 'Entrar como operador (sin tienda)' }).waitFor();
    await page.getByLabel('Mostrar u ocultar la contraseña').waitFor();
    await page.close();
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
    await database.run('update users set name = $1 where id = $2', [XSS[0]!, shop.merchant.owner.id]);
    const created = await shop.api('POST', '/api/v1/knowledge/', { title: 'A title', body: 'A text' });
    const document = `/knowledge/${created.json.id}`;
    const ids: string[] = [];
    for (const text of XSS) {
      ids.push(await shop.ask(text, { lead_phone: text, [text]: text, nested: { [text]: [text] } }));
      await shop.api('POST', `/api/v1/simulator/${conversation}`, { text });
      const change = { title: text.replace(/[\0\ud83d]/g, ''), body: text };
      await shop.api('PATCH', `/api/v1${document}`, change);
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
    await page.waitForTimeout(200);
    assert.equal(await page.evaluate('window.hit'), undefined);
    assert.equal(await page.locator('a[href^="javascript:" i]').count(), 0);
  });
});
