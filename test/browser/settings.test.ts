import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from './axe.ts';
import { inBrowser } from './browser.ts';
import {
  answerField,
  becomes,
  button,
  CONFIRM_AFTER_MS,
  clickAt,
  goTo,
  heading,
  isInSight,
  openSettings,
  rowOf,
} from './page.ts';

const PASSWORD = 'quiet lemon harbour';
const message = (page: Page) => page.getByLabel('What customers hear while they wait');
const kept = (page: Page) => page.getByText('You changed this before and have not saved it yet.');
const codeOf = (page: Page) => page.locator('.shown-once code').textContent();

inBrowser('the shop in the settings', (shop) => {
  const merchant = async () => (await shop.get('/merchant')).json;
  const save = async (page: Page) => {
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
  };

  it('is described by an owner: changes stay while I look at another page, and hours that cannot be are marked', async () => {
    const { page } = await shop.open({ path: '/settings/shop', expectedErrors: /422/ });
    await message(page).fill('I am asking the roaster.');
    await page.getByLabel('We have opening hours').click();
    await page.getByLabel('Monday: To').fill('14:00');
    assert.equal(await kept(page).count(), 0);
    await openSettings(page, 'Team');
    await page.getByLabel('Name').waitFor();
    await openSettings(page, 'Shop');
    await kept(page).waitFor();
    assert.equal(await message(page).inputValue(), 'I am asking the roaster.');
    assert.equal(await page.getByLabel('Monday: To').inputValue(), '14:00');
    assert.equal((await merchant()).waiting_message, null);
    await page.getByLabel('Country').selectOption('Portugal');
    await page.getByLabel('Time to undo an answer').selectOption('30 seconds');
    await save(page);
    await kept(page).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('I am asking the roaster.').waitFor();
    assert.equal(await page.getByLabel('Monday: To').inputValue(), '14:00');
    assert.equal(await page.getByLabel('Time to undo an answer').inputValue(), '30');
    const { country, undo_seconds, waiting_message } = await merchant();
    assert.deepEqual([country, undo_seconds, waiting_message], ['PT', 30, 'I am asking the roaster.']);

    // Hours that cannot be are marked at their day.
    const monday = page.getByRole('group', { name: 'Monday' });
    await monday.getByLabel('Monday: To').fill('08:00');
    await button(page, 'Save').click();
    const notice = monday.getByRole('alert');
    await notice.getByText('Monday: the opening time must be before the closing time.').waitFor();
    await becomes(() => isInSight(notice), true);
    assert.equal(await page.getByRole('alert').count(), 1);
    assert.equal(await monday.locator('[aria-invalid="true"]').count(), 2);
    // Gone as soon as it is right.
    await monday.getByLabel('Monday: To').fill('17:00');
    await notice.waitFor({ state: 'detached' });
    await monday.getByRole('button', { name: 'Monday: Remove hours' }).click();
    await monday.getByText('Closed').waitFor();
    await save(page);
  });

  it('changes only in what I changed, keeps what I write while it is saved, and forgets the rest at sign-out', async () => {
    const window = await shop.open({ path: '/settings/shop', expectedErrors: /401/, fresh: true });
    const { page } = window;
    await message(page).waitFor();
    // Another owner, in another window.
    await shop.patch('/merchant', { country: 'FR', waiting_message: 'Please wait.' });
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
    await message(page).fill('I am on my way.');
    answered.resolve();
    await page.getByText('Saved.').waitFor();
    // The form may show it a moment after the message.
    await becomes(() => page.getByLabel('Country').inputValue(), 'FR');
    assert.equal(await message(page).inputValue(), 'I am on my way.');
    const { name, country, waiting_message } = await merchant();
    assert.deepEqual([name, country, waiting_message], ['Aurora Coffee Roasters', 'FR', 'Please wait.']);

    await page.locator('.settings-nav').getByRole('button', { name: 'Sign out' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('You have text that is not sent or saved yet.').waitFor();
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await window.signIn();
    await openSettings(page, 'Shop');
    await becomes(() => message(page).inputValue(), 'Please wait.');
    assert.equal(await kept(page).count(), 0);
  });
});

inBrowser('the team', (shop) => {
  it('gets a colleague by an invitation, who joins in another browser and answers, and can be disabled', async () => {
    const id = await shop.ask();
    const owner = await shop.open({ path: '/settings/team' });
    await owner.page.getByLabel('Name').fill('Bruno Díaz');
    await owner.page.getByRole('button', { name: 'Create the invitation' }).click();
    const link = (await codeOf(owner.page))!;
    assert.match(link, /\/invite#\d+\.[\w-]{43}$/);
    await owner.page.getByText('Open invitations').waitFor();
    await assertAccessible(owner.page);

    const theirs = await shop.open({ user: 'nobody', path: link, expectedErrors: /401/ });
    const { page } = theirs;
    await heading(page, 'Join Aurora Coffee').waitFor();
    await assertAccessible(page);
    // The secret does not stay in the address.
    assert.equal(new URL(page.url()).hash, '');
    assert.equal(await page.getByLabel('Your name').inputValue(), 'Bruno Díaz');
    const bruno = { email: `bruno-${id}@people.example`, password: PASSWORD };
    await page.getByLabel('Email').fill(bruno.email);
    await page.getByLabel('New password').fill(bruno.password);
    await button(page, 'Join and sign in').click();
    await rowOf(page, id).click();
    await answerField(page).fill('Yes, on Monday.');
    await button(page, 'Send').click();
    assert.equal((await shop.readAnswered(id)).answered_by, 'Bruno Díaz');

    await owner.page.reload();
    const dialog = owner.page.getByRole('dialog');
    await owner.page.getByRole('button', { name: 'Disable: Bruno Díaz' }).click();
    await dialog.getByText('Disable Bruno Díaz?').waitFor();
    await dialog.getByRole('button', { name: 'Disable', exact: true }).click();
    await owner.page.getByRole('button', { name: 'Enable: Bruno Díaz' }).waitFor();
    // They are signed out at once.
    await page.getByText('Your session has ended.').waitFor();
  });

  it('has members without the owner’s controls', async () => {
    const member = await shop.colleague('Mario Rey');
    const { page } = await shop.open({ user: member, path: '/settings/shop' });
    const refusal = page.getByText('Only owners can change this.');
    await refusal.waitFor();
    assert.equal(await page.getByLabel('Name of the shop').isDisabled(), true);
    assert.equal(await button(page, 'Save').count(), 0);
    await openSettings(page, 'Team');
    await page.locator('[data-member]').getByText('Alma Reyes').waitFor();
    for (const name of [/^Disable/, /^New password/, /^Create the invitation/])
      assert.equal(await page.getByRole('button', { name }).count(), 0);
    await openSettings(page, 'Connection');
    await refusal.waitFor();
    for (const name of ['Test and save', 'Test the connection'])
      assert.equal(await button(page, name).count(), 0);
    const data = page.locator('.settings-nav').getByRole('link', { name: 'Data', exact: true });
    assert.equal(await data.count(), 0);
    // By its address it says so, too.
    await goTo(page, '/settings/data');
    await refusal.waitFor();
    assert.equal(await button(page, 'Download the file').count(), 0);
  });

  it('takes care of a question that is assigned, and writes notes with mentions that only it sees', async () => {
    const nora = await shop.colleague('Nora Gil');
    const id = await shop.ask('Which kettle pours slowly enough?');
    const mine = await shop.open({ path: `/inbox/${id}`, fresh: true });
    const assignee = mine.page.locator('.assignee');
    await assignee.getByRole('combobox').selectOption('Nora Gil');
    const theirs = await shop.open({ path: '/inbox?assigned=me', user: nora });
    await rowOf(theirs.page, id).click();
    await theirs.page
      .locator('.assignee option:checked', { hasText: 'Nora Gil (you)' })
      .waitFor({ state: 'attached' });
    assert.equal((await shop.read(id)).assigned_to.id, nora.id);
    await theirs.page.locator('.assignee').getByRole('combobox').selectOption('Nobody');
    await assignee.locator('option:checked', { hasText: 'Nobody' }).waitFor({ state: 'attached' });
    assert.equal((await shop.read(id)).assigned_to, null);

    // A mention is offered, marked and told. Only its author or an owner deletes a note.
    await mine.page.getByText('Internal notes').click();
    const note = mine.page.getByRole('textbox', { name: 'New note' });
    await note.pressSequentially('Please ask the roaster, @nor');
    await button(mine.page, '@Nora Gil').click();
    await note.pressSequentially('before Friday.');
    await button(mine.page, 'Add note').click();
    await mine.page.locator('.note mark', { hasText: '@Nora Gil' }).waitFor();
    const [stored] = (await shop.get(`/notification/${id}/notes`)).json.notes;
    assert.equal(stored.text, 'Please ask the roaster, @Nora Gil before Friday.');
    assert.deepEqual(
      stored.mentions.map((one: { id: number }) => one.id),
      [nora.id],
    );
    await goTo(theirs.page, '/inbox');
    await goTo(theirs.page, `/inbox/${id}`);
    const remove = (page: Page, name: string) =>
      page.getByRole('button', { name: `Delete the note by ${name}` });
    await theirs.page.locator('.note', { hasText: 'before Friday.' }).waitFor();
    assert.equal(await remove(theirs.page, 'Alma Reyes').count(), 0);
    await theirs.page.getByRole('textbox', { name: 'New note' }).fill('Done.');
    await button(theirs.page, 'Add note').click();
    // The first window hears of it without a reload.
    await remove(mine.page, 'Nora Gil').click();
    await theirs.page.locator('.note', { hasText: 'Done.' }).waitFor({ state: 'detached' });
  });
});

inBrowser('the other settings', (shop) => {
  it('ask before I stop being an owner, revoke a key or remove an endpoint, and show a secret once', async () => {
    const user = await shop.colleague('Olga Owner', 'owner');
    const { page } = await shop.open({ user, path: '/settings/team' });
    const dialog = page.getByRole('dialog');
    const role = page.locator('[data-member]', { hasText: 'You' }).getByRole('combobox');
    await role.selectOption('Member');
    await dialog.getByText('Stop being an owner?').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await role.inputValue(), 'owner');

    const added = await shop.post('/webhooks', { url: 'https://example.com/hook' });
    assert.equal(added.status, 200);
    await goTo(page, '/settings/assistant');
    const remove = page.getByRole('button', { name: 'Remove: https://example.com/hook' });
    await remove.click();
    await dialog.getByText('Remove this endpoint?').waitFor();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await remove.waitFor({ state: 'detached' });

    await page.getByLabel('Name of the key').fill('My assistant');
    await button(page, 'Create a key').click();
    assert.match((await codeOf(page))!, /^dbk_/);
    await page.reload();
    const revoke = page.getByRole('button', { name: 'Revoke: My assistant' });
    await revoke.waitFor();
    assert.equal(await page.locator('.shown-once').count(), 0);
    await revoke.click();
    await clickAt(page.getByRole('button', { name: /^Revoke it\?/ }), CONFIRM_AFTER_MS);
    await page.getByText('The key was revoked.').waitFor();

    await openSettings(page, 'Data');
    const downloading = page.waitForEvent('download');
    await button(page, 'Download the file').click();
    assert.match((await downloading).suggestedFilename(), /^deskbell-\d{4}-\d\d-\d\d\.ndjson$/);
  });

  it('hide the developer tools from merchants who turn them off', async () => {
    const { page } = await shop.open({ path: '/settings/developer' });
    const testPhone = page.locator('.nav a[href="/test-phone"]');
    const tools = page.getByLabel('Show developer tools to everybody in the team');
    await tools.click();
    await testPhone.waitFor();
    await tools.click();
    await testPhone.waitFor({ state: 'detached' });
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('option', { name: 'Sign out' }).waitFor();
    assert.equal(await page.getByRole('option', { name: /test phone/i }).count(), 0);
  });

  it('give a link for a new password that works once, and without e-mail the sign-in page says whom to ask', async () => {
    const user = await shop.colleague();
    const { link } = (await shop.post(`/team/${user.id}/reset-link`)).json;
    const window = await shop.open({ user: 'nobody', expectedErrors: /404|409|422/ });
    const { page } = window;
    await button(page, 'Forgot password').click();
    await page.getByLabel('Email').fill(user.email);
    await button(page, 'Send the link').click();
    await page.getByRole('alert').getByText('Ask an owner of your team for a link.').waitFor();
    await assertAccessible(page);

    await page.goto(link);
    await page.getByLabel('New password').fill('aurora-coffee');
    await button(page, 'Change password').click();
    await page.getByText('This password is too easy to guess.').waitFor();
    await assertAccessible(page);
    await page.getByLabel('New password').fill(PASSWORD);
    await button(page, 'Change password').click();
    await heading(page, 'Your password was changed').waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await window.signIn({ email: user.email, password: PASSWORD });
  });
});
