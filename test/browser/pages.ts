import type { Page } from 'playwright-core';
import { answer, ask } from '../support/inbox.ts';
import { QUESTION, raise } from '../support/server.ts';
import type { Dashboard } from './browser.ts';

/** Every page of the dashboard, and what it shows when it is complete, in any language. */
export const PAGES: [name: string, path: string, content: string][] = [
  ['the inbox', '/', '[data-notification="9"]'],
  ['what needs attention', '/inbox?tab=attention', '.attention-actions >> nth=0'],
  ['a search without results', '/inbox?tab=all&q=zzzqq', '.inbox-list .empty'],
  ['a question', '/inbox/9', '[data-answer] textarea >> nth=0'],
  ['a support request', '/inbox/8', '[data-answer] textarea >> nth=1'],
  ['customers who ask the same', '/inbox/10', '.group-members'],
  ['an answered question', '/inbox/1', '.sent-answer'],
  ['the knowledge base', '/knowledge', '.document-row >> nth=0'],
  ['a document', '/knowledge/1', '.versions'],
  ['what no document answers', '/knowledge?show=gaps', '.gap >> nth=0'],
  ['documents that are out of date', '/knowledge?show=stale', '.inbox-list .empty'],
  ['changes to the documents', '/knowledge?show=changes', '.document-row >> nth=0'],
  ['a new document', '/knowledge?new=1', '.document textarea'],
  ['the overview', '/overview', '.bars-weeks >> nth=0'],
  ['an unknown address', '/nowhere', '.empty'],
  ['the test phone', '/test-phone/1', '.phone'],
  ['the shop', '/settings/shop', '.settings-content textarea'],
  ['the connection', '/settings/connection', '.settings-content input >> nth=2'],
  ['the team', '/settings/team', '[data-member] >> nth=0'],
  ['the account', '/settings/account', '.settings-actions'],
  ['the assistant', '/settings/assistant', '.settings-content fieldset'],
  ['the developer tools', '/settings/developer', '.settings-content input >> nth=0'],
  ['the data', '/settings/data', '.settings-block'],
];

/** What the pages need and the demo data does not have: three customers with one question, and a message that failed. */
export async function prepare({ deskbell }: Dashboard): Promise<void> {
  const token = await deskbell.signIn();
  const question = 'Do you roast on Mondays?';
  for (const conversation_id of [1, 2, 3])
    await raise(deskbell, token, { ...QUESTION, conversation_id, context: { question } });
  const id = await ask(deskbell, token, 'Can you call me back?', { lead_phone: 'call me' });
  await answer(deskbell, token, id, { answer: 'Yes, today at five.' });
  await deskbell.allSent();
}

/** Navigates within the app, which is faster than loading the page again. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);
}

/** A color that changes smoothly is inherited, so the end of one transition can start the next one. */
export const animationsFinished = (page: Page) =>
  page.evaluate(`(async () => {
    for (;;) {
      const running = document.getAnimations().filter(({ playState }) => playState === 'running');
      if (running.length === 0) return;
      await Promise.all(running.map(({ finished }) => finished.catch(() => {})));
    }
  })()`);
