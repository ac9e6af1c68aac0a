import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** The only axe rules whose result depends on the color scheme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
async function violationsOn(page: Page, rules?: string[]): Promise<string[]> {
  // The half megabyte of axe is compiled only once for a page.
  const isThere = await page.evaluate<boolean>("'axe' in window");
  // The page has no frames, so legacy mode gives the same result without a second page for each check.
  const axe = new AxeBuilder({ page, ...(isThere && { axeSource: 'void 0' }) })
    .setLegacyMode(true)
    // To describe all that is in order takes longer than to check it.
    .options({ reporter: 'no-passes' });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}

/** Collects what axe finds: all of it in light colors, and what depends on colors also in dark ones. */
export function createChecks(page: Page) {
  const violationsByPage: Record<string, string[]> = {};
  async function checkIn(colorScheme: 'light' | 'dark', name: string): Promise<void> {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor({ state: 'attached' });
    const violations = await violationsOn(page, colorScheme === 'dark' ? COLOR_RULES : undefined);
    if (violations.length > 0) violationsByPage[`${name}, ${colorScheme}`] = violations;
  }
  return {
    violationsByPage,
    async check(name: string) {
      await checkIn('light', name);
      await checkIn('dark', name);
      await page.emulateMedia({ colorScheme: 'light' });
    },
    checkIn,
  };
}
