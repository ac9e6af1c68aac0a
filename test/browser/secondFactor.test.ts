import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { codeOf } from '../support/factors.ts';
import { login } from '../support/server.ts';
import { becomes, button, focused, inBrowser, openSettings } from './browser.ts';

/** Keep in sync with settings/security/ConfirmButton.tsx. */
const CONFIRM_AFTER_MS = 500;

async function openSecurity(page: Page, password: string): Promise<void> {
  await openSettings(page);
  await button(page, 'Security').click();
  await page.getByLabel('Your password').fill(password);
}

/** A phone with a fingerprint reader, to which the user always agrees. */
async function addAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

const signOut = async (page: Page) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
};
/** Answers the question of a button. An earlier click would be ignored. */
const confirm = async (page: Page, question: string) => {
  await page.waitForTimeout(CONFIRM_AFTER_MS);
  await page.getByRole('button', { name: question }).click();
};
/** Two clicks within 100 ms by their own times: on a slow machine the second one comes later, and would be an answer. */
const doubleClick = async (page: Page, target: Locator) => {
  // Scrolls to it, and checks that nothing covers it.
  await target.click({ trial: true });
  const { x, y, width, height } = (await target.boundingBox())!;
  const devTools = await page.context().newCDPSession(page);
  const startedAt = Date.now();
  for (const clickCount of [1, 2]) {
    for (const type of ['mousePressed', 'mouseReleased'] as const)
      await devTools.send('Input.dispatchMouseEvent', {
        ...{ type, x: x + width / 2, y: y + height / 2, button: 'left', clickCount },
        timestamp: (startedAt + (clickCount - 1) * 100) / 1000,
      });
  }
  await devTools.detach();
};
const savedCodes = async (page: Page) => {
  await page.getByText('Save these codes').waitFor();
  const codes = await page.locator('.recovery-codes code').allTextContents();
  assert.equal(codes.length, 10);
  return codes;
};

/** Neither Escape, nor a click outside, nor a key or a link leads away. */
async function assertStaysOpen(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.mouse.click(2, 2);
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.mouse.click(30, 150);
  assert.equal(new URL(page.url()).pathname, '/settings');
  const links = page.locator('a[href^="/"]:not([inert] a)');
  assert.deepEqual(await links.evaluateAll((all) => all.map((link) => link.outerHTML)), []);
}

inBrowser('the second factor in the dashboard', (shop) => {
  it('an authenticator app is set up, asked for at the next sign-in and turned off', async () => {
    const window = await shop.open({
      user: 'nobody',
      viewport: { width: 390, height: 740 },
      expectedErrors: /401|403|dialog/,
    });
    const { page } = window;
    const user = shop.merchant.owner;
    await window.signIn(user);
    await openSecurity(page, 'wrong');
    await page.getByText('Dark', { exact: true }).click();
    await page.locator('[data-mantine-color-scheme="dark"]').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('alert').getByText('The password is wrong.').waitFor();
    await page.locator('[name="password"]:focus').waitFor();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await becomes(() => focused(page), 'Authenticator app Off');
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await becomes(() => focused(page), 'otp');
    await assertStaysOpen(page);
    const secret = (await page.locator('.security code').textContent())!.replaceAll(' ', '');
    await page.getByLabel('Code from the app').fill('000000');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('alert').getByText('The code is wrong').waitFor();
    await page.locator('[name="otp"]:focus').waitFor();
    await page.getByLabel('Code from the app').fill(codeOf(shop.deskbell, secret));
    await page.getByRole('button', { name: 'Confirm' }).click();
    const codes = await savedCodes(page);
    await becomes(() => focused(page), 'Recovery codes');
    await assertStaysOpen(page);
    assert.equal(await page.locator('.toast').count(), 0);
    await page.setViewportSize({ width: 320, height: 568 });
    const lines = await page
      .locator('.recovery-codes code')
      .evaluateAll((all) =>
        all.map(
          (code) => code.getClientRects().length === 1 && code.offsetWidth <= code.parentElement!.offsetWidth,
        ),
      );
    assert.ok(lines.every(Boolean));
    await page.setViewportSize({ width: 390, height: 740 });
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    assert.equal((await downloading).suggestedFilename(), 'deskbell-recovery-codes.txt');
    await page.getByRole('button', { name: 'I have saved the codes' }).click();
    await page.getByText('10 codes left').waitFor();
    await becomes(() => focused(page), 'Authenticator app On');
    await signOut(page);

    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password', { exact: true }).fill(user.password);
    await page.keyboard.press('Enter');
    const code = page.getByLabel('Code');
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
    await page.getByRole('button', { name: 'Back' }).click();
    await becomes(() => focused(page), 'password');
    await page.keyboard.type(user.password);
    await page.keyboard.press('Enter');
    await code.waitFor();
    assert.equal(await code.getAttribute('autocomplete'), 'one-time-code');
    await becomes(() => focused(page), 'otp');
    await code.fill('000000');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The code is wrong').waitFor();
    await code.fill(codes[0]!);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Main navigation' }).waitFor();

    await openSecurity(page, user.password);
    await page.getByText('9 codes left').waitFor();
    // A double click asks only, and the question goes away with the focus.
    await doubleClick(page, page.getByRole('button', { name: 'Turn off the authenticator app' }));
    await page.getByRole('button', { name: 'Turn off?' }).waitFor();
    await page.getByRole('button', { name: 'Create new recovery codes' }).click();
    await page.getByRole('button', { name: 'Turn off the authenticator app' }).waitFor();
    await confirm(page, 'The old codes stop working. Create new ones?');
    await savedCodes(page);
    // The browser asks before it leaves the page; the test says no.
    const asked = page.waitForEvent('dialog');
    await page.evaluate('setTimeout(() => location.reload())');
    assert.equal((await asked).type(), 'beforeunload');
    await savedCodes(page);
    await page.getByRole('button', { name: 'I have saved the codes' }).click();
    await page.getByText('10 codes left').waitFor();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Turn off the authenticator app' }).click();
    await confirm(page, 'Turn off?');
    await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor();
    await becomes(() => focused(page), 'Authenticator app Off');
    await becomes(() => page.getByLabel('Your password').inputValue(), '');
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByText('Please enter your password.').waitFor();
    await becomes(() => focused(page), 'password');
    assert.equal((await login(shop.deskbell, user)).status, 200);
  });

  it('a passkey is added, signs in without a password, and is removed', async () => {
    const baseURL = shop.deskbell.url.replace('127.0.0.1', 'localhost');
    const window = await shop.open({ user: 'nobody', baseURL, expectedErrors: /401|404|409/ });
    const { page } = window;
    const user = await shop.colleague();
    await addAuthenticator(page);
    await window.signIn(user);
    await openSecurity(page, user.password);
    await page.getByLabel('Name of the new passkey').fill('Laptop');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await savedCodes(page);
    await page.getByRole('button', { name: 'I have saved the codes' }).click();
    await page.getByText('Not used yet').waitFor();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('alert').getByText('This device already has a passkey').waitFor();
    await becomes(() => focused(page), 'Add a passkey');
    await signOut(page);

    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('navigation', { name: 'Main navigation' }).waitFor();
    // What the server refuses is said in words.
    const answerWith = (path: string, status: number, code: string) =>
      page.route(path, (route) => route.fulfill({ status, json: { code, detail: code } }), { times: 1 });
    await answerWith('**/api/v1/auth/factors', 404, 'DOCUMENT_NOT_FOUND');
    await openSettings(page);
    await button(page, 'Security').click();
    await page.getByRole('alert').getByText('It no longer exists.').waitFor();
    await page.reload();
    await page.getByRole('navigation', { name: 'Main navigation' }).waitFor();
    await openSecurity(page, user.password);
    await answerWith('**/api/v1/auth/passkeys/options', 409, 'TOO_MANY_PASSKEYS');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('alert').getByText('You have as many passkeys as allowed.').waitFor();
    await page.locator('.security-passkey').getByText('Last used').waitFor();
    await page.getByRole('button', { name: 'Remove Laptop' }).click();
    await confirm(page, 'Remove Laptop?');
    await page.getByRole('button', { name: 'Remove Laptop' }).waitFor({ state: 'detached' });
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').getByText('This passkey is not known here.').waitFor();
    await becomes(() => focused(page), 'Sign in with a passkey');
    assert.equal((await login(shop.deskbell, user)).status, 200);
  });
});
