import assert from 'node:assert/strict';
import { it } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import type { Locator, Page } from 'playwright-core';
import type { Turn } from '../../src/contract/timeline.ts';
import { until } from '../support/shops.ts';
import { answerField, apiOf, becomes, button, inBrowser, sentAnswer } from './browser.ts';
import { animationsFinished } from './pages.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const LOST = /ERR_FAILED|Failed to load resource/;

inBrowser('an answer in its conversation', (dashboard) => {
  const { api, readAnswered, setUndoSeconds } = apiOf(dashboard);
  let conversations = 0;
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

  /** A new customer who wants to know something else, too. */
  async function ask() {
    conversations += 1;
    const letter = LETTERS[conversations]!;
    const [name, phone] = [`Bea ${letter}`, `+3465555${String(1000 + conversations)}`];
    const created = await api('POST', '/api/v1/conversation/', {
      ...{ reference: `answer-${conversations}`, customer_name: name, customer_phone: phone },
    });
    const id: number = created.json.id;
    const before = [{ from: 'customer', text: `Is ${letter}nise organic?`, at: ago(60 * 24 * 2) }];
    await api('POST', `/api/v1/conversation/${id}/messages`, { messages: before });
    const context = { question: `Do you have ${letter}nise tea?` };
    const raised = await api('POST', '/api/v1/notification/request', {
      ...{ notification_type: 'user_question_request', conversation_id: id, context },
    });
    const notification: string = raised.headers.get('location')!.split('/').at(-1)!;
    return { id, name, phone, quoted: before[0]!.text, notification };
  }
  type Asked = Awaited<ReturnType<typeof ask>>;
  const open = ({ notification }: Asked, options = {}) =>
    dashboard.open({ path: `/inbox/${notification}`, ...options });
  const answer = ({ notification }: Asked, body: object) =>
    api('POST', `/api/v1/notification/${notification}/answer`, body);
  const sent = async ({ id }: Asked) =>
    ((await api('GET', `/api/v1/conversation/${id}/timeline`)).json.items as Turn[])
      .filter(({ from }) => from === 'merchant')
      .map(({ text, reply_to }) => [text, reply_to?.text]);
  const writing = (page: Page, { name }: Asked) => page.getByRole('textbox', { name: `Write to ${name}` });
  const turns = (page: Page, text: string) => page.locator('.conversation-log .turn', { hasText: text });
  const quote = (page: Page, text: string) => page.getByRole('button', { name: `Quote “${text}”` }).click();
  /** The server performs the first request to this path, and its response is lost. */
  async function loseResponse(page: Page, path: RegExp): Promise<string[]> {
    const keys: string[] = [];
    await page.route(path, async (route) => {
      keys.push(route.request().headers()['idempotency-key'] ?? '');
      const response = await route.fetch();
      await (keys.length === 1 ? route.abort() : route.fulfill({ response }));
    });
    return keys;
  }

  it('is a turn with its ticks, and what belongs to it is below', async () => {
    const asked = await ask();
    await answer(asked, { answer: 'In boxes and in bags.' });
    await dashboard.deskbell.allSent();
    const window = await open(asked);
    const { page } = window;
    const turn = page.locator('.turn[data-answer]');
    await turn.getByText('In boxes and in bags.').waitFor();
    assert.equal(await page.locator('.turn[data-marked]').count(), 1);
    await turn.locator('.ticks').waitFor();
    await turn.getByText('Alma Reyes').waitFor();
    // Only once, and after its question.
    assert.equal(await page.getByText('In boxes and in bags.').count(), 1);
    const froms = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.conversation-log .turn')].map(({ dataset }) => dataset.from)`,
    );
    assert.deepEqual(froms, ['customer', 'customer', 'merchant']);
    const delivery = page.locator('.sent-answer details', { hasText: 'Delivery' });
    await delivery.getByText('Delivery: Delivered').click();
    await delivery.locator('.steps li').first().waitFor();
    await page.locator('.sent-answer .learned').waitFor();
    await animationsFinished(page);
    assert.deepEqual((await new AxeBuilder({ page }).analyze()).violations, []);
    await window.close();
  });

  it('that can be undone is a turn, too, with the time that is left and the way back below it', async () => {
    const asked = await ask();
    await answer(asked, { answer: 'Held for now.', undo_seconds: 60 });
    const window = await open(asked);
    const { page } = window;
    await page.locator('.turn[data-answer]', { hasText: 'Held for now.' }).waitFor();
    const held = page.locator('.sent-answer .held-answer', { hasText: 'Will be sent in' });
    await held.getByRole('button', { name: 'Undo', exact: true }).click();
    await answerField(page).waitFor();
    await becomes(() => answerField(page).inputValue(), 'Held for now.');
    await turns(page, 'Held for now.').waitFor({ state: 'detached' });
    await window.close();
  });

  it('quotes the customer’s message that I choose, also after an undo', async () => {
    const asked = await ask();
    await setUndoSeconds(60);
    const window = await open(asked);
    const { page } = window;
    await quote(page, asked.quoted);
    const quoted = page.locator('.answer .composer-quote', { hasText: asked.quoted });
    await quoted.waitFor();
    await answerField(page).fill('All of it is.');
    await button(page, 'Send answer').click();
    await page.locator('.toast-undo').first().click();
    await quoted.waitFor();
    await becomes(() => answerField(page).inputValue(), 'All of it is.');
    await setUndoSeconds(0);
    await page.reload();
    await quote(page, asked.quoted);
    await button(page, 'Send answer').click();
    await readAnswered(asked.notification);
    assert.deepEqual(await sent(asked), [['All of it is.', asked.quoted]]);
    await setUndoSeconds(5);
    await window.close();
  });

  it('quotes nothing if I remove the quote', async () => {
    const asked = await ask();
    await setUndoSeconds(0);
    const window = await open(asked);
    const { page } = window;
    await quote(page, asked.quoted);
    await button(page, 'Remove the quote').click();
    await answerField(page).fill('We have.');
    await button(page, 'Send answer').click();
    await readAnswered(asked.notification);
    const [row] = await dashboard.deskbell.database.all<{ reply_to: number | null }>(
      'select reply_to from deliveries where conversation_id = $1',
      [asked.id],
    );
    assert.equal(row!.reply_to, null);
    await setUndoSeconds(5);
    await window.close();
  });

  it('is followed by a message that is sent once, although the first response is lost and I try again', async () => {
    const asked = await ask();
    await answer(asked, { answer: 'In boxes.' });
    const window = await open(asked, { expectedErrors: LOST });
    const { page } = window;
    const keys = await loseResponse(page, /\/conversation\/\d+\/send$/);
    await writing(page, asked).fill('And in bags.');
    await button(page, 'Send').click();
    await page.locator('.composer [role="alert"]').waitFor();
    assert.equal(await writing(page, asked).inputValue(), 'And in bags.');
    // Also after a reload.
    await page.reload();
    await writing(page, asked).waitFor();
    await button(page, 'Send').click();
    // The first request has stored it: it may be shown before the second one.
    await becomes(() => writing(page, asked).inputValue(), '');
    await turns(page, 'And in bags.').waitFor();
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    // Another message has another key.
    await writing(page, asked).fill('And loose.');
    await button(page, 'Send').click();
    await turns(page, 'And loose.').waitFor();
    assert.notEqual(keys[2], keys[0]);
    assert.deepEqual(
      (await sent(asked)).map(([text]) => text),
      ['In boxes.', 'And in bags.', 'And loose.'],
    );
    await window.close();
  });

  it('of somebody else is followed by my text once, although the first response is lost', async () => {
    const asked = await ask();
    const window = await open(asked, { expectedErrors: LOST });
    const { page } = window;
    await answerField(page).fill('In bags, too.');
    await answer(asked, { answer: 'In boxes.' });
    const keys = await loseResponse(page, /\/conversation\/\d+\/send$/);
    await button(page, 'Send as a follow-up').click();
    await button(page, 'Send as a follow-up').click();
    await sentAnswer(page).waitFor();
    assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
    assert.deepEqual(
      (await sent(asked)).map(([text]) => text),
      ['In boxes.', 'In bags, too.'],
    );
    await window.close();
  });

  it('on a phone with its keyboard open, keeps the field and Send in sight, and the time left is counted in colour', async () => {
    const asked = await ask();
    await answer(asked, { answer: 'In boxes.' });
    // It can be answered for nine and a half minutes.
    await dashboard.deskbell.database.run(
      `insert into simulator_messages (merchant_id, phone, from_customer, content, at) values (1, $1, 1, 'Hello', $2)`,
      [asked.phone, ago(24 * 60 - 9.5)],
    );
    const window = await open(asked, { viewport: { width: 390, height: 844 }, hasTouch: true });
    const { page } = window;
    const notice = page.locator('.window-notice[data-state="urgent"]');
    const text = (await notice.textContent())!;
    assert.match(text, /^You can write to .* for \d:\d\d\./);
    await until('the notice is in sight', async () => {
      const box = await notice.boundingBox();
      return box !== null && box.y > 0 && box.y < 600;
    });
    await page.locator('.window-notice', { hasNotText: text }).waitFor();
    await page.setViewportSize({ width: 390, height: 420 });
    await writing(page, asked).tap();
    await writing(page, asked).fill('One.\nTwo.\nThree.');
    await until('the field, Send and what was said last are in sight', async () => {
      const boxOf = async (one: Locator) => (await one.boundingBox())!;
      const [field, send] = [await boxOf(writing(page, asked)), await boxOf(page.locator('.composer-send'))];
      const last = await boxOf(page.locator('.conversation-log .turn').last());
      const isInSight = ({ y, height }: typeof field) => y >= 0 && y + height <= 420;
      const end = last.y + last.height;
      return isInSight(field) && isInSight(send) && end > 0 && end <= field.y;
    });
    await window.close();
  });
});
