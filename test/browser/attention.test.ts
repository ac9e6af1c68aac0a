import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type MailServer, mailSettings, newAddress, startMailServer } from '../support/stand-ins/mail.ts';
import { META, type Meta, metaEnv, startMeta } from '../support/stand-ins/meta.ts';
import { assertAccessible } from './axe.ts';
import { inBrowserOn } from './browser.ts';
import { becomes, button, changesOf, focused, goTo, rowOf, waitUntilLive } from './page.ts';

/** As Meta documents them. */
const CANNOT_RECEIVE = 131026;
const OPTED_OUT = 131050;

/** A server that sends messages by WhatsApp, and mail, to stand-ins. */
let meta: Meta;
let mail: MailServer;
const SENDING = {
  async settings() {
    [meta, mail] = await Promise.all([startMeta({ now: () => new Date() }), startMailServer()]);
    const addresses = { ALLOWED_HOSTS: '127.0.0.1', PUBLIC_URL: 'http://127.0.0.1:8000' };
    return { ...metaEnv(meta), ...mailSettings(mail), ...addresses };
  },
};
after(async () => {
  await meta?.close();
  await mail?.close();
});

const tab = (page: Page, name: string) => page.locator('.tab', { hasText: name });
const countOf = (page: Page, name: string, count: string) =>
  tab(page, name).locator('.count', { hasText: new RegExp(`^${count}$`) });
const alertOf = (page: Page, text: string) => page.locator('.toast', { hasText: text });
const row = (page: Page, id: number) => page.locator('.row', { has: rowOf(page, id) });

inBrowserOn(SENDING, 'messages that do not reach their customer', (shop) => {
  let customers = 0;
  const sentTo = (phone: string) => meta.accepted.filter(({ to }) => to === phone).length;
  /** A customer who wrote a moment ago, so that free text may be sent, and an answer that WhatsApp refuses. */
  async function failedAnswer(name: string, code: number, question: string) {
    customers += 1;
    const phone = `+3461166${1000 + customers}`;
    const conversation_id = await shop.converse({ customer_name: name, customer_phone: phone });
    await meta.customerWrites(phone);
    const id = await shop.raise({ conversation_id, context: { question } });
    meta.next({ code });
    await shop.answer(id, question);
    await shop.deskbell.allSent();
    return { id, phone, conversation_id };
  }
  async function failedMessage(conversation: number, text: string): Promise<number> {
    meta.next({ code: CANNOT_RECEIVE });
    const { status, json } = await shop.post(`/conversation/${conversation}/send`, { text });
    assert.equal(status, 200);
    await shop.deskbell.allSent();
    return json.delivery_id;
  }
  async function sendAgain(id: number) {
    await shop.post('/inbox/attention/send-again', { ids: [id] });
    await shop.deskbell.allSent();
  }
  before(async () => {
    meta.webhookUrl = `${shop.deskbell.url}/webhooks/whatsapp`;
    await shop.setUndoSeconds(0);
  });

  it('alert the user, are counted and marked, say why in words, and are sent again one by one', async () => {
    const { page } = await shop.open();
    await waitUntilLive(page);
    await countOf(page, 'Needs attention', '0').waitFor();
    const refused = await failedAnswer('Nora Gil', OPTED_OUT, 'Are the tins refillable?');
    await alertOf(page, '1 message needs attention').waitFor();
    await countOf(page, 'Needs attention', '1').waitFor();
    await page.locator('.tab[data-alert]').waitFor();
    await becomes(async () => (await page.title()).includes('⚠ 1'), true);

    await tab(page, 'Needs attention').click();
    await rowOf(page, refused.id).getByText('The customer does not want such messages.').waitFor();
    assert.ok(!(await page.locator('.list').textContent())!.includes(String(OPTED_OUT)));
    const again = row(page, refused.id).getByRole('button', { name: 'Send again: Nora Gil' });
    const dialog = page.getByRole('dialog');
    await again.click();
    await dialog.getByText('The customer does not want such messages.').waitFor();
    assert.equal(sentTo(refused.phone), 0);
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await alertOf(page, 'The message is queued again.').waitFor();
    await rowOf(page, refused.id).waitFor({ state: 'detached' });
    await countOf(page, 'Needs attention', '0').waitFor();
    await page.getByText('All messages reach your customers.').waitFor();
    await shop.deskbell.allSent();
    assert.equal(sentTo(refused.phone), 1);
  });

  it('are all sent again, as far as they are shown and somebody does not have to look first', async () => {
    const failed = [
      await failedAnswer('Iker Sanz', CANNOT_RECEIVE, 'Is there a tasting on Friday?'),
      await failedAnswer('Lola Mas', CANNOT_RECEIVE, 'Is there a tasting on Monday?'),
    ];
    const refused = await failedAnswer('Ada Pons', OPTED_OUT, 'Is there a tasting today?');
    const other = await failedAnswer('Ugo Ferri', CANNOT_RECEIVE, 'Do you repair grinders?');
    const sentToEach = () => [...failed, refused, other].map(({ phone }) => sentTo(phone));
    const window = await shop.open({ path: '/inbox?tab=attention&q=tasting' });
    const { page } = window;
    for (const { id } of [...failed, refused]) await rowOf(page, id).waitFor();
    const changes = changesOf(page);
    await page.getByRole('button', { name: 'Send all again', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Send 2 messages again?' });
    await dialog.getByText('1 message is left out').waitFor();
    assert.deepEqual(sentToEach(), [0, 0, 0, 0]);
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await alertOf(page, '2 messages are queued again.').waitFor();
    for (const { id } of failed) await rowOf(page, id).waitFor({ state: 'detached' });
    await shop.deskbell.allSent();
    assert.deepEqual(sentToEach(), [1, 1, 0, 0]);
    const path = '/api/v1/inbox/attention/send-again';
    assert.deepEqual(changes, [path, path]);
    await sendAgain(other.id);
    await window.close();

    // Every member of the team can do it, at the question itself.
    const theirs = await shop.open({ path: `/inbox/${refused.id}`, user: await shop.colleague() });
    const notice = theirs.page.getByRole('region', { name: 'Needs attention' });
    await notice.getByText('The customer does not want such messages.').waitFor();
    await notice.getByRole('button', { name: 'Send again: Ada Pons' }).click();
    await theirs.page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
    await notice.waitFor({ state: 'detached' });
    await shop.deskbell.allSent();
    assert.equal(sentTo(refused.phone), 1);
  });

  it('get another number, which the customer is reached at from then on', async () => {
    const wrong = await failedAnswer('Vera Roca', CANNOT_RECEIVE, 'Do you sell by the kilo?');
    const right = '+34611770001';
    await meta.customerWrites(right);
    const { page } = await shop.open({ path: '/inbox?tab=attention', expectedErrors: /422/ });
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel('Phone number');
    const save = async (number: string) => {
      await field.fill(number);
      await dialog.getByRole('button', { name: 'Save and send again' }).click();
    };
    await rowOf(page, wrong.id)
      .getByText('This number cannot get messages. It may not be on WhatsApp.')
      .waitFor();
    await row(page, wrong.id).getByRole('button', { name: 'Fix the number: Vera Roca' }).click();
    assert.equal(await field.inputValue(), wrong.phone);
    await assertAccessible(page);
    await save('12');
    await dialog.getByText('This is not a valid phone number.').waitFor();
    assert.equal(await field.inputValue(), '12');
    await save('+34 611 77 00 01');
    await dialog.waitFor({ state: 'detached' });
    await rowOf(page, wrong.id).waitFor({ state: 'detached' });
    await shop.deskbell.allSent();
    assert.deepEqual([sentTo(wrong.phone), sentTo(right)], [0, 1]);
    // The question itself shows it, and what is written below goes there.
    await tab(page, 'Answered').click();
    await rowOf(page, wrong.id).click();
    await page.locator('.pane-customer a[href="tel:+34611770001"]').waitFor();
    await page.getByRole('textbox', { name: 'Write to Vera Roca' }).waitFor();
  });

  it('are there without a question, too, and are sent again from the list and from the conversation', async () => {
    const { id, phone, conversation_id } = await failedAnswer('Pau Vila', CANNOT_RECEIVE, 'Is it open?');
    await sendAgain(id);
    const first = await failedMessage(conversation_id, 'From nine.');
    const { page } = await shop.open({ path: '/inbox?tab=attention' });
    const message = (delivery: number) => page.locator(`[data-message="${delivery}"]`);
    await message(first).getByText('From nine.').waitFor();
    await countOf(page, 'Needs attention', '1').waitFor();
    assert.equal(await page.getByText('All messages reach your customers.').count(), 0);
    await message(first).getByRole('button', { name: 'Send again: Pau Vila' }).click();
    await alertOf(page, 'The message is queued again.').waitFor();
    await message(first).waitFor({ state: 'detached' });
    await shop.deskbell.allSent();
    assert.equal(sentTo(phone), 2);

    const second = await failedMessage(conversation_id, 'Until six.');
    await message(second).getByRole('link').click();
    const again = page.getByRole('button', { name: 'Send again: Until six.' });
    await again.click();
    await again.waitFor({ state: 'detached' });
    await countOf(page, 'Needs attention', '0').waitFor();
    await shop.deskbell.allSent();
    assert.equal(sentTo(phone), 3);
  });
});

inBrowserOn(SENDING, 'the time left to reply', (shop) => {
  const notice = (page: Page) => page.locator('.window-notice');
  const DAY_MINUTES = 24 * 60;
  let customers = 0;

  /** A question of a new customer, who can be answered for so long. */
  async function ask(minutesLeft: number): Promise<number> {
    customers += 1;
    const customer_phone = `+3461177${1000 + customers}`;
    const conversation_id = await shop.converse({ customer_name: `Noa ${customers}`, customer_phone });
    const opened = new Date(Date.now() - (DAY_MINUTES - minutesLeft - 0.5) * 60_000);
    await shop.deskbell.database.run(
      'insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)',
      [`whatsapp:${META.phoneNumberId}`, customer_phone, opened.toISOString()],
    );
    return shop.raise({ conversation_id, context: { question: `Do you sell number ${customers}?` } });
  }

  it('is at the message, and in the header only in a color, when it is short', async () => {
    const { page } = await shop.open();
    for (const [minutesLeft, inHeader, inRow, state, text] of [
      [90, /^$/, /^1 hr left to reply$/, 'open', /^You can write to Noa 1 for 1 hr \d+ min\./],
      [45, /^soon: \d+ min left to reply$/, /^\d+ min left to reply$/, 'soon', /for \d+ min\./],
      [10, /^urgent: \d+ min left to reply$/, /^\d+ min left to reply$/, 'urgent', /for \d+:\d\d\./],
      [-5, /^$/, /^reply time expired$/, 'closed', /^Noa 4 has not written in the last 24 hours\./],
    ] as const) {
      const id = await ask(minutesLeft);
      await goTo(page, `/inbox/${id}`);
      await notice(page)
        .and(page.locator(`[data-state="${state}"]`))
        .waitFor();
      assert.match((await notice(page).textContent())!, text);
      await rowOf(page, id).locator('.reply-window').filter({ hasText: inRow }).waitFor();
      await page.locator('.pane-customer h2[aria-busy="false"]').waitFor();
      const shown = await page
        .locator('.notification-header .reply-window')
        .evaluateAll((all) => all.map((one) => `${one.getAttribute('data-state')}: ${one.textContent}`));
      assert.match(shown.join(), inHeader);
    }
  });
});

inBrowserOn(SENDING, 'the connection in the settings', (shop) => {
  it('to WhatsApp is set up step by step, and says what is wrong before', async () => {
    const { page } = await shop.open({ path: '/settings/connection', expectedErrors: /409|422/ });
    const sentBefore = meta.accepted.length;
    const tokenField = page.getByLabel('Access token', { exact: true });
    const numberField = page.getByLabel('Phone number ID', { exact: true });
    const save = async (token: string) => {
      await tokenField.fill(token);
      await button(page, 'Test and save').click();
    };
    await page.getByText('At Meta: your app, WhatsApp, API Setup.').waitFor();
    await numberField.fill(META.phoneNumberId);
    await page.getByLabel('App secret', { exact: true }).fill(META.appSecret);
    await save('two words');
    await page.getByRole('alert').getByText('This value does not fit here.').waitFor();
    await page.getByText('Not saved: see the marked field.').waitFor();
    await becomes(() => focused(page), 'token');
    const word = await page.getByLabel('Verify token').inputValue();
    await save('not-the-right-token');
    await page.getByRole('alert').getByText('WhatsApp refuses this access token.').waitFor();
    await save(META.token);
    await page.getByText('Your channel is set up.').waitFor();

    // What it says to enter at Meta is what Meta then finds.
    const lastStep = page.locator('.settings-block', { hasText: 'Last step: tell Meta where to call' });
    await lastStep.locator('code').nth(1).waitFor();
    const [callback = '', shown] = await lastStep.locator('code').allTextContents();
    assert.equal(shown, word);
    const query = { 'hub.mode': 'subscribe', 'hub.verify_token': word, 'hub.challenge': '12345' };
    const address = new URL(`${new URL(callback).pathname}?${new URLSearchParams(query)}`, shop.deskbell.url);
    const verified = await fetch(address);
    assert.deepEqual([verified.status, await verified.text()], [200, '12345']);

    await button(page, 'Test the connection').click();
    await page.locator('.channel-state[data-state="ok"]').getByText('Tested just now: it works.').waitFor();
    assert.equal(meta.accepted.length, sentBefore);
    // Without a template it says what is missing.
    await page.locator('.template-state[data-state="bad"]').getByText('No template is set up').waitFor();
    await page.getByLabel('Name of the template').fill(META.template);
    await page.getByLabel('WhatsApp Business Account ID').fill(META.businessAccountId);
    await button(page, 'Test and save').click();
    await page.locator('.template-state[data-state="ok"]').getByText('WhatsApp has approved it.').waitFor();
    await page
      .locator('.template-preview')
      .getByText('Hello! Here is the answer to your question: Yes, on Saturdays we open at nine.')
      .waitFor();
    await button(page, 'Remove my channel').click();
    const dialog = page.getByRole('dialog', { name: 'Remove your channel?' });
    await dialog.getByRole('button', { name: 'Remove my channel' }).click();
    await page.getByText('You use the channel that this server’s operator has set up.').waitFor();
  });

  it('to mail shows what became of the mail of an invitation, with the link in any case', async () => {
    await shop.deskbell.allSent();
    // The first one is not tried again meanwhile.
    shop.deskbell.clock.stop();
    mail.next(450, 550);
    const { page } = await shop.open({ path: '/settings/team' });
    for (const state of ['retrying', 'failed']) {
      const email = newAddress();
      await page.getByLabel('Email').fill(email);
      await button(page, 'Create the invitation').click();
      const invitation = page.locator('.settings-list li', { hasText: email });
      await invitation.locator(`.invite-mail[data-state="${state}"]`).waitFor();
      assert.match((await page.locator('.shown-once code').textContent())!, /\/invite#\d+\./);
    }
    await page.getByText('E-mail: not accepted yet, we keep trying').waitFor();
    await page.getByText('E-mail not delivered: pass the link on yourself, or invite again').waitFor();
    shop.deskbell.clock.go();
  });
});
