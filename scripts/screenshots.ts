/**
 * `npm run screenshots`: makes the pictures of the README, light and dark, with a server of its own that has fresh demo
 * data. `-- --only overview` makes some of them, `-- --to FOLDER` puts them elsewhere.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { DEMO_USERS } from '../src/demo.ts';
import { findProgram } from './services.ts';

interface Shot {
  name: string;
  path: string;
  size: 'wide' | 'narrow';
  dark?: boolean;
  /** Waits until the page shows what the picture is about, or opens it. */
  ready: (page: Page) => Promise<void>;
}

const SIZES = { wide: { width: 1400, height: 900 }, narrow: { width: 390, height: 844 } };
const TIMEOUT_MS = 60_000;

const question = async (page: Page) => {
  await page.locator('.row-link', { hasText: 'Lucía Fernández' }).first().click();
  await page.locator('[data-answer] textarea').first().waitFor();
};
const list = (page: Page) => page.locator('.row-link').first().waitFor();
const overview = (page: Page) => page.locator('.progress-answer').waitFor();
const knowledge = (page: Page) => page.locator('.document-body').first().waitFor();
const phone = (page: Page) => page.locator('.phone .bubble').first().waitFor();

/** The name of a picture is that of its file. */
const SHOTS: readonly Shot[] = [
  { name: 'inbox-wide-light', path: '/inbox', size: 'wide', ready: question },
  { name: 'inbox-wide-dark', path: '/inbox', size: 'wide', dark: true, ready: question },
  { name: 'inbox-narrow-light', path: '/inbox', size: 'narrow', ready: list },
  { name: 'inbox-narrow-dark', path: '/inbox', size: 'narrow', dark: true, ready: list },
  { name: 'knowledge-light', path: '/knowledge/3', size: 'wide', ready: knowledge },
  { name: 'knowledge-dark', path: '/knowledge/3', size: 'wide', dark: true, ready: knowledge },
  { name: 'overview-light', path: '/overview', size: 'wide', ready: overview },
  { name: 'overview-dark', path: '/overview', size: 'wide', dark: true, ready: overview },
  { name: 'phone-light', path: '/test-phone', size: 'narrow', ready: phone },
  { name: 'phone-dark', path: '/test-phone', size: 'narrow', dark: true, ready: phone },
];

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, to: { type: 'string', default: 'docs/screenshots' } },
});
const root = new URL('..', import.meta.url).pathname;
const program = findProgram('chromium');
if (!program) throw new Error('Chromium was not found. Install it, for example with apt install chromium.');
const folder = resolve(root, options.to);
mkdirSync(folder, { recursive: true });

const data = mkdtempSync(join(tmpdir(), 'deskbell-screenshots-'));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const server = spawn(process.execPath, ['src/cli/main.ts', 'serve'], {
  cwd: root,
  env: { ...process.env, DATA_DIR: data, PORT: String(port), LOG_LEVEL: 'warn' },
  stdio: ['ignore', 'ignore', 'inherit'],
});
const stopped = new Promise((done) => server.once('exit', done));
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
try {
  await waitForServer();
  for (const shot of SHOTS) {
    if (options.only && !shot.name.includes(options.only)) continue;
    await take(shot);
    console.log(join(options.to, `${shot.name}.png`));
  }
} finally {
  await browser.close();
  server.kill('SIGTERM');
  await stopped;
  rmSync(data, { recursive: true, force: true });
}

async function take({ name, path, size, dark = false, ready }: Shot): Promise<void> {
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: dark ? 'dark' : 'light',
    locale: 'en-GB',
    timezoneId: 'Europe/Madrid',
    // Nothing moves while the picture is taken.
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const [{ email, password }] = DEMO_USERS;
  await page.goto(url + path);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.locator('form button[type="submit"]').click();
  await ready(page);
  // The stream of events never ends, so the network is never idle.
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
  await context.close();
}

async function waitForServer(): Promise<void> {
  const giveUpAt = Date.now() + TIMEOUT_MS;
  while (Date.now() < giveUpAt) {
    if ((await fetch(`${url}/healthz`).catch(() => undefined))?.ok) return;
    await sleep(200);
  }
  throw new Error('The server did not start.');
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address() as { port: number };
      probe.close(() => done(free));
    });
  });
}
