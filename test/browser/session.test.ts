import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decodeJwt } from 'jose';
import { endAllSessions } from '../../src/auth/sessions/store.ts';
import { AURORA, addUser, BOREALIS, login, OPERATOR } from '../support/server.ts';
import { until } from '../support/shops.ts';
import {
  answerField,
  apiOf,
  becomes,
  button,
  focused,
  inBrowser,
  openSettings,
  rowOf,
  sentToast,
  waitUntilLive,
} from './browser.ts';

inBrowser('signing in to the dashboard', (dashboard) => {
  it('works with email and password, survives a reload, and ends with sign-out', async () => {
    // What is under way at the sign-out may be refused, and the browser logs it.
    const window = await dashboard.open({ user: 'nobody', expectedErrors: /401/ });
    const { page } = window;
    await window.signIn();
    await rowOf(page, 9).waitFor();
    await page.reload();
    await rowOf(page, 9).waitFor();

    await openSettings(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await page.reload();
    await page.getByLabel('Email').waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    await window.close();
  });

  it('takes one click in the demo', async () => {
    const window = await dashboard.open({ user: 'nobody' });
    await window.page.getByRole('button', { name: 'Sign in as Borealis Books' }).click();
    await rowOf(window.page, 7).waitFor();
    assert.equal(await rowOf(window.page, 9).count(), 0);
    await window.close();
  });

  it('is fully translated, including texts for screen readers', async () => {
    const window = await dashboard.open({ user: 'nobody', locale: 'es-ES' });
    const { page } = window;
    await page.getByRole('button', { name: 'Entrar como operador (sin tienda)' }).waitFor();
    await page.getByLabel('Mostrar u ocultar la contraseña').waitFor();
    await window.close();
  });

  it('shows a link to the API docs, unless the server has none', async () => {
    const window = await dashboard.open({ user: 'nobody' });
    const { page } = window;
    const link = page.getByRole('link', { name: 'API documentation' });
    await link.waitFor();
    // What a server with DOCS=false sends.
    await page.route(`${dashboard.deskbell.url}/`, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('<html', '<html data-docs="off"');
      await route.fulfill({ response, body });
    });
    await page.reload();
    await page.getByLabel('Email').waitFor();
    assert.equal(await link.count(), 0);
    await window.close();
  });

  it('a wrong password shows an error, and the password can be typed again at once', async () => {
    const window = await dashboard.open({ user: 'nobody', expectedErrors: /401/ });
    const { page } = window;
    await page.getByLabel('Email').fill(AURORA.email);
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').getByText('Wrong email or password.').waitFor();
    await page.locator('[name="password"]:focus').waitFor();
    await window.close();
  });

  it('scripts of the page cannot read the session cookie or the tokens', async () => {
    const window = await dashboard.open();
    const { page } = window;
    const readable = await page.evaluate<string>(
      'JSON.stringify([document.cookie, localStorage, sessionStorage])',
    );
    const [cookie] = await page.context().cookies(`${dashboard.deskbell.url}/session`);
    assert.equal(cookie?.httpOnly, true);
    assert.equal(cookie.sameSite, 'Strict');
    assert.ok(!readable.includes('eyJ'), readable);
    await window.close();
  });

  it('signing out asks first if it would delete a draft', async () => {
    const window = await dashboard.open({ path: '/inbox/9', expectedErrors: /401/ });
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
    await window.close();
  });

  it('a dialog that closes returns the focus to the button that opened it', async () => {
    const window = await dashboard.open();
    const { page } = window;
    await openSettings(page);
    for (const key of ['Escape', 'Enter']) {
      await button(page, 'Keyboard shortcuts').click();
      await page.getByRole('button', { name: 'Close' }).focus();
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await becomes(() => focused(page), 'Keyboard shortcuts');
    }
    await window.close();
  });

  it('signing out in one tab signs out in all of them, and signing in again continues in all of them', async () => {
    const window = await dashboard.open({ expectedErrors: /401/ });
    const [other, third] = await Promise.all([window.tab(), window.tab()]);
    for (const tab of [other, third])
      await tab.getByRole('navigation', { name: 'Main navigation' }).waitFor();
    await openSettings(window.page);
    await window.page.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of [other, third]) await tab.getByText('You are signed out.').waitFor();
    await window.signIn();
    await Promise.all([rowOf(other, 9).waitFor(), rowOf(third, 9).waitFor()]);
    await window.close();
  });

  it('an operator sees that the account has no shop', async () => {
    const window = await dashboard.open({ user: 'nobody' });
    await window.page.getByLabel('Email').fill(OPERATOR.email);
    await window.page.getByLabel('Password', { exact: true }).fill(OPERATOR.password);
    await window.page.keyboard.press('Enter');
    await window.page.getByText('is not linked to a shop').waitFor();
    await window.close();
  });

  it('a session that was revoked on the server leads back to the sign-in page', async () => {
    const window = await dashboard.open({ path: '/inbox/9', expectedErrors: /401/ });
    const { page } = window;
    const end = () => endAllSessions(dashboard.deskbell.database, dashboard.deskbell.clock.now());
    await end();
    await page.reload();
    await page.getByText('Your session has ended. Sign in again.').waitFor();
    assert.equal(await page.getByText('Your draft is saved').count(), 0);

    await window.signIn();
    await answerField(page).fill('Half an answer');
    await end();
    await page.reload();
    await page.getByText('Your draft is saved on this device.').waitFor();
    await window.signIn();
    assert.equal(await answerField(page).inputValue(), 'Half an answer');
    await window.close();
  });
});

inBrowser('two users in one browser', (dashboard) => {
  it('the next user starts at the inbox, and the same user where they were', async () => {
    const window = await dashboard.open({ path: '/inbox/9', expectedErrors: /401/ });
    const { page } = window;
    const signOut = async () => {
      await openSettings(page);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('You are signed out.').waitFor();
      await page.reload();
    };
    await signOut();
    await window.signIn(AURORA);
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    await signOut();
    await window.signIn(BOREALIS);
    await rowOf(page, 7).waitFor();
    assert.equal(new URL(page.url()).pathname, '/inbox');
    await window.close();
  });

  it('the list for times without a connection is not stored after sign-out, and never shown to somebody else', async () => {
    const window = await dashboard.open({ user: 'nobody', expectedErrors: /401|ERR_FAILED/ });
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
    await window.signIn(AURORA);
    await sent!.promise;
    await openSettings(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    signedOut!.resolve();
    await received!.promise;
    // The page reads the earlier response first.
    await page.evaluate(`fetch('/healthz').then((response) => response.text())`);
    assert.equal(await stored(), null);

    const item = {
      id: 9,
      customer: 'Lucía',
      question: 'Aurora’s question',
      created_at: new Date().toISOString(),
    };
    const left = JSON.stringify({ userId: 1, at: item.created_at, items: [item] });
    const leave = () => page.evaluate(`localStorage.setItem('deskbell.offline', ${JSON.stringify(left)})`);
    await leave();
    await window.signIn(BOREALIS);
    await rowOf(page, 7).waitFor();
    assert.ok(!(await stored())?.includes('Aurora’s question'));
    await page.waitForFunction(`localStorage.getItem('deskbell.offline') !== null`);
    await leave();
    await page.route('**/session/refresh', (route) => route.abort());
    await page.reload();
    await page.getByText('Cannot reach the server.').waitFor();
    assert.equal(await page.getByText('Aurora’s question').count(), 0);
    await page.unrouteAll();
    await rowOf(page, 7).waitFor();
    await window.close();
  });

  it('a tab reloads when somebody else signs in in another tab, before it sends anything in their name', async () => {
    const window = await dashboard.open({ user: 'nobody', expectedErrors: /401|ERR_FAILED/ });
    const { page } = window;
    const other = await window.tab();
    // The other tab has no connection when this one signs in, so it stays on the sign-in page.
    await other.route('**/session/refresh', (route) => route.abort());
    await window.signIn(AURORA);
    await rowOf(page, 9).waitFor();
    await waitUntilLive(page);

    let reloaded = false;
    const early: string[] = [];
    page.on('domcontentloaded', () => {
      reloaded = true;
    });
    page.on('request', (request) => {
      const token = request.headers().authorization?.split(' ')[1];
      if (!reloaded && token && decodeJwt(token).sub !== '1') early.push(request.url());
    });
    await other.getByLabel('Email').fill(BOREALIS.email);
    await other.getByLabel('Password', { exact: true }).fill(BOREALIS.password);
    await other.getByRole('button', { name: 'Sign in', exact: true }).click();
    // It disappears by itself.
    const told = page.getByText('You are now signed in as').waitFor();
    await Promise.all([told, rowOf(other, 7).waitFor(), rowOf(page, 7).waitFor()]);
    assert.equal(await rowOf(page, 9).count(), 0);
    assert.equal(reloaded, true);
    assert.deepEqual(early, []);
    await window.close();
  });

  it('a tab that missed it reloads instead of sending an answer, and each user keeps their own drafts', async () => {
    const window = await dashboard.open({ expectedErrors: /401/ });
    const { page } = window;
    await rowOf(page, 9).click();
    await answerField(page).fill('Aurora’s draft');
    // A request outside the page: the page learns nothing but that its token no longer works.
    const signIn = (data: object) =>
      page.context().request.post('/session/login', { headers: { 'x-deskbell-dashboard': '1' }, data });
    const refused: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'POST' || !request.url().endsWith('/answer')) return;
      const { sub } = decodeJwt(request.headers().authorization!.split(' ')[1]!);
      if (sub !== '1') refused.push(request.url());
    });
    await signIn(BOREALIS);
    // It may reload before the click, which then finds no button.
    await until('the tab has reloaded', async () => {
      await button(page, 'Send answer')
        .click({ timeout: 2000 })
        .catch(() => {});
      const shown = rowOf(page, 7).waitFor({ timeout: 5000 });
      return shown.then(
        () => true,
        () => false,
      );
    });
    assert.deepEqual(refused, []);
    await rowOf(page, 7).click();
    await answerField(page).fill('Borealis’ draft');

    await signIn(AURORA);
    await rowOf(page, 9).click();
    await page.getByText('Aurora’s draft').first().waitFor();
    assert.equal(await page.getByText('Borealis’ draft').count(), 0);
    await window.close();
  });
});

inBrowser('the list of sessions', (dashboard) => {
  it('shows where the user is signed in, this device first, and signs out elsewhere', async () => {
    const user = await addUser(dashboard.deskbell);
    const window = await dashboard.open({ user });
    await dashboard.deskbell.clock.advance(5);
    const elsewhere = (await login(dashboard.deskbell, user)).json;
    await dashboard.deskbell.clock.advance(5);
    await login(dashboard.deskbell, user);
    const { page } = window;
    await openSettings(page);
    await page.getByText('Where you are signed in').click();
    const rows = page.locator('.sessions li');
    await rows.nth(2).waitFor();
    assert.match(
      (await rows.first().textContent())!,
      /^Chrome, Linux This deviceNetwork .127\.0\.0\.\*.Signed in .*Last used/,
    );
    const ends = page.getByRole('button', { name: /^Sign out: node, Network .127\.0\.0\.\*., Signed in/ });
    const labels = await ends.evaluateAll((all) => all.map((end) => end.getAttribute('aria-label')));
    assert.equal(new Set(labels).size, 2);
    await ends.last().click();
    await page.getByText('That device is signed out.').waitFor();
    await rows.nth(2).waitFor({ state: 'detached' });
    await page.locator('.sessions summary:focus').waitFor();
    const reply = await dashboard.deskbell.call('GET', '/api/v1/auth/me', { token: elsewhere.access_token });
    assert.equal(reply.status, 401);
    await page.getByText('This device', { exact: true }).waitFor();
    await window.close();
  });
});

inBrowser('an access token that expires', (dashboard) => {
  it('is refreshed in the background, and the window stays live', async () => {
    // The missed refresh causes one 401, which the browser logs.
    const window = await dashboard.open({ expectedErrors: /401/ });
    const { page } = window;
    await waitUntilLive(page);
    await dashboard.deskbell.clock.advance(901);
    await rowOf(page, 9).click();
    await answerField(page).fill('Yes, a Colombian one.');
    await button(page, 'Send answer').click();
    await sentToast(page).waitFor();
    const { answer } = await apiOf(dashboard).readAnswered('9');
    assert.equal(answer.answer, 'Yes, a Colombian one.');
    await window.close();
  });
});

inBrowser(
  'the dashboard on PostgreSQL',
  (dashboard) => {
    it('signs in, shows the inbox, sends an answer and gets live updates', async () => {
      const window = await dashboard.open({ user: 'nobody' });
      const { page } = window;
      await window.signIn();
      await waitUntilLive(page);
      await rowOf(page, 9).click();
      await answerField(page).fill('Yes.');
      await button(page, 'Send answer').click();
      await sentToast(page).waitFor();
      const token = await dashboard.deskbell.signIn();
      await dashboard.deskbell.call('POST', '/api/v1/simulator/2', {
        token,
        body: { text: 'Do you sell cups?' },
      });
      await page.getByText('Do you sell cups?').first().waitFor();
      await window.close();
    });
  },
  { engine: 'postgres' },
);
