import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
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
const LANGUAGES = ['sh', 'js', 'ts', 'json', 'http', 'sse', 'yaml', 'text'];
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

  it('have a valid syntax if they are not run', () => {
    for (const sample of samples.filter(isNotRun)) checkSyntax(sample);
  });
});

function checkSyntax({ language, text }: Sample): void {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
  if (language === 'yaml') {
    for (const line of lines) assert.match(line, /^(- )?\w+:( .+)?$/);
  } else if (language === 'ts') {
    stripTypeScriptTypes(text);
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
    const missing = names.filter((name) => !(name in scripts));
    assert.deepEqual(missing, []);
  });

  it('mentions commands that exist, with options that exist', async () => {
    assert.ok(mentioned.size > 10);
    const wrong: string[] = [];
    for (const command of mentioned) {
      const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
      const { code, stderr } = await run([...words, '--help']);
      if (code !== 0) wrong.push(`${command}: ${stderr}`);
    }
    assert.deepEqual(wrong, []);
  });

  it('has links that work', () => {
    const broken = PAGES.flatMap((page) =>
      [...proseOf(page).matchAll(/\]\(([^)\s]+)\)|(?:src)="([^"]+)"/g)]
        .map(([, link, source]) => link ?? source!)
        .filter((target) => !/^https?:/.test(target) && !isThere(page, target))
        .map((target) => `${page}: ${target}`),
    );
    assert.deepEqual(broken, []);
  });

  it('names only files that exist', () => {
    const named = PAGES.flatMap((page) =>
      [...readPage(page).matchAll(/`((?:test|src|dashboard|scripts)\/[\w./-]+)`/g)].map(([, file]) => file!),
    );
    assert.ok(named.length > 60);
    const missing = named.filter((file) => !existsSync(join(root, file)));
    assert.deepEqual(missing, []);
  });
});

function isThere(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), path);
  return existsSync(join(root, file)) && (anchor === undefined || anchorsOf(file).includes(anchor));
}

/** The anchors that GitHub generates. */
const anchorsOf = (page: string) =>
  [...readPage(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\d _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('docs/security.md', () => {
  it('has for each requirement, named once, a status and its evidence or a reason', () => {
    const rows = readPage('docs/security.md')
      .split('\n')
      .filter((line) => /^\| \d+\.\d/.test(line))
      .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));
    assert.ok(rows.length > 100, String(rows.length));
    for (const [id, , status, evidence] of rows) {
      assert.ok(['met', 'open', 'not applicable'].includes(status!), `${id}: ${status}`);
      assert.ok(evidence && evidence.length > 10, `${id} has no evidence`);
    }
    const ids = rows.flatMap(([id]) => id!.split(', '));
    assert.equal(new Set(ids).size, ids.length);
  });
});

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
