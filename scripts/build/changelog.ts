/** CHANGELOG.md: a section `## VERSION` for each version, the newest first, with what to do `**Before you upgrade**`. */

const UNRELEASED = 'Unreleased';
const BEFORE = /^\*\*Before you upgrade\*\*\n([\s\S]*?)(?=^\*\*|(?![\s\S]))/m;

interface Section {
  /** Without the date. */
  title: string;
  body: string;
}

export const sections = (changelog: string): Section[] =>
  changelog
    .split(/^## /m)
    .slice(1)
    .map((text) => {
      const [heading = '', ...lines] = text.split('\n');
      return { title: heading.split(' ')[0]!, body: lines.join('\n').trim() };
    });

/** What changed since the last release, or nothing. */
export const unreleased = (changelog: string): string =>
  sections(changelog).find(({ title }) => title === UNRELEASED)?.body ?? '';

/** The unreleased changes become those of a version; the next ones get a new, empty section. */
export const withVersion = (changelog: string, version: string, date: string): string =>
  changelog.replace(/^## Unreleased$/m, `## ${UNRELEASED}\n\n## ${version} (${date})`);

/** What to do before an upgrade, for each version that says something about it. */
export function upgradeNotes(changelog: string): string {
  const notes = sections(changelog).flatMap(({ title, body }) => {
    const text = BEFORE.exec(body)?.[1]?.trim();
    return text ? [`## ${title}\n\n${text}\n`] : [];
  });
  return `# Before you upgrade

Read what is new since your version. Make a backup first.

${notes.join('\n')}`;
}
