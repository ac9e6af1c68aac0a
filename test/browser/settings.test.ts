import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { addUser, BOREALIS } from '../support/server.ts';
import { META, type Meta, startMeta } from '../support/stand-ins/meta.ts';
import {
  answerField,
  apiOf,
  becomes,
  button,
  focused,
  inBrowser,
  isInSight,
  openSettings,
  rowOf,
  turnOnShortcuts,
} from './browser.ts';

const PASSWORD = 'quiet lemon harbour';

let meta: Meta;
after(() => meta?.close());
/** The address of the Graph API is the operator's: merchants cannot set it. */
async function startStandIn(): Promise<Record<string, string>> {
  meta = await startMeta({ now: () => new Date() });
  return { WHATSAPP_BASE_URL: meta.url };
}

inBrowser(
  'the settings',
  (dashboard) => {
    const { api, createNotification, readAnswered, setUndoSeconds } = apiOf(dashboard);

    it('an owner invites a colleague, who joins in another browser and answers', async () => {
      const id = await createNotification();
      const owner = await dashboard.open();
      await openSettings(owner.page, 'Team');
      await owner.page.getByLabel('Name').fill('Bruno Díaz');
      await owner.page.getByRole('button', { name: 'Create the invitation' }).click();
      const link = (await owner.page.locator('.shown-once code').textContent())!;
      assert.match(link, /\/invite#1\.[\w-]{43}$/);
      await owner.page.getByText('Open invitations').waitFor();

      const colleague = await dashboard.open({ user: 'nobody', path: new URL(link).pathname });
      await colleague.page.getByText('This link cannot be opened').waitFor();
      await colleague.page.goto('/healthz');
      await colleague.page.goto(link);
      await colleague.page.getByRole('heading', { name: 'Join Aurora Coffee' }).waitFor();
      // The secret does not stay in the address.
      assert.equal(new URL(colleague.page.url()).hash, '');
      assert.equal(await colleague.page.getByLabel('Your name').inputValue(), 'Bruno Díaz');
      await colleague.page.getByLabel('Email').fill('bruno@people.example');
      await colleague.page.getByLabel('New password').fill(PASSWORD);
      await button(colleague.page, 'Join and sign in').click();
      await rowOf(colleague.page, id).click();
      await answerField(colleague.page).fill('Yes, on Monday.');
      await button(colleague.page, 'Send').click();
      assert.equal((await readAnswered(id)).answered_by, 'Bruno Díaz');

      // A member sees the team, and cannot manage it.
      await openSettings(colleague.page, 'Team');
      await colleague.page.getByText('Only owners can change this.').waitFor();
      await colleague.page.locator('[data-member]').getByText('Alma Reyes').waitFor();
      assert.equal(await colleague.page.getByRole('button', { name: /^Disable/ }).count(), 0);
      assert.equal(await colleague.page.getByRole('link', { name: 'Data', exact: true }).count(), 0);
      await colleague.close();

      await owner.page.reload();
      const dialog = owner.page.getByRole('dialog');
      for (const answer of ['Cancel', 'Disable']) {
        await owner.page.getByRole('button', { name: 'Disable: Bruno Díaz' }).click();
        await dialog.getByText('Disable Bruno Díaz?').waitFor();
        await dialog.getByRole('button', { name: answer }).click();
        await dialog.waitFor({ state: 'detached' });
      }
      await owner.page.getByRole('button', { name: 'Enable: Bruno Díaz' }).waitFor();
      await owner.close();
    });

    it('an owner connects WhatsApp step by step, and learns what is wrong before', async () => {
      const window = await dashboard.open({
        user: BOREALIS,
        path: '/settings/connection',
        expectedErrors: /409|422/,
      });
      const { page } = window;
      const tokenField = page.getByLabel('Access token', { exact: true });
      const save = async (token: string) => {
        await tokenField.fill(token);
        await button(page, 'Test and save').click();
      };
      await page.getByText('At Meta: your app, WhatsApp, API Setup.').waitFor();
      await page.getByLabel('Phone number ID', { exact: true }).fill(META.phoneNumberId);
      await page.getByLabel('App secret', { exact: true }).fill(META.appSecret);
      await save('two words');
      await page.getByRole('alert').getByText('This value does not fit here.').waitFor();
      await page.getByText('Not saved: see the marked field.').waitFor();
      await becomes(() => focused(page), 'token');
      await becomes(() => isInSight(tokenField), true);
      // A look at the other channel loses nothing.
      const word = await page.getByLabel('Verify token').inputValue();
      await page.getByLabel('Channel', { exact: true }).selectOption('webhook');
      await page.getByLabel('Address of your system').waitFor();
      await page.getByLabel('Channel', { exact: true }).selectOption('whatsapp');
      assert.equal(
        await page.getByLabel('Phone number ID', { exact: true }).inputValue(),
        META.phoneNumberId,
      );
      assert.equal(await page.getByLabel('Verify token').inputValue(), word);
      await save('not-the-right-token');
      await page.getByRole('alert').getByText('WhatsApp refuses this access token.').waitFor();
      assert.equal(await tokenField.getAttribute('aria-invalid'), 'true');
      await save(META.token);
      await page.getByText('Your channel is set up.').waitFor();
      await page.getByText('Your messages go out through this channel.').waitFor();
      await page.getByText(`Number at WhatsApp (its ID): ${META.phoneNumberId}`).waitFor();

      // What it says to enter at Meta is what Meta then finds.
      const lastStep = page.locator('.settings-block', { hasText: 'Last step: tell Meta where to call' });
      await lastStep.locator('code').nth(1).waitFor();
      const [callback = '', shown] = await lastStep.locator('code').allTextContents();
      assert.equal(shown, word);
      const query = { 'hub.mode': 'subscribe', 'hub.verify_token': word, 'hub.challenge': '12345' };
      const verified = await fetch(`${callback}?${new URLSearchParams(query)}`);
      assert.deepEqual([verified.status, await verified.text()], [200, '12345']);
      await page.reload();
      await lastStep.getByText('The word that you saved.').waitFor();
      assert.deepEqual(await lastStep.locator('code').allTextContents(), [callback]);

      await button(page, 'Test the connection').click();
      await page.locator('.channel-state[data-state="ok"]').getByText('Tested just now: it works.').waitFor();
      assert.equal(meta.accepted.length, 0);
      // Without a template, and without the account that has it, it says what is missing.
      await page.locator('.template-state[data-state="bad"]').getByText('No template is set up').waitFor();
      await page.getByLabel('Name of the template').fill(META.template);
      await button(page, 'Test and save').click();
      await page.locator('.template-state').getByText('Fill in your WhatsApp Business Account ID').waitFor();
      await page.getByLabel('WhatsApp Business Account ID').fill(META.businessAccountId);
      await button(page, 'Test and save').click();
      await page.locator('.template-state[data-state="ok"]').getByText('WhatsApp has approved it.').waitFor();
      await page
        .locator('.template-preview')
        .getByText('Hello! Here is the answer to your question: Yes, on Saturdays we open at nine.')
        .waitFor();
      await page.getByText(`${META.template} (en)`).waitFor();
      await button(page, 'Remove my channel').click();
      const dialog = page.getByRole('dialog', { name: 'Remove your channel?' });
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      await button(page, 'Remove my channel').click();
      await dialog.getByRole('button', { name: 'Remove my channel' }).click();
      await page.getByText('You use the channel that this server’s operator has set up.').waitFor();
      await window.close();
    });

    it('an owner describes the shop, and what was saved is there after a reload', async () => {
      const window = await dashboard.open({ path: '/settings/shop' });
      const { page } = window;
      await page
        .getByLabel('What customers hear while they wait')
        .fill('One moment, I am asking a colleague.');
      await page.getByLabel('We have opening hours').click();
      await page.getByLabel('Monday: To').fill('14:00');
      await page.getByLabel('Country').selectOption('Portugal');
      await page.getByLabel('Time to undo an answer').selectOption('30 seconds');
      await button(page, 'Save').click();
      await page.getByText('Saved.').waitFor();
      await page.reload();
      await page.getByText('One moment, I am asking a colleague.').waitFor();
      assert.equal(await page.getByLabel('Monday: To').inputValue(), '14:00');
      assert.equal(await page.getByLabel('Country').inputValue(), 'PT');
      assert.equal(await page.getByLabel('Time to undo an answer').inputValue(), '30');
      const { country, undo_seconds } = (await api('GET', '/api/v1/merchant')).json;
      assert.deepEqual([country, undo_seconds], ['PT', 30]);
      await page.getByLabel('Country').selectOption('Spain');
      await page.getByLabel('Time to undo an answer').selectOption('Off: sent at once');
      await button(page, 'Save').click();
      await page.getByText('Saved.').waitFor();
      await setUndoSeconds(5);
      await window.close();
    });

    it('changes only what I changed, and keeps what I write while it is saved', async () => {
      const window = await dashboard.open({ path: '/settings/shop' });
      const { page } = window;
      const message = page.getByLabel('What customers hear while they wait');
      await message.waitFor();
      // Another owner, in another window.
      await api('PATCH', '/api/v1/merchant', { country: 'FR', waiting_message: 'Please wait.' });
      const [isSent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      await page.route('**/api/v1/merchant', async (route) => {
        if (route.request().method() !== 'PATCH') return route.continue();
        const response = await route.fetch();
        isSent.resolve();
        await answered.promise;
        return route.fulfill({ response });
      });
      await page.getByLabel('Name of the shop').fill('Aurora Coffee Roasters');
      await button(page, 'Save').click();
      await isSent.promise;
      await message.fill('I am on my way.');
      answered.resolve();
      await page.getByText('Saved.').waitFor();
      // The form may show it a moment after the message.
      await becomes(() => page.getByLabel('Country').inputValue(), 'FR');
      assert.equal(await message.inputValue(), 'I am on my way.');
      const { name, country, waiting_message } = (await api('GET', '/api/v1/merchant')).json;
      assert.deepEqual([name, country, waiting_message], ['Aurora Coffee Roasters', 'FR', 'Please wait.']);
      await api('PATCH', '/api/v1/merchant', { name: 'Aurora Coffee', country: 'ES', waiting_message: null });
      await window.close();
    });

    it('asks before I stop being an owner, and before an endpoint is removed', async () => {
      const user = await addUser(dashboard.deskbell);
      const window = await dashboard.open({ user, path: '/settings/team' });
      const { page } = window;
      const dialog = page.getByRole('dialog');
      const cancel = async () => {
        await dialog.getByRole('button', { name: 'Cancel' }).click();
        await dialog.waitFor({ state: 'detached' });
      };
      const role = page.locator('[data-member]', { hasText: 'You' }).getByRole('combobox');
      await role.selectOption('Member');
      await dialog.getByText('Stop being an owner?').waitFor();
      await cancel();
      assert.equal(await role.inputValue(), 'owner');

      const added = await api('POST', '/api/v1/webhooks', { url: 'https://example.com/hook' });
      assert.equal(added.status, 200);
      await page.goto('/settings/assistant');
      const remove = page.getByRole('button', { name: 'Remove: https://example.com/hook' });
      await remove.click();
      await dialog.getByText('Remove this endpoint?').waitFor();
      await cancel();
      await remove.click();
      await dialog.getByRole('button', { name: 'Remove' }).click();
      await remove.waitFor({ state: 'detached' });
      await window.close();
    });

    it('shows the secret of a new key once, and revokes it after asking', async () => {
      const window = await dashboard.open({ path: '/settings/assistant' });
      const { page } = window;
      await page.getByLabel('Name of the key').fill('My assistant');
      await button(page, 'Create a key').click();
      assert.match((await page.locator('.shown-once code').textContent())!, /^dbk_/);
      await page.reload();
      const revoke = page.getByRole('button', { name: 'Revoke: My assistant' });
      await revoke.waitFor();
      assert.equal(await page.locator('.shown-once').count(), 0);
      await revoke.click();
      await page.waitForTimeout(600);
      await page.getByRole('button', { name: /^Revoke it\?/ }).click();
      await page.getByText('The key was revoked.').waitFor();
      await window.close();
    });

    it('hides the developer tools from merchants who turn them off', async () => {
      const window = await dashboard.open({ path: '/settings/developer' });
      const { page } = window;
      const testPhone = page.locator('.nav a[href="/test-phone"]');
      await testPhone.waitFor();
      const tools = page.getByLabel('Show developer tools to everybody in the team');
      await tools.click();
      await testPhone.waitFor({ state: 'detached' });
      await page.locator('.nav a[href^="/overview"]').click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      assert.equal(await page.locator('.curl').count(), 0);
      await page.goto('/inbox/1');
      await page.locator('.sent-answer').waitFor();
      await turnOnShortcuts(page);
      await page.keyboard.press('t');
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('option', { name: 'Sign out' }).waitFor();
      assert.equal(await page.getByRole('option', { name: /test phone|cURL/i }).count(), 0);
      assert.equal(await page.evaluate(`localStorage.getItem('deskbell.preferences')`), null);
      await page.keyboard.press('Escape');
      await openSettings(page, 'Developer tools');
      await tools.click();
      await testPhone.waitFor();
      await window.close();
    });

    it('downloads everything', async () => {
      const window = await dashboard.open({ path: '/settings/data' });
      const { page } = window;
      const downloading = page.waitForEvent('download');
      await button(page, 'Download the file').click();
      assert.match((await downloading).suggestedFilename(), /^deskbell-\d{4}-\d\d-\d\d\.ndjson$/);
      await window.close();
    });

    it('signs out the other devices with one click', async () => {
      const user = await addUser(dashboard.deskbell);
      const elsewhere = await dashboard.open({ user, expectedErrors: /401/ });
      const here = await dashboard.open({ user, path: '/settings/account' });
      await here.page.getByText('Where you are signed in').click();
      await button(here.page, 'Sign out the others').click();
      await here.page.getByText('All other devices are signed out.').waitFor();
      await elsewhere.page.getByText('Your session has ended.').waitFor();
      await here.page.getByText('This device', { exact: true }).waitFor();
      await here.close();
      await elsewhere.close();
    });

    it('a link for a new password works once, and without e-mail the sign-in page says whom to ask', async () => {
      const user = await addUser(dashboard.deskbell);
      const owner = await dashboard.deskbell.signIn();
      const path = `/api/v1/team/${user.id}/reset-link`;
      const { link } = (await dashboard.deskbell.call('POST', path, { token: owner })).json;
      const window = await dashboard.open({ user: 'nobody', expectedErrors: /404|409|422/ });
      const { page } = window;
      await button(page, 'Forgot password').click();
      await page.getByLabel('Email').fill(user.email);
      await button(page, 'Send the link').click();
      await page.getByRole('alert').getByText('Ask an owner of your team for a link.').waitFor();

      await page.goto(link);
      await page.getByLabel('New password').fill('aurora-coffee');
      await button(page, 'Change password').click();
      await page.getByText('This password is too easy to guess.').waitFor();
      await page.getByLabel('New password').fill(PASSWORD);
      await button(page, 'Change password').click();
      await page.getByRole('heading', { name: 'Your password was changed' }).waitFor();
      await page.getByRole('link', { name: 'Sign in' }).click();
      await window.signIn({ email: user.email, password: PASSWORD });
      await window.close();
    });
  },
  { settings: startStandIn },
);
