import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, afterEach, before, beforeEach, describe } from 'node:test';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { findBrowser } from '../../scripts/services.ts';
import { type Merchant, newMerchant } from '../support/merchants.ts';
import { root } from '../support/process.ts';
import { AURORA, type Deskbell, reportFailures, startDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';
import { goTo, pathOf, TIMEOUT_MS } from './page.ts';

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
