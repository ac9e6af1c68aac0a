import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { COMMANDS } from '../../src/cli/program.ts';
import { run } from '../support/command.ts';
import { isNotRun, NOT_RUN } from '../support/docs/notRun.ts';
import {
  firstLineOf,
  PAGES,
  proseOf,
  readPage,
  type Sample,
  samplesOf,
  titleOf,
} from '../support/docs/samples.ts';
import { root } from '../support/process.ts';

const samples = PAGES.flatMap(samplesOf);
const LANGUAGES = ['sh', 'js', 'json', 'http', 'sse', 'yaml', 'text'];
describe('the samples in the docs', () => {
  it('have a language that this test can check', () => {
    assert.ok(samples.length > 30);
    for (const sample of samples) assert.ok(LANGUAGES.includes(sample.language), titleOf(sample));
  });

  it('are skipped only if they are on the list, and the list has no other entries', () => {
    for (const { page, first } of NOT_RUN) {
      const found = samples.filter((sample) => sample.page === page && firstLineOf(sample) === first);
      assert.equal(found.length, 1, `${page}: ${first}`);
    }
    for (const sample of samples.filter(({ language }) => language === 'yaml')) {
      assert.ok(isNotRun(sample), titleOf(sample));
    }
  });

  for (const sample of samples.filter(isNotRun)) {
    it(`${titleOf(sample)}: is not run, but its syntax is valid`, () => checkSyntax(sample));
  }
});

function checkSyntax({ language, text }: Sample): void {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
  if (language === 'yaml') {
    for (const line of lines) assert.match(line, /^(- )?\w+:( .+)?$/);
  } else if (language === 'json') {
    JSON.parse(text);
  } else {
    assert.equal(language, 'sh');
    const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const [, name] of text.matchAll(/npm (?:run )?([\w:]+)/g)) assert.ok(name! in scripts, name);
  }
}

describe('the text of the docs', () => {
  // As they are called in a clone and when it is installed, or without the program's name.
  const called =
    /^(?:sudo -u deskbell )?(?:npm run deskbell --|(?:\/opt\/deskbell\/)?(?:bin\/)?deskbell) (.+)$/s;
  const bare = new RegExp(`^(?:${Object.keys(COMMANDS).join('|')})(?: .+)?$`, 's');
  const mentioned = new Set(
    PAGES.flatMap((page) => [...proseOf(page).matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)])
      .flatMap(([, code]) => called.exec(code!)?.[1] ?? bare.exec(code!)?.[0] ?? [])
      .map((command) => command.replaceAll(/\s+/g, ' ')),
  );

  it('mentions npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const names = PAGES.flatMap((page) => [...proseOf(page).matchAll(/npm run ([\w:]+)/g)]).map(
      ([, name]) => name!,
    );
    assert.ok(names.length > 10);
    for (const name of names) assert.ok(name in scripts, name);
  });

  it('mentions commands', () => assert.ok(mentioned.size > 10));
  for (const command of mentioned) {
    it(`mentions "${command}", which exists with these options`, async () => {
      const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
      const { code, stderr } = await run([...words, '--help']);
      assert.equal(code, 0, stderr);
    });
  }

  for (const page of PAGES) {
    it(`has links in ${page} that work`, () => {
      for (const [, target] of proseOf(page).matchAll(/\]\(([^)\s]+)\)|(?:src)="([^"]+)"/g)) {
        if (target === undefined || /^https?:/.test(target)) continue;
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : join(dirname(page), path);
        assert.ok(existsSync(join(root, file)), `${page}: ${target}`);
        if (anchor !== undefined) assert.ok(anchorsOf(file).includes(anchor), `${page}: ${target}`);
      }
    });
  }
});

/** The anchors that GitHub generates. */
const anchorsOf = (page: string) =>
  [...readPage(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\d _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('the project structure in the README', () => {
  const [, map] = samplesOf('README.md').filter(({ language }) => language === 'text');
  const entries = entriesOf(map!.text);

  it('names only files and folders that exist', () => {
    assert.ok(entries.length > 20);
    for (const entry of entries) assert.ok(existsSync(join(root, entry)), entry);
  });

  it('names every folder of the source', () => {
    const folders = readdirSync(join(root, 'src')).filter((name) =>
      statSync(join(root, 'src', name)).isDirectory(),
    );
    for (const name of folders) assert.ok(entries.includes(`src/${name}/`), name);
  });

  it('names the right files in the flow of a request', () => {
    const [flow] = samplesOf('README.md').filter(({ language }) => language === 'text');
    let folder = '';
    let files = 0;
    for (const line of flow!.text.split('\n')) {
      const [, path] = /(src\/\S+)/.exec(line) ?? [];
      const [, file] = /^ *│? +(\S+\.ts|\S+\/) /.exec(line) ?? [];
      if (path) {
        assert.ok(existsSync(join(root, path)), path);
        folder = path;
      } else if (file) {
        files += 1;
        assert.ok(existsSync(join(root, folder, file)), `${folder}${file}`);
      }
    }
    assert.ok(files > 5);
  });
});

/** The paths of an indented tree. A line may have several names, separated by commas. */
function entriesOf(tree: string): string[] {
  const entries: string[] = [];
  const parents: string[] = [];
  for (const line of tree.split('\n')) {
    const [, indent = '', names] = /^( *)(\S+(?:, \S+)*)(?: {2,}|$)/.exec(line) ?? [];
    if (!names) continue;
    const depth = indent.length / 2;
    const paths = names.split(', ').map((name) => parents.slice(0, depth).join('') + name);
    entries.push(...paths);
    parents[depth] = names;
  }
  return entries;
}
