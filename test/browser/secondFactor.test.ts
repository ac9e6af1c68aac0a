import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { codeOf } from '../support/factors.ts';
import { AURORA, login } from '../support/server.ts';
import { assertAccessible } from './axe.ts';
import { inBrowser } from './browser.ts';
import { becomes, button, CONFIRM_AFTER_MS, clickAt, focused, openSettings, pathOf } from './page.ts';

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
/** Answers the question of a button. */
const confirm = (page: Page, question: string) =>
  clickAt(page.getByRole('button', { name: question }), CONFIRM_AFTER_MS);
const savedCodes = async (page: Page) => {
  await page.getByText('Save these codes').waitFor();
  const codes = await page.locator('.recovery-codes code').allTextContents();
  assert.equal(codes.length, 10);
  return codes;
};

/** Neither Escape nor a click outside closes it. */
async function assertStaysOpen(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.mouse.click(2, 2);
  await page.mouse.click(30, 150);
  assert.equal(pathOf(page), '/settings');
  assert.equal(await page.locator('a[href^="/"]:not([inert] a)').count(), 0);
}

inBrowser('the second factor in the dashboard', (shop) => {
  it('an authenticator app is set up, asked for at the next sign-in and turned off', async () => {
    const window = await shop.open({
      user: 'nobody',
      viewport: { width: 390, height: 740 },
      expectedErrors: /401|403|dialog/,
    });
    const { page } = window;
    const user = shop.owner;
    await window.signIn(user);
    await openSecurity(page, 'wrong');
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('alert').getByText('The password is wrong.').waitFor();
    await page.locator('[name="password"]:focus').waitFor();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await becomes(() => focused(page), 'otp');
    await assertAccessible(page);
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
    await page.getByRole('button', { name: 'I have saved the codes' }).click();
    await page.getByText('10 codes left').waitFor();
    await becomes(() => focused(page), 'Authenticator app On');
    await signOut(page);

    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password', { exact: true }).fill(user.password);
    await page.keyboard.press('Enter');
    const code = page.getByLabel('Code');
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
    await becomes(() => focused(page), 'otp');
    await code.fill(codes[0]!);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Main navigation' }).waitFor();

    await openSecurity(page, user.password);
    await page.getByText('9 codes left').waitFor();
    // A double click asks only, and the question goes away with the focus.
    await clickAt(page.getByRole('button', { name: 'Turn off the authenticator app' }), 0, 100);
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
    assert.equal((await login(shop.deskbell, user)).status, 200);
  });

  it('a passkey is added, signs in without a password, and is removed', async () => {
    const baseURL = shop.deskbell.url.replace('127.0.0.1', 'localhost');
    const window = await shop.open({ user: 'nobody', baseURL, expectedErrors: /401|404|409/ });
    const { page } = window;
    const user = { ...(await shop.colleague()), password: AURORA.password };
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
    await openSecurity(page, user.password);
    await page.locator('.security-passkey').getByText('Last used').waitFor();
    await page.getByRole('button', { name: 'Remove Laptop' }).click();
    await confirm(page, 'Remove Laptop?');
    await page.getByRole('button', { name: 'Remove Laptop' }).waitFor({ state: 'detached' });
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').getByText('This passkey is not known here.').waitFor();
    assert.equal((await login(shop.deskbell, user)).status, 200);
  });
});
