import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AURORA, OPERATOR } from '../harness.ts';
import { button, inBrowser, live, rowOf } from './browser.ts';

inBrowser('signing in to the dashboard', (desk) => {
  it('by e-mail and password, staying in after a reload, and out for good', async () => {
    const window = await desk.open({ as: 'nobody' });
    const { page } = window;
    await window.signIn();
    await rowOf(page, 9).waitFor();
    await page.reload();
    await rowOf(page, 9).waitFor();

    await button(page, 'Menu').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await page.reload();
    await page.getByLabel('E-mail').waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    await window.close();
  });

  it('with one click in the demo', async () => {
    const window = await desk.open({ as: 'nobody' });
    await window.page.getByRole('button', { name: 'Sign in as Borealis Books' }).click();
    await rowOf(window.page, 7).waitFor();
    assert.equal(await rowOf(window.page, 9).count(), 0);
    await window.close();
  });

  it('in another language, without a word of English, aloud either', async () => {
    const window = await desk.open({ as: 'nobody', locale: 'es-ES' });
    const { page } = window;
    await page.getByRole('button', { name: 'Entrar como operador, sin tienda' }).waitFor();
    await page.getByLabel('Mostrar u ocultar la contraseña').waitFor();
    await window.close();
  });

  it('a wrong password is said in plain words, and nobody is in', async () => {
    const window = await desk.open({ as: 'nobody', mayFail: /401/ });
    const { page } = window;
    await page.getByLabel('E-mail').fill(AURORA.email);
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('do not fit together').waitFor();
    await window.close();
  });

  it('no script of the page can read what keeps one signed in', async () => {
    const window = await desk.open();
    const { page } = window;
    const readable = await page.evaluate<string>(
      'JSON.stringify([document.cookie, localStorage, sessionStorage])',
    );
    const [cookie] = await page.context().cookies(`${desk.deskbell.url}/session`);
    assert.equal(cookie?.httpOnly, true);
    assert.equal(cookie.sameSite, 'Strict');
    assert.ok(!readable.includes('eyJ'), readable);
    await window.close();
  });

  it('signing out in one tab signs out in all of them', async () => {
    const window = await desk.open();
    const other = await window.tab();
    await other.getByRole('navigation').waitFor();
    await button(window.page, 'Menu').click();
    await window.page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByText('You are signed out.').waitFor();
    await window.close();
  });

  it('an operator, who has no shop, is told so', async () => {
    const window = await desk.open({ as: 'nobody' });
    await window.page.getByLabel('E-mail').fill(OPERATOR.email);
    await window.page.getByLabel('Password', { exact: true }).fill(OPERATOR.password);
    await window.page.keyboard.press('Enter');
    await window.page.getByText('belongs to no shop').waitFor();
    await window.close();
  });

  it('a session that was ended on the server leads back to the door', async () => {
    const window = await desk.open({ mayFail: /401/ });
    await desk.deskbell.database.run('update sessions set revoked_at = created_at');
    await window.page.reload();
    await window.page.getByLabel('E-mail').waitFor();
    await window.close();
  });
});

inBrowser('an access token that expires', (desk) => {
  it('is renewed without a word, and the window stays live', async () => {
    // Who slept through the renewal meets 401 once.
    const window = await desk.open({ mayFail: /401/ });
    const { page } = window;
    await live(page);
    desk.deskbell.clock.advance(901);
    await rowOf(page, 9).click();
    await page.getByRole('textbox', { name: 'Your answer' }).fill('Yes, a Colombian one.');
    await button(page, 'Send answer').click();
    await page.getByText('What was answered').waitFor();
    const token = await desk.deskbell.signIn();
    const reply = await desk.deskbell.call('GET', '/api/v1/notification/9', { token });
    assert.equal(reply.json.answer.answer, 'Yes, a Colombian one.');
    await window.close();
  });
});

inBrowser(
  'the dashboard on PostgreSQL',
  (desk) => {
    it('signs in, shows the inbox, answers, and hears of what is new', async () => {
      const window = await desk.open({ as: 'nobody' });
      const { page } = window;
      await window.signIn();
      await live(page);
      await rowOf(page, 9).click();
      await page.getByRole('textbox', { name: 'Your answer' }).fill('Yes.');
      await button(page, 'Send answer').click();
      await page.getByText('What was answered').waitFor();
      const token = await desk.deskbell.signIn();
      await desk.deskbell.call('POST', '/api/v1/simulator/2', { token, body: { text: 'Do you sell cups?' } });
      await page.getByText('Do you sell cups?').first().waitFor();
      await window.close();
    });
  },
  { engine: 'postgres' },
);
