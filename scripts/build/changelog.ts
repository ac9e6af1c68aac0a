/** CHANGELOG.md: a section `## VERSION` for each version, the newest first, with what to do `**Before you upgrade**`. */

const BEFORE = /^\*\*Before you upgrade\*\*\n([\s\S]*?)(?=^\*\*|(?![\s\S]))/m;

interface Section {
  /** Without the date. */
  title: string;
  body: string;
}

const sections = (changelog: string): Section[] =>
  changelog
    .split(/^## /m)
    .slice(1)
    .map((text) => {
      const [heading = '', ...lines] = text.split('\n');
      return { title: heading.split(' ')[0]!, body: lines.join('\n').trim() };
    });

/** What changed since the last release, or nothing. */
export const unreleased = (changelog: string): string =>
  sections(changelog).find(({ title }) => title === 'Unreleased')?.body ?? '';

/** The unreleased changes become those of a version; the next ones get a new, empty section. */
export const withVersion = (changelog: string, version: string, date: string): string =>
  changelog.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} (${date})`);

/** What to do before an upgrade to a version, if its section says something about it. */
export const beforeUpgrade = (section: string): string | undefined => BEFORE.exec(section)?.[1]?.trim();

/** A page for operators, with what every version says. */
export function upgradeNotes(changelog: string): string {
  const notes = sections(changelog).flatMap(({ title, body }) => {
    const text = beforeUpgrade(body);
    return text ? [`## ${title}\n\n${text}\n`] : [];
  });
  return `# Before you upgrade

Read what is new since your version. Make a backup first.

${notes.join('\n')}`;
}
