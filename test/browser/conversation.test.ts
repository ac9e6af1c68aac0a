import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Turn } from '../../src/contract/timeline.ts';
import { until } from '../support/shops.ts';
import { assertAccessible } from './axe.ts';
import { inBrowser, inBrowserOn, MOVED_CLOCK, stopClock } from './browser.ts';
import { answerField, becomes, button, rowOf, waitUntilLive } from './page.ts';

/** Of the page. */
const LOG = "document.querySelector('.conversation-log')";

inBrowserOn(MOVED_CLOCK, 'a question in its conversation', (shop) => {
  let conversations = 0;
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const messages = (count: number, times = 1) =>
    Array.from({ length: count }, (_, n) => ({
      ...{ from: n % 2 === 0 ? 'customer' : 'assistant', text: `Message ${n}. `.repeat(times).trim() },
      at: ago(200 - n),
    }));
  const DEFAULT = [{ from: 'customer', text: 'And is it organic?', at: ago(60 * 24 * 2) }];
  const release = stopClock(shop, 0);

  /** A new customer who asks something, with what was said before. */
  async function ask({ before = DEFAULT as object[], phone = '' } = {}) {
    const letter = 'abcdefghijklmnopqrstuvwxyz'[conversations]!;
    conversations += 1;
    const name = `Ana ${letter}`;
    const id = await shop.converse({ customer_name: name });
    await shop.post(`/conversation/${id}/messages`, { messages: before });
    const text = `Do you have ${letter}nise tea?`;
    const context = { question: text, ...(phone && { lead_phone: phone }) };
    return { id, name, text, notification: await shop.raise({ conversation_id: id, context }) };
  }
  type Asked = Awaited<ReturnType<typeof ask>>;
  const open = ({ notification }: Asked, options = {}) =>
    shop.open({ path: `/inbox/${notification}`, ...options });
  const turns = (page: Page, hasText = '') => page.locator('.conversation-log .turn', { hasText });
  const writing = (page: Page, { name }: Asked) => page.getByRole('textbox', { name: `Write to ${name}` });
  const quote = (page: Page, text: string) => page.getByRole('button', { name: `Quote “${text}”` }).click();
  /** What the shop has written, and what it quotes. */
  const sent = async ({ id }: Asked) =>
    ((await shop.get(`/conversation/${id}/timeline`)).json.items as Turn[])
      .filter(({ from }) => from === 'merchant')
      .map(({ text, reply_to }) => [text, reply_to?.text]);

  it('stands marked among what was said, with the days, its answer after it, and what the customer writes now', async () => {
    const [day] = ago(60 * 24 * 3).split('T');
    const asked = await ask({
      before: [
        { from: 'customer', text: 'Hello there', at: `${day}T12:00:00.000Z` },
        { from: 'assistant', text: 'How can I help?', at: `${day}T12:01:00.000Z` },
      ],
    });
    const { page } = await open(asked);
    await page.getByText('How can I help?').waitFor();
    const questions = page.locator('.turn[data-from="customer"] .question-text');
    assert.deepEqual(await questions.allTextContents(), [asked.text]);
    assert.equal(await page.locator('.turn[data-marked]').count(), 1);
    assert.equal(await page.locator('.conversation-day').count(), 2);
    assert.equal(await page.locator('.conversation-day').last().textContent(), 'today');
    // Live: the customer writes.
    await waitUntilLive(page);
    await shop.post(`/simulator/${asked.id}`, { text: 'Hello again, are you open?' });
    await turns(page, 'Hello again, are you open?').waitFor();

    await shop.answer(asked.notification, 'In boxes and in bags.');
    await shop.deskbell.allSent();
    const turn = page.locator('.turn[data-answer]');
    await turn.getByText('In boxes and in bags.').waitFor();
    await turn.locator('.ticks').waitFor();
    await turn.getByText('Alma Reyes').waitFor();
    assert.equal(await page.getByText('In boxes and in bags.').count(), 1);
    const delivery = page.locator('.sent-answer details', { hasText: 'Delivery' });
    await delivery.getByText('Delivery: Delivered').click();
    await delivery.locator('.steps li').first().waitFor();
  });

  it('loads what was said earlier when I scroll up, stays where I read, and scrolls in its pane', async () => {
    const asked = await ask({ before: messages(80) });
    const { page } = await open(asked);
    await turns(page).nth(10).waitFor();
    await page.locator('.turn[data-marked]').waitFor();
    const hidden = (element: string) =>
      page.evaluate<number>(`${element}.scrollHeight - ${element}.clientHeight`);
    await until('the conversation is long', async () => (await hidden(LOG)) > 0);
    await becomes(() => hidden('document.scrollingElement'), 0);
    const loaded = await turns(page).count();
    assert.ok(loaded < 60, `${loaded}`);
    await page.evaluate(`${LOG}.scrollTop = 0`);
    await page.getByText('Message 0.', { exact: true }).waitFor();
    assert.equal(await turns(page).count(), 81);
    assert.ok((await page.evaluate<number>(`${LOG}.scrollTop`)) > 100, 'it has not jumped to the top');
  });

  it('is answered with a quote that I choose, also after an undo', async () => {
    const asked = await ask();
    await shop.setUndoSeconds(60);
    const { page } = await open(asked, { fresh: true });
    const text = 'And is it organic?';
    const quoted = page.locator('.answer .composer-quote', { hasText: text });
    await quote(page, text);
    await quoted.waitFor();
    await answerField(page).fill('All of it is.');
    await button(page, 'Send answer').click();
    await page.locator('.toast-undo').first().click();
    await quoted.waitFor();
    await becomes(() => answerField(page).inputValue(), 'All of it is.');
    await button(page, 'Send answer').click();
    await shop.readAnswered(asked.notification);
    await release(asked.notification);
    assert.deepEqual(await sent(asked), [['All of it is.', text]]);

    await shop.setUndoSeconds(0);
  });

  it('is followed by a message that quotes the customer, can be undone, and is sent', async () => {
    const asked = await ask();
    await shop.answer(asked.notification, 'We have it in boxes.');
    await shop.setUndoSeconds(60);
    const { page } = await open(asked, { fresh: true });
    const composerQuote = page.locator('.composer-quote', { hasText: 'And is it organic?' });
    const sentTurn = turns(page, 'It is, from Spain.');
    await quote(page, 'And is it organic?');
    await composerQuote.waitFor();
    await writing(page, asked).fill('It is, from Spain.');
    await page.keyboard.press('Control+Enter');
    await sentTurn.waitFor();
    await becomes(() => writing(page, asked).inputValue(), '');
    await page.locator('.toast-undo').click();
    await page.getByText('Taken back. Nothing was sent.').waitFor();
    await sentTurn.waitFor({ state: 'detached' });
    await becomes(() => writing(page, asked).inputValue(), 'It is, from Spain.');
    await composerQuote.waitFor();
    await button(page, 'Send').click();
    await sentTurn.locator('.turn-quote', { hasText: 'And is it organic?' }).waitFor();
    assert.deepEqual((await sent(asked)).at(-1), ['It is, from Spain.', 'And is it organic?']);
    shop.deskbell.clock.jump(61);
    await sentTurn.locator('.ticks').waitFor();
    await shop.setUndoSeconds(0);
  });

  it('is followed by a message that is sent once, although the first response is lost and I try again', async () => {
    const asked = await ask();
    await shop.answer(asked.notification, 'In boxes.');
    const { page } = await open(asked, { fresh: true, expectedErrors: /ERR_FAILED|Failed to load resource/ });
    const keys: string[] = [];
    await page.route(/\/conversation\/\d+\/send$/, async (route) => {
      keys.push(route.request().headers()['idempotency-key'] ?? '');
      const response = await route.fetch();
      await (keys.length === 1 ? route.abort() : route.fulfill({ response }));
    });
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
    const texts = (await sent(asked)).map(([text]) => text);
    assert.deepEqual(texts, ['In boxes.', 'And in bags.']);
  });

  it('can be written about without answering it, with a saved reply', async () => {
    const asked = await ask();
    const { page } = await open(asked);
    await button(page, 'Write without answering').click();
    const composer = page.locator('.composer');
    await writing(page, asked).fill('One moment. ');
    // It closes again, and loses nothing.
    await button(page, 'Back to the answer').click();
    await composer.waitFor({ state: 'detached' });
    await page.locator('.write-instead:focus').waitFor();
    await page.keyboard.press('Enter');
    await becomes(() => writing(page, asked).inputValue(), 'One moment. ');
    await composer.getByRole('button', { name: 'Saved replies' }).click();
    await button(page, 'New saved reply').click();
    const dialog = page.getByRole('dialog', { name: 'Saved replies' });
    await dialog.getByLabel('Title').fill('Promise');
    await dialog.getByLabel('Text', { exact: true }).fill('I will look, {{name}}!');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await assertAccessible(page);
    await page.getByRole('button', { name: /^Promise/ }).click();
    const written = `One moment. I will look, ${asked.name}!`;
    await becomes(() => writing(page, asked).inputValue(), written);
    await composer.getByRole('button', { name: 'Emoji' }).click();
    await page.locator('.emoji-grid button').first().waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    // A draft survives a reload.
    await page.reload();
    await writing(page, asked).waitFor();
    await composer.getByRole('button', { name: /^Send/ }).last().click();
    await turns(page, 'One moment.').waitFor();
    await answerField(page).waitFor();

    // A person takes the conversation over. A colleague hands it back elsewhere: it is shown at once.
    await button(page, 'Take over').click();
    await page.getByText(/^Alma Reyes took over .+ The assistant is silent\.$/).waitFor();
    const { taken_over } = (await shop.get(`/conversation/${asked.id}`)).json;
    assert.equal(taken_over.by, 'Alma Reyes');
    await waitUntilLive(page);
    await shop.delete(`/conversation/${asked.id}/takeover`);
    await button(page, 'Take over').waitFor();
  });

  it('offers no message to the conversation’s customer if somebody else asked', async () => {
    const asked = await ask({ phone: '+34655112233' });
    await shop.answer(asked.notification, 'We have it in boxes.');
    const { page } = await open(asked);
    await page.getByText(/This question came from \+34655112233/).waitFor();
    assert.equal(await writing(page, asked).count(), 0);
  });

  it('keeps the field and Send in sight on a phone with its keyboard open', async () => {
    const asked = await ask({ before: messages(20, 8) });
    const { page } = await open(asked, { viewport: { width: 390, height: 844 } });
    await turns(page).nth(5).waitFor();
    for (const height of [844, 430]) {
      await page.setViewportSize({ width: 390, height });
      // As a phone does when its keyboard opens.
      await answerField(page).blur();
      await answerField(page).focus();
      await until(`Send is in the ${height} that are left, below the field`, async () => {
        const box = (await button(page, 'Send answer').boundingBox())!;
        const field = (await answerField(page).boundingBox())!;
        return field.y >= 0 && field.y < box.y && box.y + box.height <= height;
      });
    }
  });
});

inBrowser('erasing a customer', (shop) => {
  it('needs the name to be typed, says what stays, and is offered only to owners', async () => {
    const conversation_id = await shop.converse({ customer_name: 'Marta Gil' });
    const id = await shop.raise({ conversation_id, context: { question: 'Do you repair old clocks?' } });
    const theirs = await shop.open({ path: `/inbox/${id}`, user: await shop.colleague() });
    await theirs.page.getByRole('heading', { name: 'Marta Gil' }).waitFor();
    assert.equal(await theirs.page.getByText('Erase this customer…').count(), 0);
    await theirs.close();

    const { page } = await shop.open({ path: `/inbox/${id}`, expectedErrors: /404/ });
    await page.getByText('More details').click();
    await page.getByRole('button', { name: 'Erase this customer…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Erase Marta Gil?' });
    await dialog.getByText('This cannot be undone.').waitFor();
    const erase = dialog.getByRole('button', { name: 'Erase for good', exact: true });
    await dialog.getByRole('textbox').fill('Marta');
    assert.equal(await erase.isDisabled(), true);
    await assertAccessible(page);
    await dialog.getByRole('textbox').fill('Marta Gil');
    await erase.click();
    await page.locator('.toast', { hasText: 'The customer is being erased.' }).waitFor();
    assert.equal((await shop.get(`/conversation/${conversation_id}`)).status, 404);
    await rowOf(page, id).waitFor({ state: 'detached' });
  });
});
