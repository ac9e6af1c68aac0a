import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { addUser, QUESTION } from '../support/server.ts';
import { type Meta, metaEnv, startMeta } from '../support/stand-ins/meta.ts';
import { apiOf, inBrowser, rowOf, waitUntilLive } from './browser.ts';
import { animationsFinished } from './pages.ts';

/** As Meta documents them. */
const CANNOT_RECEIVE = 131026;
const OPTED_OUT = 131050;

let meta: Meta;
after(() => meta?.close());
/** The server sends by WhatsApp, to the stand-in. */
async function startStandIn(): Promise<Record<string, string>> {
  meta = await startMeta({ now: () => new Date() });
  return metaEnv(meta);
}

const tab = (page: Page, name: string) => page.locator('.tab', { hasText: name });
const countOf = (page: Page, name: string, count: string) =>
  tab(page, name).locator('.count', { hasText: new RegExp(`^${count}$`) });
const alertOf = (page: Page, text: string) => page.locator('.toast', { hasText: text });

inBrowser(
  'messages that do not reach their customer',
  (dashboard) => {
    const { api, createNotification, setUndoSeconds } = apiOf(dashboard);
    before(async () => {
      meta.webhookUrl = `${dashboard.deskbell.url}/webhooks/whatsapp`;
      await setUndoSeconds(0);
    });

    let customers = 0;
    /** A customer who wrote a moment ago, so that free text may be sent, and an answer that WhatsApp refuses. */
    async function failedAnswer(name: string, code: number, question: string) {
      customers += 1;
      const phone = `+3461166${1000 + customers}`;
      const created = await api('POST', '/api/v1/conversation/', {
        ...{ reference: `attention-${customers}`, customer_name: name, customer_phone: phone },
      });
      const conversation_id: number = created.json.id;
      await meta.customerWrites(phone);
      const id = await createNotification({ ...QUESTION, conversation_id, context: { question } });
      meta.next({ code });
      const { status, text } = await api('POST', `/api/v1/notification/${id}/answer`, { answer: question });
      assert.equal(status, 200, text);
      await dashboard.deskbell.allSent();
      return { id, phone, conversation_id };
    }
    const sentTo = (phone: string) => meta.accepted.filter(({ to }) => to === phone).length;
    const row = (page: Page, id: string) => page.locator('.row', { has: rowOf(page, id) });

    it('alert the user, are counted and marked, say why in words, and are sent again one by one', async () => {
      const window = await dashboard.open();
      const { page } = window;
      await waitUntilLive(page);
      await countOf(page, 'Needs attention', '0').waitFor();
      const refused = await failedAnswer('Nora Gil', OPTED_OUT, 'Are the tins refillable?');
      await alertOf(page, '1 message needs attention').waitFor();
      await countOf(page, 'Needs attention', '1').waitFor();
      await page.locator('.tab[data-alert]').waitFor();
      await page.waitForFunction("document.title.includes('⚠ 1')");

      // It is marked where it was answered, too.
      await tab(page, 'Answered').click();
      await rowOf(page, refused.id).getByText('Not sent').waitFor();

      await tab(page, 'Needs attention').click();
      await rowOf(page, refused.id).getByText('The customer does not want such messages.').waitFor();
      assert.ok(!(await page.locator('.list').textContent())!.includes(String(OPTED_OUT)));
      await animationsFinished(page);
      assert.deepEqual((await new AxeBuilder({ page }).analyze()).violations, []);
      assert.equal(sentTo(refused.phone), 0);
      await row(page, refused.id).getByRole('button', { name: 'Send again: Nora Gil' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('The customer does not want such messages.').waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      assert.equal(sentTo(refused.phone), 0);
      await row(page, refused.id).getByRole('button', { name: 'Send again: Nora Gil' }).click();
      await dialog.getByRole('button', { name: 'Send again' }).click();
      await alertOf(page, 'The message is queued again.').waitFor();
      await rowOf(page, refused.id).waitFor({ state: 'detached' });
      await countOf(page, 'Needs attention', '0').waitFor();
      await page.getByText('All messages reach your customers.').waitFor();
      await dashboard.deskbell.allSent();
      assert.equal(sentTo(refused.phone), 1);
      await window.close();
    });

    it('are all sent again, as far as they are shown and somebody does not have to look first', async () => {
      const failed = [
        await failedAnswer('Iker Sanz', CANNOT_RECEIVE, 'Is there a tasting on Friday?'),
        await failedAnswer('Lola Mas', CANNOT_RECEIVE, 'Is there a tasting on Monday?'),
      ];
      const refused = await failedAnswer('Ada Pons', OPTED_OUT, 'Is there a tasting today?');
      const other = await failedAnswer('Ugo Ferri', CANNOT_RECEIVE, 'Do you repair grinders?');
      const window = await dashboard.open({ path: '/inbox?tab=attention&q=tasting' });
      const { page } = window;
      for (const { id } of [...failed, refused]) await rowOf(page, id).waitFor();
      const requests: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST') requests.push(new URL(request.url()).pathname);
      });
      await page.getByRole('button', { name: 'Send all again', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Send 2 messages again?' });
      await dialog.getByText('1 message is left out').waitFor();
      assert.deepEqual(
        failed.map(({ phone }) => sentTo(phone)),
        [0, 0],
      );
      await dialog.getByRole('button', { name: 'Send again' }).click();
      await alertOf(page, '2 messages are queued again.').waitFor();
      for (const { id } of failed) await rowOf(page, id).waitFor({ state: 'detached' });
      await dashboard.deskbell.allSent();
      assert.deepEqual(
        failed.map(({ phone }) => sentTo(phone)),
        [1, 1],
      );
      assert.deepEqual([sentTo(refused.phone), sentTo(other.phone)], [0, 0]);
      const path = '/api/v1/inbox/attention/send-again';
      assert.deepEqual(requests, [path, path]);
      await api('POST', path, { ids: [Number(refused.id), Number(other.id)] });
      await dashboard.deskbell.allSent();
      await window.close();
    });

    it('get another number, which the customer is reached at from then on', async () => {
      const wrong = await failedAnswer('Vera Roca', CANNOT_RECEIVE, 'Do you sell by the kilo?');
      const right = '+34611770001';
      await meta.customerWrites(right);
      const window = await dashboard.open({ path: '/inbox?tab=attention', expectedErrors: /422/ });
      const { page } = window;
      await rowOf(page, wrong.id)
        .getByText('This number cannot get messages. It may not be on WhatsApp.')
        .waitFor();
      await row(page, wrong.id).getByRole('button', { name: 'Fix the number: Vera Roca' }).click();
      const dialog = page.getByRole('dialog');
      const field = dialog.getByLabel('Phone number');
      assert.equal(await field.inputValue(), wrong.phone);
      await field.fill('12');
      await dialog.getByRole('button', { name: 'Save and send again' }).click();
      await dialog.getByText('This is not a valid phone number.').waitFor();
      assert.equal(await field.inputValue(), '12');
      await field.fill('+34 611 77 00 01');
      await dialog.getByRole('button', { name: 'Save and send again' }).click();
      await dialog.waitFor({ state: 'detached' });
      await rowOf(page, wrong.id).waitFor({ state: 'detached' });
      await countOf(page, 'Needs attention', '0').waitFor();
      await dashboard.deskbell.allSent();
      assert.deepEqual([sentTo(wrong.phone), sentTo(right)], [0, 1]);

      // The question itself shows it, and what is written below goes there.
      await tab(page, 'Answered').click();
      await rowOf(page, wrong.id).click();
      await page.locator('.pane-customer a[href="tel:+34611770001"]').waitFor();
      await page.getByRole('textbox', { name: 'Write to Vera Roca' }).waitFor();

      // The next answer goes there, too.
      const next = await createNotification({
        ...QUESTION,
        conversation_id: wrong.conversation_id,
        context: { question: 'And by the half kilo?' },
      });
      await api('POST', `/api/v1/notification/${next}/answer`, { answer: 'Yes.' });
      await dashboard.deskbell.allSent();
      assert.deepEqual([sentTo(wrong.phone), sentTo(right)], [0, 2]);
      await window.close();
    });

    it('are there without a question, too, and are sent again from the list and from the conversation', async () => {
      const { id, phone, conversation_id } = await failedAnswer('Pau Vila', CANNOT_RECEIVE, 'Is it open?');
      await api('POST', '/api/v1/inbox/attention/send-again', { ids: [Number(id)] });
      await dashboard.deskbell.allSent();
      const failedMessage = async (text: string) => {
        meta.next({ code: CANNOT_RECEIVE });
        const { status, json } = await api('POST', `/api/v1/conversation/${conversation_id}/send`, { text });
        assert.equal(status, 200);
        await dashboard.deskbell.allSent();
        return json.delivery_id as number;
      };
      const first = await failedMessage('From nine.');
      const window = await dashboard.open({ path: '/inbox?tab=attention' });
      const { page } = window;
      const message = (delivery: number) => page.locator(`[data-message="${delivery}"]`);
      await message(first).getByText('From nine.').waitFor();
      await countOf(page, 'Needs attention', '1').waitFor();
      assert.equal(await page.getByText('All messages reach your customers.').count(), 0);
      await animationsFinished(page);
      assert.deepEqual((await new AxeBuilder({ page }).analyze()).violations, []);
      await message(first).getByRole('button', { name: 'Send again: Pau Vila' }).click();
      await alertOf(page, 'The message is queued again.').waitFor();
      await message(first).waitFor({ state: 'detached' });
      await dashboard.deskbell.allSent();
      assert.equal(sentTo(phone), 2);

      const second = await failedMessage('Until six.');
      await message(second).getByRole('link').click();
      const again = page.getByRole('button', { name: 'Send again: Until six.' });
      await again.click();
      await again.waitFor({ state: 'detached' });
      await countOf(page, 'Needs attention', '0').waitFor();
      await dashboard.deskbell.allSent();
      assert.equal(sentTo(phone), 3);
      await window.close();
    });

    it('without a question get another number, too', async () => {
      const { id, phone, conversation_id } = await failedAnswer(
        'Rosa Font',
        CANNOT_RECEIVE,
        'Is it wrapped?',
      );
      await api('POST', '/api/v1/inbox/attention/send-again', { ids: [Number(id)] });
      await dashboard.deskbell.allSent();
      meta.next({ code: CANNOT_RECEIVE });
      const path = `/api/v1/conversation/${conversation_id}/send`;
      const { delivery_id } = (await api('POST', path, { text: 'With a ribbon.' })).json;
      await dashboard.deskbell.allSent();
      const right = '+34611770002';
      await meta.customerWrites(right);
      const window = await dashboard.open({ path: '/inbox?tab=attention' });
      const { page } = window;
      const message = page.locator(`[data-message="${delivery_id}"]`);
      await message.getByRole('button', { name: 'Send again: Rosa Font' }).waitFor();
      await message.getByRole('button', { name: 'Fix the number: Rosa Font' }).click();
      const dialog = page.getByRole('dialog');
      const field = dialog.getByLabel('Phone number');
      assert.equal(await field.inputValue(), phone);
      assert.deepEqual((await new AxeBuilder({ page }).analyze()).violations, []);
      await field.fill(right);
      await dialog.getByRole('button', { name: 'Save and send again' }).click();
      await dialog.waitFor({ state: 'detached' });
      await message.waitFor({ state: 'detached' });
      await countOf(page, 'Needs attention', '0').waitFor();
      await dashboard.deskbell.allSent();
      assert.deepEqual([sentTo(phone), sentTo(right)], [1, 1]);
      await window.close();
    });

    it('can be fixed by every member of the team, at the question itself', async () => {
      const { id, phone } = await failedAnswer('Bea Soto', OPTED_OUT, 'Can I bring my own cup?');
      const member = await addUser(dashboard.deskbell);
      const window = await dashboard.open({ path: `/inbox/${id}`, user: member });
      const { page } = window;
      const notice = page.getByRole('region', { name: 'Needs attention' });
      await notice.getByText('The customer does not want such messages.').waitFor();
      await notice.getByRole('button', { name: 'Send again: Bea Soto' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
      await notice.waitFor({ state: 'detached' });
      await dashboard.deskbell.allSent();
      assert.equal(sentTo(phone), 1);
      await window.close();
    });
  },
  { settings: startStandIn },
);
