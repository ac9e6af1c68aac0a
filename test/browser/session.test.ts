import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { decodeJwt } from 'jose';
import type { Page } from 'playwright-core';
import { endSessionsOf } from '../../src/auth/sessions/store.ts';
import { AURORA, BOREALIS, login, OPERATOR } from '../support/server.ts';
import { inBrowser, inBrowserOn, MOVED_CLOCK, type Shop } from './browser.ts';
import {
  answerField,
  becomes,
  button,
  focused,
  openSettings,
  pathOf,
  rowOf,
  sentToast,
  waitUntilLive,
} from './page.ts';

const PASSWORD = 'quiet lemon harbour';
/** A question of Borealis, the other shop of the demo. */
const THEIRS = 7;

async function signOut(page: Page): Promise<void> {
  await openSettings(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
}
const userIdOf = (authorization: string) => Number(decodeJwt(authorization.split(' ')[1]!).sub);
const end = ({ deskbell }: Shop, { id }: { id: number }) =>
  deskbell.database.transaction((tx) => endSessionsOf(tx, id, deskbell.clock.now()));

inBrowser('signing in to the dashboard', (shop) => {
  let id = 0;
  before(async () => {
    id = await shop.ask('Do you have decaf beans?');
  });

  it('works with email and password, survives a reload, and ends with sign-out', async () => {
    // What is under way at the sign-out may be refused, and the browser logs it.
    const window = await shop.open({ user: 'nobody', expectedErrors: /401/ });
    const { page } = window;
    await page.getByLabel('Email').waitFor();
    // At an IP address no passkey is offered.
    assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0);
    // It loads at most 220 KB of compressed script.
    const loaded = await page.evaluate<string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))",
    );
    let bytes = 0;
    for (const url of loaded) {
      const headers = { 'accept-encoding': 'gzip' };
      const reply = await shop.deskbell.call('GET', new URL(url).pathname, { headers });
      assert.equal(reply.headers.get('content-encoding'), 'gzip');
      bytes += Number(reply.headers.get('content-length'));
    }
    assert.ok(bytes > 0 && bytes <= 220_000, `${bytes} bytes`);

    // After a wrong password, it can be typed again at once.
    await page.getByLabel('Email').fill(shop.owner.email);
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').getByText('Wrong email or password.').waitFor();
    await page.locator('[name="password"]:focus').waitFor();
    await window.signIn(shop.owner);
    await rowOf(page, id).waitFor();
    await page.reload();
    await rowOf(page, id).waitFor();

    // Scripts of the page cannot read the session cookie or the tokens.
    const readable = await page.evaluate<string>(
      'JSON.stringify([document.cookie, localStorage, sessionStorage])',
    );
    const [cookie] = await page.context().cookies(`${shop.deskbell.url}/session`);
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    assert.ok(!readable.includes('eyJ'), readable);

    await signOut(page);
    await page.reload();
    await page.getByLabel('Email').waitFor();
    assert.deepEqual(await page.context().cookies(), []);
  });

  it('takes one click in the demo, and says to an operator that the account has no shop', async () => {
    const { page } = await shop.open({ user: 'nobody', expectedErrors: /401/ });
    await page.getByRole('button', { name: 'Sign in as Borealis Books' }).click();
    await rowOf(page, THEIRS).waitFor();
    assert.equal(await rowOf(page, id).count(), 0);
    await signOut(page);
    await page.getByLabel('Email').fill(OPERATOR.email);
    await page.getByLabel('Password', { exact: true }).fill(OPERATOR.password);
    await page.keyboard.press('Enter');
    await page.getByText('is not linked to a shop').waitFor();
  });

  it('asks at the sign-out if it would delete a draft', async () => {
    const window = await shop.open({ path: `/inbox/${id}`, expectedErrors: /401/, fresh: true });
    const { page } = window;
    await answerField(page).fill('Half an answer');
    await openSettings(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have text that is not sent or saved yet.').waitFor();
    await becomes(() => focused(page), 'Cancel');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await becomes(() => focused(page), 'Sign out');
    await page.goBack();
    assert.equal(await answerField(page).inputValue(), 'Half an answer');

    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('option', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out and delete it' }).click();
    await page.getByText('You are signed out.').waitFor();
    await window.signIn();
    await becomes(() => answerField(page).inputValue(), '');
  });

  it('out in one tab signs out in all of them, and in again continues in all of them', async () => {
    const window = await shop.open({ expectedErrors: /401/, fresh: true });
    const other = await window.tab();
    await other.getByRole('navigation', { name: 'Main navigation' }).waitFor();
    await signOut(window.page);
    await other.getByText('You are signed out.').waitFor();
    await window.signIn();
    await rowOf(other, id).waitFor();
  });

  it('is asked for again when the session was revoked on the server, and a draft is still there', async () => {
    const user = await shop.colleague();
    const window = await shop.open({ user, path: `/inbox/${id}`, expectedErrors: /401/ });
    const { page } = window;
    await answerField(page).fill('Half an answer');
    await end(shop, user);
    await page.reload();
    await page.getByText('Your draft is saved on this device.').waitFor();
    await window.signIn();
    assert.equal(await answerField(page).inputValue(), 'Half an answer');
  });
});

inBrowser('two users in one browser', (shop) => {
  let id = 0;
  before(async () => {
    id = await shop.ask('Do you have decaf beans?');
  });

  it('the list for times without a connection is not stored after sign-out, and never shown to somebody else', async () => {
    const window = await shop.open({ user: 'nobody', expectedErrors: /401|ERR_FAILED/ });
    const { page } = window;
    const stored = () => page.evaluate<string | null>(`localStorage.getItem('deskbell.offline')`);
    const [sent, signedOut, received] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    await page.route(
      (url) => url.pathname === '/api/v1/inbox' && url.search === '?tab=open&limit=50',
      async (route) => {
        const response = await route.fetch();
        sent!.resolve();
        await signedOut!.promise;
        await route.fulfill({ response });
        received!.resolve();
      },
      { times: 1 },
    );
    await window.signIn(shop.owner);
    await sent!.promise;
    await signOut(page);
    signedOut!.resolve();
    await received!.promise;
    // The page reads the earlier response first.
    await page.evaluate(`fetch('/healthz').then((response) => response.text())`);
    assert.equal(await stored(), null);

    const at = new Date().toISOString();
    const item = { id: 9, customer: 'Lucía', question: 'Aurora’s question', created_at: at };
    const left = JSON.stringify({ userId: shop.owner.id, at, items: [item] });
    const leave = () => page.evaluate(`localStorage.setItem('deskbell.offline', ${JSON.stringify(left)})`);
    await leave();
    await window.signIn(BOREALIS);
    await rowOf(page, THEIRS).waitFor();
    // The next user starts at the inbox, not where the last one was.
    assert.equal(pathOf(page), '/inbox');
    assert.ok(!(await stored())?.includes('Aurora’s question'));
    await becomes(async () => (await stored()) !== null, true);
    await leave();
    await page.route('**/session/refresh', (route) => route.abort());
    await page.reload();
    await page.getByText('Cannot reach the server.').waitFor();
    assert.equal(await page.getByText('Aurora’s question').count(), 0);
  });

  it('a tab reloads when somebody else signs in in another tab, before it sends anything in their name', async () => {
    const window = await shop.open({ user: 'nobody', expectedErrors: /401|ERR_FAILED/ });
    const { page } = window;
    const other = await window.tab();
    // The other tab has no connection when this one signs in, so it stays on the sign-in page.
    await other.route('**/session/refresh', (route) => route.abort());
    await window.signIn(shop.owner);
    await rowOf(page, id).waitFor();
    await waitUntilLive(page);

    let reloaded = false;
    const early: string[] = [];
    page.on('domcontentloaded', () => {
      reloaded = true;
    });
    page.on('request', (request) => {
      const { authorization } = request.headers();
      if (!reloaded && authorization && userIdOf(authorization) !== shop.owner.id) early.push(request.url());
    });
    await other.getByLabel('Email').fill(BOREALIS.email);
    await other.getByLabel('Password', { exact: true }).fill(BOREALIS.password);
    await other.getByRole('button', { name: 'Sign in', exact: true }).click();
    // It disappears by itself.
    const told = page.getByText('You are now signed in as').waitFor();
    await Promise.all([told, rowOf(other, THEIRS).waitFor(), rowOf(page, THEIRS).waitFor()]);
    assert.equal(await rowOf(page, id).count(), 0);
    assert.equal(reloaded, true);
    assert.deepEqual(early, []);
  });

  it('a tab that missed it reloads instead of sending an answer, and each user keeps their own drafts', async () => {
    const { page } = await shop.open({ expectedErrors: /401/, fresh: true });
    await rowOf(page, id).click();
    await answerField(page).fill('Aurora’s draft');
    // A request outside the page: the page learns nothing but that its token no longer works.
    const headers = { 'x-deskbell-dashboard': '1' };
    const signIn = ({ email, password }: { email: string; password: string }) =>
      page.context().request.post('/session/login', { headers, data: { email, password } });
    const refused: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'POST' || !request.url().endsWith('/answer')) return;
      if (userIdOf(request.headers().authorization!) !== shop.owner.id) refused.push(request.url());
    });
    await signIn(BOREALIS);
    // It may reload before: then the keys do nothing.
    await page.keyboard.press('Control+Enter');
    await rowOf(page, THEIRS).waitFor();
    assert.deepEqual(refused, []);
    await rowOf(page, THEIRS).click();
    await answerField(page).fill('Borealis’ draft');

    await signIn(shop.owner);
    await rowOf(page, id).click();
    await page.getByText('Aurora’s draft').first().waitFor();
    assert.equal(await page.getByText('Borealis’ draft').count(), 0);
  });
});

inBrowserOn(MOVED_CLOCK, 'the session of the dashboard', (shop) => {
  it('is in a list of where I am signed in, this device first, and is ended there one by one or all at once', async () => {
    const user = { ...(await shop.colleague()), password: AURORA.password };
    const window = await shop.open({ user });
    await shop.deskbell.clock.advance(5);
    const elsewhere = (await login(shop.deskbell, user)).json;
    await shop.deskbell.clock.advance(5);
    const other = await shop.open({ user, expectedErrors: /401/ });
    const { page } = window;
    await openSettings(page);
    await page.getByText('Where you are signed in').click();
    const rows = page.locator('.sessions li');
    // The colleague has signed in to the API once before.
    await rows.nth(3).waitFor();
    assert.match(
      (await rows.first().textContent())!,
      /^Chrome, Linux This deviceNetwork .127\.0\.0\.\*.Signed in .*Last used/,
    );
    const ends = page.getByRole('button', { name: /^Sign out: node, Network .127\.0\.0\.\*., Signed in/ });
    await ends.first().click();
    await page.getByText('That device is signed out.').waitFor();
    await rows.nth(3).waitFor({ state: 'detached' });
    await page.locator('.sessions summary:focus').waitFor();
    const { access_token: token } = elsewhere;
    assert.equal((await shop.deskbell.call('GET', '/api/v1/auth/me', { token })).status, 401);

    await button(page, 'Sign out the others').click();
    await page.getByText('All other devices are signed out.').waitFor();
    await other.page.getByText('Your session has ended.').waitFor();
    await page.getByText('This device', { exact: true }).waitFor();
    await other.close();

    // A password is changed after the current one, and other devices must sign in again.
    const third = await shop.open({ user, expectedErrors: /401/ });
    await button(page, 'Security').click();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByLabel('New password').fill(PASSWORD);
    await button(page, 'Change password').click();
    await third.page.getByText('Your session has ended.').waitFor();
    await third.signIn({ ...user, password: PASSWORD });
  });

  it('is refreshed in the background when its token expires, and the window stays live', async () => {
    const id = await shop.ask();
    // The missed refresh causes one 401, which the browser logs.
    const { page } = await shop.open({ expectedErrors: /401/ });
    await waitUntilLive(page);
    await shop.deskbell.clock.advance(901);
    await rowOf(page, id).click();
    await answerField(page).fill('Yes, a Colombian one.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    assert.equal((await shop.readAnswered(id)).answer.answer, 'Yes, a Colombian one.');
  });
});
