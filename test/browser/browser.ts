import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { findProgram } from '../../scripts/services.ts';
import type { Engine } from '../../src/database/database.ts';
import { engines } from '../support/databases.ts';
import { root } from '../support/process.ts';
import { AURORA, type Deskbell, QUESTION, raise, startDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

/** The dashboard in a real browser. */
export interface Dashboard {
  /** All suites of a file that use the same engine share one server. */
  deskbell: Deskbell;
  /** Opens a separate browser profile without data. Windows that are open share nothing but the server. */
  open(options?: WindowOptions): Promise<Window>;
}

interface WindowOptions extends BrowserContextOptions {
  /** The first page. Default: the inbox. */
  path?: string;
  /** The signed-in user. Default: Aurora's owner. */
  user?: { email: string; password: string } | 'nobody';
  /** The language that the user chose before. Default: none, so the browser decides. */
  language?: string;
  /** Browser errors that this test expects. */
  expectedErrors?: RegExp;
}

interface Window {
  page: Page;
  /** Unexpected browser errors so far. */
  errors: string[];
  signIn(user?: { email: string; password: string }): Promise<void>;
  /** Opens another tab of the same user. */
  tab(path?: string): Promise<Page>;
  /** From now on, `page.clock` can move the time on the pages of this window. */
  installClock(): Promise<void>;
  /** Call it at the end: it fails the test if the browser reported unexpected errors. */
  close(): Promise<void>;
}

/** A browser profile with one page, which windows use one after another. */
interface Profile {
  context: BrowserContext;
  page: Page;
  /** Receives the errors of the window that uses the profile. */
  report: (text: string) => void;
}

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  // No page lives long enough to gain from optimized code.
  '--js-flags=--no-turbofan --no-maglev',
];
/** Long, because the machine also runs both database engines. */
const TIMEOUT_MS = 60_000;
const START_TIMEOUT_MS = 120_000;
/** A page of the same origin that stores nothing and runs no script. */
const EMPTY_PAGE = '/healthz';
/** What Playwright says where it blocks the service worker. */
const BLOCKED_WORKER = /^Service Worker registration blocked by Playwright/;
const DASHBOARD_HEADERS = { 'x-deskbell-dashboard': '1' };
const program = process.env.TEST_CHROMIUM ?? findProgram('chromium');
const built = existsSync(`${root}/dashboard/dist/index.html`);
const missing = !program ? 'Chromium is not installed' : !built ? 'the dashboard is not built' : undefined;

interface InBrowserOptions {
  engine?: Engine;
  /** Of the server, if this is the first suite of its file. */
  settings?: () => Promise<Record<string, string>>;
}

/** Declares browser tests on one engine. The API tests cover both engines. */
export function inBrowser(
  title: string,
  tests: (dashboard: Dashboard) => void,
  { engine = 'sqlite', settings }: InBrowserOptions = {},
): void {
  const skip = missing ?? (engines.includes(engine) ? undefined : `no ${engine}`);
  describe(title, skip === undefined ? {} : { skip }, () => {
    const dashboard = {} as Dashboard;
    before(async () => {
      const [browser, deskbell] = await Promise.all([launch(), serverOn(engine, await settings?.())]);
      Object.assign(dashboard, {
        deskbell,
        open: (options?: WindowOptions) => open(browser, deskbell, options),
      });
    });
    tests(dashboard);
  });
}

/** All tests of a file share one browser and one server for each engine. */
let launched: Promise<Browser> | undefined;
const launch = () =>
  (launched ??= chromium.launch({ executablePath: program!, args: ARGS, timeout: START_TIMEOUT_MS }));
const servers = new Map<Engine, Promise<Deskbell>>();
const serverOn = (engine: Engine, settings: Record<string, string> = {}) => {
  const server = servers.get(engine) ?? startDeskbell(engine, { PUSH_ALLOW_PRIVATE: 'true', ...settings });
  servers.set(engine, server);
  return server;
};
after(async () => {
  await (await launched)?.close();
  for (const server of servers.values()) await (await server).close();
});

/**
 * Profiles without a window, by their settings. A page in a new profile takes four times as much processor time as the
 * next page in a used one, because all of its script is loaded and compiled again.
 */
const idleProfiles = new Map<string, Profile[]>();

async function openProfile(browser: Browser, settings: BrowserContextOptions): Promise<Profile> {
  const context = await browser.newContext(settings);
  context.setDefaultTimeout(TIMEOUT_MS);
  const profile: Profile = { context, page: await context.newPage(), report() {} };
  context.on('console', (message) => {
    // Windows without a service worker refuse to register it, and say so.
    const isBlocked = message.text().startsWith('Service Worker registration blocked');
    if (['error', 'warning'].includes(message.type()) && !isBlocked) profile.report(message.text());
  });
  context.on('weberror', (error) => profile.report(`thrown: ${error.error()}`));
  context.on('dialog', (dialog) => {
    profile.report(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== settings.baseURL && !['data:', 'blob:'].includes(url.protocol)) {
      profile.report(`request to ${url.origin}`);
    }
  });
  await profile.page.goto(EMPTY_PAGE);
  return profile;
}

/** Removes everything that a window has left in its profile, and everything that the test has set. */
async function empty({ context, page }: Profile): Promise<void> {
  for (const other of context.pages()) if (other !== page) await other.close();
  for (const event of ['request', 'domcontentloaded']) page.removeAllListeners(event);
  await page.goto(EMPTY_PAGE);
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await context.clearCookies();
}

async function open(browser: Browser, deskbell: Deskbell, options: WindowOptions = {}): Promise<Window> {
  const {
    path = '/',
    user = AURORA,
    language,
    expectedErrors,
    viewport = { width: 1280, height: 800 },
    ...contextOptions
  } = options;
  // A worker would keep files of an earlier test, and hide requests from it.
  const serviceWorkers = 'block' as const;
  const settings = { baseURL: deskbell.url, locale: 'en-GB', serviceWorkers, ...contextOptions };
  const key = JSON.stringify(settings);
  const idle = idleProfiles.get(key) ?? [];
  idleProfiles.set(key, idle);
  const profile = idle.pop() ?? (await openProfile(browser, settings));
  const { context, page } = profile;
  let canBeReused = true;
  const errors: string[] = [];
  profile.report = (text) => {
    if (!expectedErrors?.test(text) && !BLOCKED_WORKER.test(text)) errors.push(text);
  };
  if (viewport) await page.setViewportSize(viewport);

  const window: Window = {
    page,
    errors,
    async signIn({ email, password } = AURORA) {
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.locator('.nav').waitFor();
    },
    async tab(tabPath = '/') {
      const other = await context.newPage();
      if (viewport) await other.setViewportSize(viewport);
      await other.goto(tabPath);
      return other;
    },
    async installClock() {
      // The clock stays in the profile.
      canBeReused = false;
      await page.clock.install();
    },
    async close() {
      profile.report = () => {};
      // What the page still loads is of no interest any more.
      if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' });
      if (canBeReused && !page.isClosed()) {
        await empty(profile);
        idle.push(profile);
      } else await context.close();
      assert.deepEqual(errors, []);
    },
  };
  const stored: Record<string, string> = {};
  if (language) stored['deskbell.preferences'] = JSON.stringify({ language });
  if (user !== 'nobody') {
    // The same request as the sign-in form sends, with the same cookie.
    const response = await context.request.post('/session/login', { headers: DASHBOARD_HEADERS, data: user });
    assert.equal(response.status(), 200);
    // The dashboard stores a hint that a session cookie exists.
    stored['deskbell.session'] = '1';
  }
  await page.evaluate(`Object.assign(localStorage, ${JSON.stringify(stored)})`);
  await page.goto(path);
  if (user !== 'nobody') await page.locator('.nav').waitFor();
  return window;
}

/** The list row of a notification. */
export const rowOf = (page: Page, id: number | string) => page.locator(`[data-notification="${id}"]`);

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

/** Each is different, also from the demo's of another customer, so that they are not in one row. */
const newQuestion = () => ({
  ...QUESTION,
  context: {
    question: `Is your decaf from ${LETTERS[asked % 26]}${LETTERS[Math.floor(asked++ / 26)]}ville organic?`,
  },
});
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
let asked = 0;

/** Aurora's API. */
export function apiOf(dashboard: Dashboard) {
  let signedIn: Promise<string> | undefined;
  const signIn = () => (signedIn ??= dashboard.deskbell.signIn());
  const api = async (method: string, path: string, body?: unknown) =>
    dashboard.deskbell.call(method, path, { token: await signIn(), body });
  const read = async (id: string) => (await api('GET', `/api/v1/notification/${id}`)).json;
  return {
    api,
    read,
    /** Waits until the answer is stored: the dashboard shows it before that. */
    async readAnswered(id: string) {
      for (;;) {
        const notification = await read(id);
        if (notification.status === 'answered') return notification;
        await sleep(20);
      }
    },
    /** How long answers can be undone from now on. Long enough for a slow machine, or 0. */
    setUndoSeconds: (undo_seconds: number) => api('PATCH', '/api/v1/merchant', { undo_seconds }),
    /** Creates a notification and returns its id. */
    createNotification: async (body: unknown = newQuestion()) =>
      (await raise(dashboard.deskbell, await signIn(), body)).split('/').at(-1)!,
  };
}
