import assert from 'node:assert/strict';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** The only axe rules whose result depends on the color scheme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** What axe finds: all of it in light colors, and what depends on colors in dark ones. */
export async function violationsIn(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor({ state: 'attached' });
  // The half megabyte of axe is compiled only once for a page.
  const isThere = await page.evaluate<boolean>("'axe' in window");
  // The page has no frames, so legacy mode gives the same result without a second page for each check.
  const axe = new AxeBuilder({ page, ...(isThere && { axeSource: 'void 0' }) })
    .setLegacyMode(true)
    // To describe all that is in order takes longer than to check it.
    .options({ reporter: 'no-passes' });
  const { violations } = await (colorScheme === 'dark' ? axe.withRules(COLOR_RULES) : axe).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}

/** For what a journey shows. The pages themselves are in everyPage.test.ts. */
export async function assertAccessible(page: Page): Promise<void> {
  assert.deepEqual(await violationsIn(page, 'dark'), []);
  assert.deepEqual(await violationsIn(page, 'light'), []);
}
