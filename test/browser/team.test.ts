import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { addColleague, type Colleague } from '../support/colleagues.ts';
import { addUser, assertError } from '../support/server.ts';
import { type MailServer, mailSettings, newAddress, startMailServer } from '../support/stand-ins/mail.ts';
import { apiOf, button, inBrowser, openSettings, rowOf } from './browser.ts';

const PASSWORD = 'quiet lemon harbour';
/** A question that nobody else asks, so that it is not in a group. */
const asking = (question: string) => ({
  ...{ notification_type: 'user_question_request', conversation_id: 1, context: { question } },
});

let mail: MailServer;
after(() => mail?.close());
async function startMail(): Promise<Record<string, string>> {
  mail = await startMailServer();
  return { ...mailSettings(mail), ALLOWED_HOSTS: '127.0.0.1', PUBLIC_URL: 'http://127.0.0.1:8000' };
}

inBrowser(
  'a team',
  (dashboard) => {
    const { api, read, createNotification } = apiOf(dashboard);
    const colleague = (name: string): Promise<Colleague> => addColleague(dashboard.deskbell, name);

    it('writes notes that only it sees: a mention is offered, marked, and told; only its author or an owner deletes it', async () => {
      const vera = await colleague('Vera Sanz');
      const id = await createNotification(asking('Does the brass grinder fit into a caravan?'));
      const mine = await dashboard.open({ path: `/inbox/${id}` });
      await mine.page.getByText('Internal notes').click();
      const note = mine.page.getByRole('textbox', { name: 'New note' });
      await note.pressSequentially('Please ask the roaster, @ver');
      await button(mine.page, '@Vera Sanz').click();
      await note.pressSequentially('before Friday.');
      await button(mine.page, 'Add note').click();
      await mine.page.locator('.note mark', { hasText: '@Vera Sanz' }).waitFor();
      const { notes } = (await api('GET', `/api/v1/notification/${id}/notes`)).json;
      assert.equal(notes[0].text, 'Please ask the roaster, @Vera Sanz before Friday.');
      assert.deepEqual(
        notes[0].mentions.map((one: { id: number }) => one.id),
        [vera.id],
      );

      const theirs = await dashboard.open({ path: `/inbox/${id}`, user: vera });
      await theirs.page.locator('.note', { hasText: 'before Friday.' }).waitFor();
      assert.equal(
        await theirs.page.getByRole('button', { name: 'Delete the note by Alma Reyes' }).count(),
        0,
      );
      await theirs.page.getByRole('textbox', { name: 'New note' }).fill('Done.');
      await button(theirs.page, 'Add note').click();
      // The first window hears of it without a reload.
      await mine.page.locator('.note', { hasText: 'Done.' }).waitFor();
      await mine.page.getByRole('button', { name: 'Delete the note by Vera Sanz' }).click();
      await mine.page.locator('.note', { hasText: 'Done.' }).waitFor({ state: 'detached' });
      await theirs.page.locator('.note', { hasText: 'Done.' }).waitFor({ state: 'detached' });
      await mine.close();
      await theirs.close();
    });

    it('assigns a question: the other person sees it as theirs, and finds it in the list', async () => {
      const nora = await colleague('Nora Gil');
      const id = await createNotification(asking('Which kettle pours slowly enough?'));
      const mine = await dashboard.open({ path: `/inbox/${id}` });
      await mine.page.locator('.assignee').getByRole('combobox').selectOption('Nora Gil');
      const theirs = await dashboard.open({ path: '/inbox?assigned=me', user: nora });
      await rowOf(theirs.page, id).click();
      await theirs.page
        .locator('.assignee option:checked', { hasText: 'Nora Gil (you)' })
        .waitFor({ state: 'attached' });
      assert.equal((await read(id)).assigned_to.id, nora.id);
      await theirs.page.locator('.assignee').getByRole('combobox').selectOption('Nobody');
      await mine.page
        .locator('.assignee option:checked', { hasText: 'Nobody' })
        .waitFor({ state: 'attached' });
      assert.equal((await read(id)).assigned_to, null);
      await mine.close();
      await theirs.close();
    });

    it('has members without the owner’s controls, and the API refuses what they do not show', async () => {
      const member = await colleague('Mario Rey');
      const window = await dashboard.open({ user: member, path: '/settings/shop' });
      const { page } = window;
      await page.getByText('Only owners can change this.').waitFor();
      assert.equal(await page.getByLabel('Name of the shop').isDisabled(), true);
      assert.equal(await button(page, 'Save').count(), 0);
      await openSettings(page, 'Team');
      await page.locator('[data-member]').first().waitFor();
      for (const name of [/^Disable/, /^New password/, /^Create the invitation/])
        assert.equal(await page.getByRole('button', { name }).count(), 0);
      await openSettings(page, 'Connection');
      await page.getByText('Only owners can change this.').waitFor();
      for (const name of ['Test and save', 'Test the connection'])
        assert.equal(await button(page, name).count(), 0);
      assert.equal(
        await page.locator('.settings-nav').getByRole('link', { name: 'Data', exact: true }).count(),
        0,
      );
      // By its address it says so, too.
      await page.goto('/settings/data');
      await page.getByText('Only owners can change this.').waitFor();
      assert.equal(await button(page, 'Download the file').count(), 0);
      const { token } = member;
      for (const [method, path, body] of [
        ['PATCH', '/api/v1/merchant', { name: 'Mine' }],
        ['POST', '/api/v1/invites', { role: 'owner' }],
        ['GET', '/api/v1/invites', undefined],
        ['PATCH', `/api/v1/team/${member.id}`, { role: 'owner' }],
        ['POST', '/api/v1/team/1/reset-link', undefined],
        ['GET', '/api/v1/channel/types', undefined],
        ['DELETE', '/api/v1/channel', undefined],
        ['GET', '/api/v1/export', undefined],
        ['POST', '/api/v1/keys', { name: 'Mine', scopes: ['ask'] }],
      ] as const)
        assertError(await dashboard.deskbell.call(method, path, { token, body }), 403, 'FORBIDDEN');
      await window.close();
    });

    it('an owner disables somebody, who is signed out at once and cannot come back until enabled again', async () => {
      const leaving = await colleague('Iris Mora');
      const theirs = await dashboard.open({ user: leaving, expectedErrors: /401/ });
      const owner = await dashboard.open({ path: '/settings/team' });
      await owner.page.getByRole('button', { name: 'Disable: Iris Mora' }).click();
      await owner.page.getByRole('dialog').getByRole('button', { name: 'Disable', exact: true }).click();
      await owner.page.getByRole('button', { name: 'Enable: Iris Mora' }).waitFor();
      await theirs.page.getByText('Your session has ended.').waitFor();
      await theirs.page.getByLabel('Email').fill(leaving.email);
      await theirs.page.getByLabel('Password', { exact: true }).fill(leaving.password);
      await theirs.page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await theirs.page.getByRole('alert').waitFor();
      await owner.page.getByRole('button', { name: 'Enable: Iris Mora' }).click();
      await owner.page.getByRole('button', { name: 'Disable: Iris Mora' }).waitFor();
      await theirs.signIn(leaving);
      await theirs.close();
      await owner.close();
    });

    it('changes a password after the current one, and other devices must sign in again', async () => {
      const user = await addUser(dashboard.deskbell);
      const elsewhere = await dashboard.open({ user, expectedErrors: /401/ });
      const here = await dashboard.open({ user, path: '/settings/account', expectedErrors: /40\d|422/ });
      const { page } = here;
      await button(page, 'Security').click();
      await page.getByLabel('Your password').fill('not the right one');
      await page.getByLabel('New password').fill(PASSWORD);
      await button(page, 'Change password').click();
      await page.getByText(/wrong/i).first().waitFor();
      await page.getByLabel('Your password').fill(user.password);
      await button(page, 'Change password').click();
      await elsewhere.page.getByText('Your session has ended.').waitFor();
      await elsewhere.signIn({ email: user.email, password: PASSWORD });
      await here.close();
      await elsewhere.close();
    });

    it('sees what became of the mail of an invitation, and gets the link in any case', async () => {
      await dashboard.deskbell.allSent();
      // The first one is not tried again meanwhile.
      dashboard.deskbell.clock.stop();
      mail.next(450, 550);
      const window = await dashboard.open({ path: '/settings/team' });
      const { page } = window;
      for (const state of ['retrying', 'failed']) {
        const email = newAddress();
        await page.getByLabel('Email').fill(email);
        await button(page, 'Create the invitation').click();
        const row = page.locator('.settings-list li', { hasText: email });
        await row.locator(`.invite-mail[data-state="${state}"]`).waitFor();
        assert.match((await page.locator('.shown-once code').textContent())!, /\/invite#1\./);
      }
      await page.getByText('E-mail: not accepted yet, we keep trying').waitFor();
      await page.getByText('E-mail not delivered: pass the link on yourself, or invite again').waitFor();
      dashboard.deskbell.clock.go();
      await window.close();
    });
  },
  { settings: startMail },
);
