import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, afterEach, before, beforeEach, describe } from 'node:test';
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
import { findBrowser } from '../../scripts/services.ts';
import { type Merchant, newMerchant } from '../support/merchants.ts';
import { root } from '../support/process.ts';
import { AURORA, type Deskbell, reportFailures, startDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

type Credentials = { email: string; password?: string };

/** A shop of its own, and the dashboard in a real browser. */
export interface Shop extends Merchant {
  /** The conversations with the shop's customers, in their order. */
  conversations: number[];
  /** Opens a window. Windows that are open at the same time share nothing but the server. */
  open(options?: WindowOptions): Promise<Window>;
  /** Asks something that nobody else asks, or this. Returns the id. */
  ask(question?: string, more?: { customer?: number } & Record<string, unknown>): Promise<number>;
  // biome-ignore lint/suspicious/noExplicitAny: tests check notifications of any shape
  read(id: number): Promise<any>;
  /** Waits until the answer is stored: the dashboard shows it before that. */
  readAnswered(id: number): ReturnType<Shop['read']>;
  /** How long answers can be undone from now on. Long enough for a slow machine, or 0. */
  setUndoSeconds(seconds: number): Promise<unknown>;
}

interface WindowOptions extends BrowserContextOptions {
  /** The first page. Default: the inbox. */
  path?: string;
  /** The signed-in user. Default: the owner of the shop. */
  user?: Credentials | 'nobody';
  /** The language that the user chose before. Default: none, so the browser decides. */
  language?: string;
  /** Browser errors that this test expects. */
  expectedErrors?: RegExp;
  /** True: the page is loaded, also if another window of the same user has just been closed. */
  fresh?: boolean;
}

interface Window {
  page: Page;
  signIn(user?: Credentials): Promise<void>;
  /** Opens another tab of the same user. */
  tab(path?: string): Promise<Page>;
  /** At the end of the test by itself. It fails the test if the browser reported unexpected errors. */
  close(): Promise<void>;
}

/** A browser profile with one page, which windows use one after another. */
interface Profile {
  context: BrowserContext;
  page: Page;
  /** Receives the errors of the window that uses the profile. */
  report: (text: string) => void;
  /** Who is signed in on the page that is open, and in which language. */
  state: string;
}

export const CUSTOMERS = [
  { customer_name: 'Lucía Fernández', customer_phone: '+34611550101' },
  { customer_name: 'Tomás Oliveira', customer_phone: '+351912550102' },
  { customer_name: 'Layla Haddad', customer_phone: '+971505550103' },
];
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
/** Drawing frames of animations takes more processor time than the scripts of the page. */
const WITHOUT_ANIMATIONS = `(() => {
  const style = new CSSStyleSheet();
  style.replaceSync('*, *::before, *::after { animation: none !important; transition: none !important; }');
  document.adoptedStyleSheets = [style];
})()`;
/** Long, because other programs may use the machine, too. */
const TIMEOUT_MS = 60_000;
/** A page of the same origin that stores nothing and runs no script. */
const EMPTY_PAGE = '/healthz';
/** What Playwright says where it blocks the service worker. */
const BLOCKED_WORKER = /^Service Worker registration blocked by Playwright/;
/** Whether a page is as the next test expects it, so that it can go on there. */
const IS_READY = `document.querySelector('.nav') !== null
  && document.querySelector('.toast, dialog[open], [role=dialog], .bulk, .connection:not([data-state=live])') === null`;
const program = process.env.TEST_CHROMIUM ?? findBrowser();
const built = existsSync(`${root}/dashboard/dist/index.html`);
const missing = !program ? 'Chromium is not installed' : !built ? 'the dashboard is not built' : undefined;

/** A server that some suites share. Suites that move its clock, or need settings, use another one than the rest. */
interface Server {
  settings?: () => Promise<Record<string, string>>;
}
const PLAIN: Server = {};
export const MOVED_CLOCK: Server = {};

/** Declares browser tests on SQLite. The API tests cover both engines. */
export const inBrowser = (title: string, tests: (shop: Shop) => void) => inBrowserOn(PLAIN, title, tests);

export function inBrowserOn(server: Server, title: string, tests: (shop: Shop) => void): void {
  describe(title, missing === undefined ? {} : { skip: missing }, () => {
    const shop = {} as Shop;
    const logs = {} as Deskbell;
    before(async () => {
      const [browser, deskbell] = await Promise.all([launch(), start(server)]);
      Object.assign(logs, deskbell);
      Object.assign(shop, await openShop(browser, deskbell));
    });
    afterEach(async (context) => {
      const hasPassed = 'passed' in context && context.passed;
      for (const window of [...openWindows])
        await (hasPassed ? window.close() : window.page.context().close());
      openWindows.clear();
    });
    reportFailures(logs);
    tests(shop);
  });
}

/**
 * The server's clock stands still: an answer can be undone until a test lets it become due. It begins with the time of
 * the browser, which goes on: the browser must not think that the minute is over.
 */
export function stopClock(shop: Shop, undoSeconds: number) {
  before(() => shop.setUndoSeconds(undoSeconds));
  beforeEach(() => {
    shop.deskbell.clock.go();
    shop.deskbell.clock.stop();
  });
  after(() => shop.deskbell.clock.go());
  return async (id: number) => {
    shop.deskbell.clock.jump(61);
    await until('it is sent', async () => (await shop.read(id)).undo_until === null);
  };
}

/** All tests share one browser, and each server is started once. */
let launched: Promise<Browser> | undefined;
const launch = () =>
  (launched ??= chromium.launch({ executablePath: program!, args: ARGS, timeout: 2 * TIMEOUT_MS }));
const started = new Map<Server, Promise<Deskbell>>();
const start = (server: Server) => {
  const create = async () =>
    startDeskbell('sqlite', { PUSH_ALLOW_PRIVATE: 'true', ...(await server.settings?.()) });
  const deskbell = started.get(server) ?? create();
  started.set(server, deskbell);
  return deskbell;
};
after(async () => {
  await (await launched)?.close();
  for (const server of started.values()) await (await server).close();
});

/** A new shop with the names of the demo's. */
async function openShop(browser: Browser, deskbell: Deskbell): Promise<Shop> {
  const merchant = await newMerchant(deskbell);
  const { id, owner, get } = merchant;
  await deskbell.database.run('update merchants set name = $2 where id = $1', [id, 'Aurora Coffee']);
  await deskbell.database.run('update users set name = $2 where id = $1', [owner.id, 'Alma Reyes']);
  const conversations: number[] = [];
  for (const customer of CUSTOMERS) conversations.push(await merchant.converse(customer));
  merchant.conversationId = conversations[0]!;
  const read: Shop['read'] = async (notification) => (await get(`/notification/${notification}`)).json;
  return {
    ...merchant,
    conversations,
    open: (options = {}) => open(browser, deskbell, { user: owner, ...options }),
    read,
    ask: (question = newQuestion(), { customer = 0, ...context } = {}) =>
      merchant.raise({ conversation_id: conversations[customer], context: { question, ...context } }),
    async answer(notification, body) {
      const reply = await merchant.answer(notification, body);
      assert.equal(reply.status, 200, reply.text);
      return reply;
    },
    async readAnswered(notification) {
      await until('it is answered', async () => (await read(notification)).status === 'answered');
      return read(notification);
    },
    setUndoSeconds: (undo_seconds) => merchant.patch('/merchant', { undo_seconds }),
  };
}

/** Each is different, so that they are not in one row. */
const newQuestion = () =>
  `Is your decaf from ${LETTERS[asked % 26]}${LETTERS[Math.floor(asked++ / 26)]}ville organic?`;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
let asked = 0;

const openWindows = new Set<Window>();
/**
 * Profiles without a window, by their settings. To load a page takes five times as much processor time as to go to
 * another one of the app, and in a new profile ten times as much.
 */
const idleProfiles = new Map<string, Profile[]>();

async function openProfile(browser: Browser, settings: BrowserContextOptions): Promise<Profile> {
  const context = await browser.newContext(settings);
  context.setDefaultTimeout(TIMEOUT_MS);
  await context.addInitScript(WITHOUT_ANIMATIONS);
  const profile: Profile = { context, page: await context.newPage(), report() {}, state: '' };
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) profile.report(message.text());
  });
  context.on('weberror', (error) => profile.report(`thrown: ${error.error()}`));
  context.on('dialog', (dialog) => {
    profile.report(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== settings.baseURL && !['data:', 'blob:'].includes(url.protocol))
      profile.report(`request to ${url.origin}`);
  });
  await profile.page.goto(EMPTY_PAGE);
  return profile;
}

async function open(browser: Browser, deskbell: Deskbell, options: WindowOptions): Promise<Window> {
  const {
    path = '/',
    user = 'nobody',
    language,
    expectedErrors,
    fresh = false,
    viewport = { width: 1280, height: 800 },
    ...contextOptions
  } = options;
  // A worker would keep files of an earlier test, and hide requests from it.
  const serviceWorkers = 'block' as const;
  const settings = {
    ...{ baseURL: deskbell.url, locale: 'en-GB', reducedMotion: 'reduce' as const, serviceWorkers },
    ...contextOptions,
  };
  const key = JSON.stringify(settings);
  const idle = idleProfiles.get(key) ?? [];
  idleProfiles.set(key, idle);
  const state = user === 'nobody' ? '' : JSON.stringify([user.email, language]);
  const last = state === '' || fresh ? -1 : idle.findIndex((one) => one.state === state);
  const profile =
    (last >= 0 ? idle.splice(last, 1)[0] : idle.shift()) ?? (await openProfile(browser, settings));
  const { context, page } = profile;
  const errors: string[] = [];
  const report = (text: string) => {
    if (!expectedErrors?.test(text) && !BLOCKED_WORKER.test(text)) errors.push(text);
  };
  if (viewport) await page.setViewportSize(viewport);

  const window: Window = {
    page,
    async signIn(given) {
      const { email, password = AURORA.password } = given ?? (user as Credentials);
      profile.state = '';
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
    async close() {
      openWindows.delete(window);
      profile.report = () => {};
      for (const other of context.pages()) if (other !== page) await other.close();
      // What the page still loads is of no interest any more.
      if (page.isClosed()) await context.close();
      else {
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        for (const event of ['request', 'response', 'domcontentloaded']) page.removeAllListeners(event);
        idle.push(profile);
      }
      assert.deepEqual(errors, []);
    },
  };
  openWindows.add(window);
  if (last >= 0 && (await page.evaluate<boolean>(IS_READY))) {
    profile.report = report;
    await goTo(page, path);
    return window;
  }
  // Nothing of the last window stays in the profile.
  if (pathOf(page) !== EMPTY_PAGE) await page.goto(EMPTY_PAGE);
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await context.clearCookies();
  profile.report = report;
  profile.state = state;
  const stored: Record<string, string> = {};
  if (language) stored['deskbell.preferences'] = JSON.stringify({ language });
  if (user !== 'nobody') {
    // The same request as the sign-in form sends, with the same cookie.
    const data = { email: user.email, password: user.password ?? AURORA.password };
    const headers = { 'x-deskbell-dashboard': '1' };
    const response = await context.request.post('/session/login', { headers, data });
    assert.equal(response.status(), 200);
    // The dashboard stores a hint that a session cookie exists.
    stored['deskbell.session'] = '1';
  }
  await page.evaluate(`Object.assign(localStorage, ${JSON.stringify(stored)})`);
  await page.goto(path);
  if (user !== 'nobody') await page.locator('.nav').waitFor();
  return window;
}

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
