import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/shops.ts';

/** What people do on a page of the dashboard, and where things are there. */

/** Long, because other programs may use the machine, too. */
export const TIMEOUT_MS = 60_000;

/** Navigates within the app, as its links do. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);
}

export const pathOf = (page: Page) => new URL(page.url()).pathname;

/** The list row of a notification. */
export const rowOf = (page: Page, id: number | string) => page.locator(`[data-notification="${id}"]`);

/** Selects rows of the list. */
export async function select(page: Page, ...ids: number[]): Promise<void> {
  for (const id of ids) await page.locator(`#select-${id}`).check({ force: true });
}

export const waitUntilLive = (page: Page) => page.locator('.connection[data-state="live"]').waitFor();

/** Shortcuts work only after Escape or a click outside a field, and not right after typing. */
export async function turnOnShortcuts(page: Page): Promise<void> {
  if (!(await page.evaluate<boolean>("'keys' in document.documentElement.dataset")))
    await page.keyboard.press('Escape');
  await shortcutsWork(page);
}

export const shortcutsWork = (page: Page) => page.locator('html[data-keys="on"]').waitFor();

/** Types until a colleague sees it: who pauses is soon no longer shown as writing. */
export const typeUntilSeen = (field: Locator, notice: Locator) =>
  until('a colleague sees it', async () => {
    await field.pressSequentially('a');
    return notice.isVisible();
  });

/** For what the page shows a moment later. Fails with what it shows at the end. */
export async function becomes<T>(read: () => Promise<T>, expected: T): Promise<void> {
  let last = await read();
  for (const giveUpAt = Date.now() + TIMEOUT_MS; Date.now() < giveUpAt; last = await read()) {
    if (isDeepStrictEqual(last, expected)) return;
    await sleep(20);
  }
  assert.deepEqual(last, expected);
}

/** A button by the start of its name, which may also contain a key hint. */
export const button = (page: Page, name: string) =>
  page.getByRole('button', { name: new RegExp(`^${name}`) });

export const heading = (page: Page, name: string) => page.getByRole('heading', { name });

/** The field with what the customer gets. */
export const answerField = (page: Page) =>
  page.getByRole('textbox', { name: /^(.+ gets|Each customer gets)\b/ });

/** The message after an answer was sent. It has the button to undo it. */
export const sentToast = (page: Page) => page.locator('.toast', { hasText: /^Sent to / });

/** Opens a section of the settings, by default the account. */
export async function openSettings(page: Page, section?: string): Promise<void> {
  await page.locator('.nav a[href^="/settings"]').click();
  await page.locator('.settings-nav').waitFor();
  if (section !== undefined)
    await page.locator('.settings-nav').getByRole('link', { name: section, exact: true }).click();
}

/** The heading above an answer that was sent. */
export const sentAnswer = (page: Page) => page.getByRole('heading', { name: /^Answer\b/ });

/** The text or, for a field, the name of the focused element. */
export const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.name || document.activeElement.textContent.trim()');

/** Whether the middle of an element is on the screen, and nothing covers it. */
export const isInSight = (element: Locator): Promise<boolean> =>
  element.evaluate((one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    const hit = one.ownerDocument.elementFromPoint(x + width / 2, y + height / 2);
    return hit !== null && one.contains(hit);
  });

/** The paths of the API from now on that change notifications or their messages. */
export function changesOf(page: Page): string[] {
  const paths: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== 'GET' && /\/(notification|attention)\/(?!\d+\/presence)/.test(pathname))
      paths.push(pathname);
  });
  return paths;
}

/** The server performs the request, and its response waits for this. */
export const holdResponse = (page: Page, path: string, work: () => Promise<unknown>) =>
  page.route(path, async (route) => {
    const response = await route.fetch();
    await work();
    await route.fulfill({ response });
  });

interface Press {
  key: string;
  ctrl?: boolean;
  /** Milliseconds after now. */
  at?: number;
}

/** Presses keys at these times, without waiting for the page in between, as somebody who types fast on a slow machine. */
export async function pressAll(page: Page, presses: readonly Press[]): Promise<void> {
  const devTools = await page.context().newCDPSession(page);
  const now = Date.now();
  const sent = presses.flatMap(({ key, ctrl, at = 0 }) => {
    const code = /^[a-z]$/.test(key) ? `Key${key.toUpperCase()}` : key;
    const text = key.length === 1 && !ctrl ? { text: key } : {};
    const press = { key, code, modifiers: ctrl ? 2 : 0, timestamp: (now + at) / 1000 };
    return [
      devTools.send('Input.dispatchKeyEvent', { type: 'keyDown', ...press, ...text }),
      devTools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...press }),
    ];
  });
  await Promise.all(sent);
  await devTools.detach();
}

/** A button that asks ignores an earlier click: see settings/security/ConfirmButton.tsx and settings/parts/AskButton.tsx. */
export const CONFIRM_AFTER_MS = 600;

/** Clicks so many milliseconds after now, by the time of the event: nobody waits, and a slow machine changes nothing. */
export async function clickAt(target: Locator, ...times: number[]): Promise<void> {
  // Scrolls to it, and checks that nothing covers it.
  await target.click({ trial: true });
  const { x, y, width, height } = (await target.boundingBox())!;
  // It stays open: to detach it would remove the virtual authenticators of the page.
  const devTools = await target.page().context().newCDPSession(target.page());
  const now = Date.now();
  for (const [index, at] of times.entries()) {
    for (const type of ['mousePressed', 'mouseReleased'] as const)
      await devTools.send('Input.dispatchMouseEvent', {
        ...{ type, x: x + width / 2, y: y + height / 2, button: 'left', clickCount: index + 1 },
        timestamp: (now + at) / 1000,
      });
  }
}
