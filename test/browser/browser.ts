import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findProgram } from '../../scripts/services.ts';
import type { Engine } from '../../src/database/database.ts';
import { AURORA, type Deskbell, engines, QUESTION, raise, startDeskbell } from '../harness.ts';
import { root } from '../process.ts';

/** The dashboard in a real browser, on a server of its own. */
export interface Desk {
  deskbell: Deskbell;
  /** A window of a person's own: nothing is shared with another but the server. */
  open(options?: WindowOptions): Promise<Window>;
}

interface WindowOptions extends BrowserContextOptions {
  /** Where it begins; the inbox unless given. */
  at?: string;
  /** Who is signed in; Aurora's owner unless given. */
  as?: { email: string; password: string } | 'nobody';
  /** What the browser may complain about: requests that this test lets fail. */
  mayFail?: RegExp;
}

interface Window {
  page: Page;
  /** What the browser has complained about so far. */
  complaints: string[];
  signIn(user?: { email: string; password: string }): Promise<void>;
  /** Another tab of the same person. */
  tab(at?: string): Promise<Page>;
  /** To be called at the end: nothing may have gone wrong meanwhile. */
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
/** Generous: a machine that runs both engines besides is slow at times. */
const WAIT_MAX_MS = 30_000;
const START_MAX_MS = 120_000;
const OURS = { 'x-deskbell-dashboard': '1' };
/** What the page keeps besides its cookie: that there is one. */
const SIGNED_IN = (origin: string) => ({
  cookies: [],
  origins: [{ origin, localStorage: [{ name: 'deskbell.session', value: '1' }] }],
});

const program = process.env.TEST_CHROMIUM ?? findProgram('chromium');
const built = existsSync(`${root}/dashboard/dist/index.html`);
const missing = !program ? 'Chromium is not here' : !built ? 'the dashboard is not built' : undefined;

/** Declares tests in a browser, on one engine: what the server does is tested on both without one. */
export function inBrowser(
  title: string,
  tests: (desk: Desk) => void,
  { engine = 'sqlite', settings = {} }: { engine?: Engine; settings?: Record<string, string> } = {},
): void {
  const skip = missing ?? (engines.includes(engine) ? undefined : `no ${engine}`);
  describe(title, skip === undefined ? {} : { skip }, () => {
    const desk = {} as Desk;
    before(async () => {
      const [browser, deskbell] = await Promise.all([launch(), startDeskbell(engine, settings)]);
      Object.assign(desk, { deskbell, open: (options?: WindowOptions) => open(browser, deskbell, options) });
    });
    after(() => desk.deskbell?.close());
    tests(desk);
  });
}

/** One for all tests of a file: their windows share nothing in it. */
let launched: Promise<Browser> | undefined;
const launch = () =>
  (launched ??= chromium.launch({ executablePath: program!, args: ARGS, timeout: START_MAX_MS }));
after(async () => (await launched)?.close());

async function open(browser: Browser, deskbell: Deskbell, options: WindowOptions = {}): Promise<Window> {
  const { at = '/', as = AURORA, mayFail, ...rest } = options;
  const context = await browser.newContext({
    baseURL: deskbell.url,
    locale: 'en-GB',
    viewport: { width: 1280, height: 800 },
    ...(as === 'nobody' ? {} : { storageState: SIGNED_IN(deskbell.url) }),
    ...rest,
  });
  context.setDefaultTimeout(WAIT_MAX_MS);
  const complaints: string[] = [];
  const complain = (text: string) => {
    if (!mayFail?.test(text)) complaints.push(text);
  };
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(message.text());
  });
  context.on('weberror', (error) => complain(`thrown: ${error.error()}`));
  context.on('dialog', (dialog) => {
    complain(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== deskbell.url && !['data:', 'blob:'].includes(url.protocol)) {
      complain(`request to ${url.origin}`);
    }
  });

  const page = await context.newPage();
  const window: Window = {
    page,
    complaints,
    async signIn({ email, password } = AURORA) {
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('navigation').waitFor();
    },
    async tab(path = '/') {
      const other = await context.newPage();
      await other.goto(path);
      return other;
    },
    async close() {
      await context.close();
      assert.deepEqual(complaints, []);
    },
  };
  if (as !== 'nobody') {
    // The same request that the page makes, and the same cookie.
    const response = await context.request.post('/session/login', { headers: OURS, data: as });
    assert.equal(response.status(), 200);
  }
  await page.goto(at);
  if (as !== 'nobody') await page.getByRole('navigation').waitFor();
  return window;
}

/** The row of a notification in the list, by its id. */
export const rowOf = (page: Page, id: number | string) => page.locator(`[data-notification="${id}"]`);

export const live = (page: Page) => page.locator('.connection[data-state="live"]').waitFor();

/** An action's button; its key may stand in it, and its curl line beside it. */
export const button = (page: Page, name: string) =>
  page.getByRole('button', { name: new RegExp(`^${name}`) });

export const answerField = (page: Page) => page.getByRole('textbox', { name: 'Your answer' });

/** Aurora's own side, over the API. */
export function shopOf(desk: Desk) {
  const api = async (method: string, path: string, body?: unknown) =>
    desk.deskbell.call(method, path, { token: await desk.deskbell.signIn(), body });
  return {
    api,
    read: async (id: string) => (await api('GET', `/api/v1/notification/${id}`)).json,
    /** A new notification's id. */
    newOne: async (body: unknown = QUESTION) =>
      (await raise(desk.deskbell, await desk.deskbell.signIn(), body)).split('/').at(-1)!,
  };
}
