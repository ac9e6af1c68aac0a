import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findProgram } from '../../scripts/services.ts';
import type { Engine } from '../../src/database/database.ts';
import { engines } from '../databases.ts';
import { AURORA, type Deskbell, QUESTION, raise, startDeskbell } from '../harness.ts';
import { root } from '../process.ts';

/** The dashboard in a real browser, with its own server. */
export interface Dashboard {
  deskbell: Deskbell;
  /** Opens a separate browser profile. Windows share nothing but the server. */
  open(options?: WindowOptions): Promise<Window>;
}

interface WindowOptions extends BrowserContextOptions {
  /** The first page. Default: the inbox. */
  path?: string;
  /** The signed-in user. Default: Aurora's owner. */
  user?: { email: string; password: string } | 'nobody';
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
  /** Call it at the end: it fails the test if the browser reported unexpected errors. */
  close(): Promise<void>;
}

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];
/** Long, because the machine also runs both database engines. */
const TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 120_000;
const DASHBOARD_HEADERS = { 'x-deskbell-dashboard': '1' };
/** The dashboard stores a hint that a session cookie exists. */
const SIGNED_IN = (origin: string) => ({
  cookies: [],
  origins: [{ origin, localStorage: [{ name: 'deskbell.session', value: '1' }] }],
});

const program = process.env.TEST_CHROMIUM ?? findProgram('chromium');
const built = existsSync(`${root}/dashboard/dist/index.html`);
const missing = !program ? 'Chromium is not installed' : !built ? 'the dashboard is not built' : undefined;

/** Declares browser tests on one engine. The API tests cover both engines. */
export function inBrowser(
  title: string,
  tests: (dashboard: Dashboard) => void,
  { engine = 'sqlite', settings = {} }: { engine?: Engine; settings?: Record<string, string> } = {},
): void {
  const skip = missing ?? (engines.includes(engine) ? undefined : `no ${engine}`);
  describe(title, skip === undefined ? {} : { skip }, () => {
    const dashboard = {} as Dashboard;
    before(async () => {
      const [browser, deskbell] = await Promise.all([launch(), startDeskbell(engine, settings)]);
      Object.assign(dashboard, {
        deskbell,
        open: (options?: WindowOptions) => open(browser, deskbell, options),
      });
    });
    after(() => dashboard.deskbell?.close());
    tests(dashboard);
  });
}

/** All tests of a file share one browser; each window has its own profile. */
let launched: Promise<Browser> | undefined;
const launch = () =>
  (launched ??= chromium.launch({ executablePath: program!, args: ARGS, timeout: START_TIMEOUT_MS }));
after(async () => (await launched)?.close());

async function open(browser: Browser, deskbell: Deskbell, options: WindowOptions = {}): Promise<Window> {
  const { path = '/', user = AURORA, expectedErrors, baseURL = deskbell.url, ...contextOptions } = options;
  const context = await browser.newContext({
    baseURL,
    locale: 'en-GB',
    viewport: { width: 1280, height: 800 },
    ...(user === 'nobody' ? {} : { storageState: SIGNED_IN(baseURL) }),
    ...contextOptions,
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  const errors: string[] = [];
  const report = (text: string) => {
    if (!expectedErrors?.test(text)) errors.push(text);
  };
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) report(message.text());
  });
  context.on('weberror', (error) => report(`thrown: ${error.error()}`));
  context.on('dialog', (dialog) => {
    report(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== baseURL && !['data:', 'blob:'].includes(url.protocol)) {
      report(`request to ${url.origin}`);
    }
  });

  const page = await context.newPage();
  const window: Window = {
    page,
    errors,
    async signIn({ email, password } = AURORA) {
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('navigation').waitFor();
    },
    async tab(tabPath = '/') {
      const other = await context.newPage();
      await other.goto(tabPath);
      return other;
    },
    async close() {
      await context.close();
      assert.deepEqual(errors, []);
    },
  };
  if (user !== 'nobody') {
    // The same request as the sign-in form sends, with the same cookie.
    const response = await context.request.post('/session/login', { headers: DASHBOARD_HEADERS, data: user });
    assert.equal(response.status(), 200);
  }
  await page.goto(path);
  if (user !== 'nobody') await page.getByRole('navigation').waitFor();
  return window;
}

/** The list row of a notification. */
export const rowOf = (page: Page, id: number | string) => page.locator(`[data-notification="${id}"]`);

export const waitUntilLive = (page: Page) => page.locator('.connection[data-state="live"]').waitFor();

/** A button by the start of its name, which may also contain a key hint. */
export const button = (page: Page, name: string) =>
  page.getByRole('button', { name: new RegExp(`^${name}`) });

export const answerField = (page: Page) => page.getByRole('textbox', { name: 'Your answer' });

/** The heading above an answer that was sent. */
export const sentAnswer = (page: Page) => page.getByRole('heading', { name: /^Your answer/ });

/** The text or, for a field, the name of the focused element. */
export const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.name || document.activeElement.textContent.trim()');

/** Aurora's API. */
export function apiOf(dashboard: Dashboard) {
  const api = async (method: string, path: string, body?: unknown) =>
    dashboard.deskbell.call(method, path, { token: await dashboard.deskbell.signIn(), body });
  return {
    api,
    read: async (id: string) => (await api('GET', `/api/v1/notification/${id}`)).json,
    /** Creates a notification and returns its id. */
    createNotification: async (body: unknown = QUESTION) =>
      (await raise(dashboard.deskbell, await dashboard.deskbell.signIn(), body)).split('/').at(-1)!,
  };
}
