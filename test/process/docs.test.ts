import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { COMMANDS } from '../../src/cli/program.ts';
import { run } from '../support/command.ts';
import { isNotRun, NOT_RUN } from '../support/docs/notRun.ts';
import { PAGES, proseOf, readPage, samplesOf, titleOf } from '../support/docs/samples.ts';
import { root } from '../support/process.ts';

const LANGUAGES = ['sh', 'js', 'ts', 'json', 'http', 'sse', 'yaml', 'text'];

describe('the samples in the docs', () => {
  const samples = PAGES.flatMap(samplesOf);

  it('are run, in a language that can be, unless they are on the list of those that are not', () => {
    assert.ok(samples.length > 30);
    for (const sample of samples) {
      assert.ok(LANGUAGES.includes(sample.language), titleOf(sample));
      if (sample.language === 'yaml' || sample.language === 'ts')
        assert.ok(isNotRun(sample), titleOf(sample));
    }
    for (const [page, start] of NOT_RUN)
      assert.ok(
        samples.some((sample) => sample.page === page && sample.text.startsWith(start)),
        `${page}: ${start}`,
      );
    // test/features/asks/mcp.test.ts uses the configuration of docs/mcp.md.
    const mcp = (page: string) => samplesOf(page).find(({ text }) => text.includes('"mcpServers"'))!.text;
    assert.equal(mcp('docs/assistant.md'), mcp('docs/mcp.md'));
  });
});

describe('the text of the docs', () => {
  const prose = PAGES.map(proseOf).join('\n');
  /** What the pages name like this and what is missing of it. */
  const missingOf = (text: string, pattern: RegExp, isThere: (name: string) => boolean) => {
    const named = [...text.matchAll(pattern)].map(([, name]) => name!);
    assert.ok(named.length > 10);
    return named.filter((name) => !isThere(name));
  };

  it('mentions npm scripts and files that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    assert.deepEqual(
      missingOf(prose, /npm run ([\w:]+)/g, (name) => name in scripts),
      [],
    );
    const files = /`((?:test|src|dashboard|scripts)\/[\w./-]+)`/g;
    assert.deepEqual(
      missingOf(prose, files, (file) => existsSync(join(root, file))),
      [],
    );
  });

  it('mentions commands that exist, with options that exist', async () => {
    // As they are called in a clone and when it is installed, or without the program's name.
    const called =
      /^(?:sudo -u deskbell )?(?:npm run deskbell --|(?:\/opt\/deskbell\/)?(?:bin\/)?deskbell) (.+)$/s;
    const bare = new RegExp(`^(?:${Object.keys(COMMANDS).join('|')})(?: .+)?$`, 's');
    const mentioned = [...prose.matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)]
      .flatMap(([, code]) => called.exec(code!)?.[1] ?? bare.exec(code!)?.[0] ?? [])
      .map((command) => command.replaceAll(/\s+/g, ' '));
    assert.ok(mentioned.length > 10);
    for (const command of new Set(mentioned)) {
      const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
      const { code, stderr } = await run([...words, '--help']);
      assert.equal(code, 0, `${command}: ${stderr}`);
    }
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
