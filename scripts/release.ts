/**
 * `npm run release -- 0.2.0`: gives the unreleased changes a version. It changes the version everywhere and the changelog,
 * builds and packs, commits, and makes a tag with what to do before an upgrade. It pushes nothing.
 *
 *   --dry-run   only prints what it would do
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareVersions } from '../src/database/upgrade/versions.ts';
import { beforeUpgrade, unreleased, withVersion } from './build/changelog.ts';

const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
/** Files with our version in a field. In the others it is only in the names of packages. */
const VERSION_FIELDS: Readonly<Record<string, RegExp>> = {
  'package.json': /(^ {2}"version": ")[^"]+/m,
  'package-lock.json': /("name": "deskbell",\s+"version": ")[^"]+/g,
  'clients/typescript/package.json': /(^ {2}"version": ")[^"]+/m,
  'clients/typescript/examples/package-lock.json': /("name": "@deskbell\/client",\s+"version": ")[^"]+/g,
  'openapi.json': /("title": "Deskbell",\s+"version": ")[^"]+/,
  'deploy/helm/deskbell/Chart.yaml': /(^(?:version|appVersion): "?)[^"\n]+/gm,
};
const NAMED_IN = ['README.md', 'docs/*.md', 'clients/typescript/README.md', 'deploy/**/*'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false } },
});
const [version = ''] = positionals;
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const current: string = JSON.parse(read('package.json')).version;
const changelog = read('CHANGELOG.md');
const problem = refusal();
if (problem) fail(problem);

const notes = beforeUpgrade(unreleased(changelog)) ?? 'There is nothing to do before an upgrade.';
const tagMessage = `Deskbell ${version}\n\nBefore you upgrade from ${current}:\n\n${notes}\n`;
const changes = new Map([...newVersions(), ['CHANGELOG.md', withVersion(changelog, version, today())]]);
if (values['dry-run']) {
  console.log(
    `Would change from ${current} to ${version}:\n${[...changes.keys()].map((file) => `  ${file}`).join('\n')}`,
  );
  console.log(
    `Would build dist/, pack it, commit "release: ${version}", and make the tag v${version}:\n\n${tagMessage}`,
  );
} else {
  release();
}

function release(): void {
  for (const [file, text] of changes) writeFileSync(file, text);
  try {
    // Before the commit: what cannot be built is no release.
    execFileSync(process.execPath, ['scripts/build.ts'], { stdio: 'inherit' });
    execFileSync('npm', ['pack', '--silent', './dist'], { stdio: ['ignore', 'ignore', 'inherit'] });
    git('commit', '--quiet', '--message', `release: ${version}`, '--', ...changes.keys());
  } catch {
    // The tree was clean, so this is exactly what we have changed.
    git('restore', '--staged', '--worktree', '--', ...changes.keys());
    fail('The release failed, and every file is as it was.');
  }
  // The notes have headings, which git would take for comments.
  git('tag', '--annotate', '--cleanup=verbatim', '--message', tagMessage, `v${version}`);
  console.log(
    `deskbell-${version}.tgz is packed, and v${version} is tagged. To publish it: git push origin main v${version}`,
  );
}

function refusal(): string | undefined {
  if (!SEMVER.test(version)) return 'Give the new version: npm run release -- 0.2.0';
  if (compareVersions(version, current) <= 0) return `${version} is not newer than ${current}.`;
  if (git('branch', '--show-current') !== 'main') return 'Releases are made on the branch main.';
  if (git('tag', '--list', `v${version}`) !== '') return `The tag v${version} exists.`;
  if (git('status', '--porcelain') !== '')
    return 'There are changes that are not committed. Commit them, or run "git restore .".';
  if (unreleased(changelog) === '') return 'CHANGELOG.md has nothing under "Unreleased".';
  return undefined;
}

/** The new texts of all files that contain our version. */
function newVersions(): [string, string][] {
  const fields = Object.entries(VERSION_FIELDS)
    .filter(([file]) => existsSync(file))
    .map(([file, field]): [string, string] => {
      const text = read(file);
      const changed = text.replace(field, `$1${version}`);
      if (changed === text) fail(`The version in ${file} was not found.`);
      return [file, changed];
    });
  const names = new RegExp(`\\b(deskbell(?:-client)?[-:])${current.replaceAll('.', '\\.')}(?!\\d)`, 'g');
  const named = globSync(NAMED_IN)
    .filter((file) => !(file in VERSION_FIELDS) && /\.\w+$|file$/i.test(file))
    .map((file): [string, string] => [file, read(file).replace(names, `$1${version}`)])
    .filter(([file, text]) => text !== read(file));
  return [...fields, ...named];
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
