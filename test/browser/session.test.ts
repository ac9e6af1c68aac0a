import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AURORA, OPERATOR } from '../harness.ts';
import { button, inBrowser, rowOf, sentAnswer, waitUntilLive } from './browser.ts';

inBrowser('signing in to the dashboard', (dashboard) => {
  it('works with email and password, survives a reload, and ends with sign-out', async () => {
    const window = await dashboard.open({ user: 'nobody' });
    const { page } = window;
    await window.signIn();
    await rowOf(page, 9).waitFor();
    await page.reload();
    await rowOf(page, 9).waitFor();

    await button(page, 'Settings').click();
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

  it('a wrong password shows an error', async () => {
    const window = await dashboard.open({ user: 'nobody', expectedErrors: /401/ });
    const { page } = window;
    await page.getByLabel('Email').fill(AURORA.email);
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Wrong email or password.').waitFor();
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

  it('signing out in one tab signs out in all of them', async () => {
    const window = await dashboard.open();
    const other = await window.tab();
    await other.getByRole('navigation').waitFor();
    await button(window.page, 'Settings').click();
    await window.page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByText('You are signed out.').waitFor();
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
    const window = await dashboard.open({ expectedErrors: /401/ });
    await dashboard.deskbell.database.run('update sessions set revoked_at = created_at');
    await window.page.reload();
    await window.page.getByLabel('Email').waitFor();
    await window.close();
  });
});

inBrowser('an access token that expires', (dashboard) => {
  it('is refreshed in the background, and the window stays live', async () => {
    // The missed refresh causes one 401, which the browser logs.
    const window = await dashboard.open({ expectedErrors: /401/ });
    const { page } = window;
    await waitUntilLive(page);
    dashboard.deskbell.clock.advance(901);
    await rowOf(page, 9).click();
    await page.getByRole('textbox', { name: 'Your answer' }).fill('Yes, a Colombian one.');
    await button(page, 'Send answer').click();
    await sentAnswer(page).waitFor();
    const token = await dashboard.deskbell.signIn();
    const reply = await dashboard.deskbell.call('GET', '/api/v1/notification/9', { token });
    assert.equal(reply.json.answer.answer, 'Yes, a Colombian one.');
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
      await page.getByRole('textbox', { name: 'Your answer' }).fill('Yes.');
      await button(page, 'Send answer').click();
      await sentAnswer(page).waitFor();
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
