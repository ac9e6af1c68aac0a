import assert from 'node:assert/strict';
import { it } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { until } from '../support/shops.ts';
import { answerField, apiOf, becomes, button, inBrowser, sentAnswer, waitUntilLive } from './browser.ts';
import { animationsFinished } from './pages.ts';

/** Of the page. */
const LOG = "document.querySelector('.conversation-log')";
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

inBrowser('a question in its conversation', (dashboard) => {
  const { api, setUndoSeconds } = apiOf(dashboard);
  let conversations = 0;
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

  /** A new customer who asks something, with what was said before. */
  async function ask({ before = [] as object[], phone = '' } = {}) {
    conversations += 1;
    const name = `Ana ${LETTERS[conversations]}`;
    const customer_phone = `+3464444${String(1000 + conversations)}`;
    const created = await api('POST', '/api/v1/conversation/', {
      ...{ reference: `browser-${conversations}`, customer_name: name, customer_phone },
    });
    const id: number = created.json.id;
    if (before.length > 0) await api('POST', `/api/v1/conversation/${id}/messages`, { messages: before });
    const text = `Do you have ${LETTERS[conversations]}nise tea?`;
    const context = { question: text, ...(phone && { lead_phone: phone }) };
    const raised = await api('POST', '/api/v1/notification/request', {
      ...{ notification_type: 'user_question_request', conversation_id: id, context },
    });
    const notification: string = raised.headers.get('location')!.split('/').at(-1)!;
    return { id, name, text, notification };
  }
  const turns = (page: Page) => page.locator('.conversation-log .turn');
  const writing = (page: Page, name: string) => page.getByRole('textbox', { name: `Write to ${name}` });
  const timeline = async (id: number) =>
    (await api('GET', `/api/v1/conversation/${id}/timeline`)).json.items as {
      text: string;
      reply_to: { text: string } | null;
    }[];

  it('stands marked among what was said, with the days, and shows at once what the customer writes', async () => {
    const [day] = ago(60 * 24 * 3).split('T');
    const asked = await ask({
      before: [
        { from: 'customer', text: 'Hello there', at: `${day}T12:00:00.000Z` },
        { from: 'assistant', text: 'How can I help?', at: `${day}T12:01:00.000Z` },
      ],
    });
    const window = await dashboard.open({ path: `/inbox/${asked.notification}` });
    const { page } = window;
    await page.getByText('How can I help?').waitFor();
    assert.deepEqual(await page.locator('.turn[data-from="customer"] .question-text').allTextContents(), [
      asked.text,
    ]);
    assert.equal(await page.locator('.turn[data-marked]').count(), 1);
    assert.equal(await page.locator('.conversation-day').count(), 2);
    assert.equal(await page.locator('.conversation-day').last().textContent(), 'today');
    await animationsFinished(page);
    assert.deepEqual((await new AxeBuilder({ page }).analyze()).violations, []);
    // Live: the customer writes.
    await waitUntilLive(page);
    await api('POST', `/api/v1/simulator/${asked.id}`, { text: 'Hello again, are you open?' });
    await page.locator('.turn', { hasText: 'Hello again, are you open?' }).waitFor();
    await window.close();
  });

  it('loads what was said earlier when the user scrolls up, and stays where the user reads', async () => {
    const before = Array.from({ length: 80 }, (_, n) => ({
      ...{ from: n % 2 === 0 ? 'customer' : 'assistant', text: `Message ${n}.`, at: ago(200 - n) },
    }));
    const asked = await ask({ before });
    const window = await dashboard.open({ path: `/inbox/${asked.notification}` });
    const { page } = window;
    await turns(page).nth(10).waitFor();
    const loaded = await turns(page).count();
    assert.ok(loaded < 60, `${loaded}`);
    await page.locator('.turn[data-marked]').waitFor();
    const first = await turns(page).first().textContent();
    await page.evaluate(`${LOG}.scrollTop = 0`);
    await page.getByText('Message 0.', { exact: true }).waitFor();
    assert.equal(await turns(page).count(), 81);
    assert.ok((await page.evaluate<number>(`${LOG}.scrollTop`)) > 100, 'it has not jumped to the top');
    assert.notEqual(await turns(page).first().textContent(), first);
    await window.close();
  });

  for (const [width, height] of [
    [1400, 900],
    [1100, 800],
    [390, 844],
  ] as const) {
    it(`scrolls inside its pane, and the page stays where it is, at ${width} pixels`, async () => {
      const before = Array.from({ length: 40 }, (_, n) => ({
        ...{ from: n % 2 === 0 ? 'customer' : 'assistant', text: `Message ${n}.`, at: ago(200 - n) },
      }));
      const asked = await ask({ before });
      const viewport = { width, height };
      const window = await dashboard.open({ path: `/inbox/${asked.notification}`, viewport });
      const { page } = window;
      await turns(page).nth(10).waitFor();
      await page.locator('.turn[data-marked]').waitFor();
      const hidden = (element: string) =>
        page.evaluate<number>(`${element}.scrollHeight - ${element}.clientHeight`);
      assert.ok((await hidden(LOG)) > 0, 'the conversation is long');
      assert.equal(await hidden('document.scrollingElement'), 0);
      assert.equal(await hidden("document.querySelector('.content')"), 0);
      await window.close();
    });
  }

  it('is followed by a message that quotes the customer, can be undone, and is sent', async () => {
    const asked = await ask({ before: [{ from: 'customer', text: 'And is it organic?', at: ago(30) }] });
    await setUndoSeconds(60);
    await api('POST', `/api/v1/notification/${asked.notification}/answer`, {
      answer: 'We have it in boxes.',
    });
    const window = await dashboard.open({ path: `/inbox/${asked.notification}` });
    const { page } = window;
    await page.getByRole('button', { name: 'Quote “And is it organic?”' }).click();
    await page.locator('.composer-quote', { hasText: 'And is it organic?' }).waitFor();
    await writing(page, asked.name).fill('It is, from Spain.');
    await page.keyboard.press('Control+Enter');
    await page.locator('.turn', { hasText: 'It is, from Spain.' }).waitFor();
    await becomes(() => writing(page, asked.name).inputValue(), '');
    await page.locator('.toast-undo').click();
    await page.getByText('Taken back. Nothing was sent.').waitFor();
    await page.locator('.turn', { hasText: 'It is, from Spain.' }).waitFor({ state: 'detached' });
    await becomes(() => writing(page, asked.name).inputValue(), 'It is, from Spain.');
    await page.locator('.composer-quote', { hasText: 'And is it organic?' }).waitFor();
    await button(page, 'Send').click();
    const sent = page.locator('.turn', { hasText: 'It is, from Spain.' });
    await sent.locator('.turn-quote', { hasText: 'And is it organic?' }).waitFor();
    const stored = (await timeline(asked.id)).filter(({ text }) => text === 'It is, from Spain.');
    assert.deepEqual(
      stored.map(({ reply_to }) => reply_to?.text),
      ['And is it organic?'],
    );
    dashboard.deskbell.clock.jump(61);
    await sent.locator('.ticks').waitFor();
    await setUndoSeconds(5);
    await window.close();
  });

  it('can be written about without answering it, with a saved reply and an emoji, by keyboard', async () => {
    const asked = await ask();
    const window = await dashboard.open({ path: `/inbox/${asked.notification}` });
    const { page } = window;
    await button(page, 'Write without answering').click();
    const composer = page.locator('.composer');
    await writing(page, asked.name).fill('One moment. ');
    // It closes again, and loses nothing.
    await button(page, 'Back to the answer').click();
    await composer.waitFor({ state: 'detached' });
    await page.locator('.write-instead:focus').waitFor();
    await page.keyboard.press('Enter');
    await becomes(() => writing(page, asked.name).inputValue(), 'One moment. ');
    await composer.getByRole('button', { name: 'Saved replies' }).click();
    await button(page, 'New saved reply').click();
    const dialog = page.getByRole('dialog', { name: 'Saved replies' });
    await dialog.getByLabel('Title').fill('Promise');
    await dialog.getByLabel('Text', { exact: true }).fill('I will look, {{name}}!');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: /^Promise/ }).click();
    await becomes(() => writing(page, asked.name).inputValue(), `One moment. I will look, ${asked.name}!`);
    await composer.getByRole('button', { name: 'Emoji' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.emoji-grid button').first().waitFor();
    await page.locator('.emoji-grid button:focus').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await becomes(() => writing(page, asked.name).inputValue(), `One moment. I will look, ${asked.name}!😊`);
    // A draft survives a reload.
    await page.reload();
    await writing(page, asked.name).waitFor();
    await button(page, 'Send$')
      .or(composer.getByRole('button', { name: /^Send/ }))
      .last()
      .click();
    await page.locator('.turn', { hasText: 'One moment.' }).waitFor();
    await answerField(page).waitFor();
    await window.close();
  });

  it('shows who speaks: a person takes the conversation over and hands it back', async () => {
    const asked = await ask();
    const window = await dashboard.open({ path: `/inbox/${asked.notification}` });
    const { page } = window;
    await button(page, 'Take over').click();
    await page.getByText('Alma Reyes took over now. The assistant is silent.').waitFor();
    const { taken_over } = (await api('GET', `/api/v1/conversation/${asked.id}`)).json;
    assert.equal(taken_over.by, 'Alma Reyes');
    // Handed back by a colleague elsewhere: it is shown at once.
    await waitUntilLive(page);
    await api('DELETE', `/api/v1/conversation/${asked.id}/takeover`);
    await button(page, 'Take over').waitFor();
    await window.close();
  });

  it('offers no message to the conversation’s customer if somebody else asked', async () => {
    const asked = await ask({ phone: '+34655112233' });
    await api('POST', `/api/v1/notification/${asked.notification}/answer`, {
      answer: 'We have it in boxes.',
    });
    const window = await dashboard.open({ path: `/inbox/${asked.notification}` });
    const { page } = window;
    await page.getByText(/This question came from \+34655112233/).waitFor();
    assert.equal(await writing(page, asked.name).count(), 0);
    await window.close();
  });

  it('takes my text as a follow-up, if somebody else answers while I write', async () => {
    const asked = await ask();
    const window = await dashboard.open({ path: `/inbox/${asked.notification}` });
    const { page } = window;
    await waitUntilLive(page);
    await answerField(page).fill('And in bags.');
    await api('POST', `/api/v1/notification/${asked.notification}/answer`, {
      answer: 'We have it in boxes.',
    });
    await button(page, 'Send as a follow-up').click();
    await page.locator('.turn[data-from="merchant"]', { hasText: 'And in bags.' }).waitFor();
    await sentAnswer(page).waitFor();
    assert.deepEqual(
      (await timeline(asked.id)).map(({ text }) => text),
      [asked.text, 'We have it in boxes.', 'And in bags.'],
    );
    await window.close();
  });

  it('keeps Send in sight on a phone, also when little room is left above the keyboard', async () => {
    const before = Array.from({ length: 20 }, (_, n) => ({
      ...{ from: n % 2 === 0 ? 'customer' : 'assistant', text: `Message ${n}. `.repeat(8), at: ago(200 - n) },
    }));
    const asked = await ask({ before });
    const window = await dashboard.open({
      ...{ path: `/inbox/${asked.notification}`, viewport: { width: 390, height: 844 } },
    });
    const { page } = window;
    await turns(page).nth(5).waitFor();
    for (const height of [844, 430]) {
      await page.setViewportSize({ width: 390, height });
      // As a phone does when its keyboard opens.
      await answerField(page).blur();
      await answerField(page).focus();
      const [send, field] = [button(page, 'Send answer'), answerField(page)];
      await until(`Send is in the ${height} that are left, below the field`, async () => {
        const box = (await send.boundingBox())!;
        const { y } = (await field.boundingBox())!;
        return box.y >= 0 && box.y + box.height <= height && y < box.y;
      });
    }
    assert.equal(
      await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
      true,
      'nothing is wider than the screen',
    );
    await window.close();
  });
});
