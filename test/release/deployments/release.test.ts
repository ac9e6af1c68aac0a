import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { before, describe, it } from 'node:test';
import { newFolder, root, run } from '../../support/process.ts';

const NOT_COPIED = /(^|\/)(node_modules|\.git|data|dist-test)$|^(dist|bench|test)$|\.tgz$/;
const current: string = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
const [major, minor] = current.split('.').map(Number) as [number, number];
const next = `${major}.${minor + 1}.0`;
const older = '0.0.1';
const quoted = (version: string) => version.replaceAll('.', '\\.');
const CHANGELOG = `# Changelog

## Unreleased

**Before you upgrade**

- Make coffee.

**For everybody**

- More bells.

## ${current}

The first version.
`;

describe('npm run release', () => {
  let copy: string;
  const git = (...args: string[]) => execFileSync('git', args, { cwd: copy, encoding: 'utf8' }).trim();
  const read = (file: string) => readFileSync(join(copy, file), 'utf8');
  const release = async (...args: string[]) => {
    const program = run({}, [process.execPath, join(copy, 'scripts/release.ts'), ...args], copy);
    const { code } = await program.ended;
    return { code, stdout: program.stdout(), stderr: program.stderr() };
  };
  const refused = async (line: RegExp, ...args: string[]) => {
    const head = git('rev-parse', 'HEAD');
    const { code, stderr } = await release(...args);
    assert.equal(code, 1);
    assert.match(stderr, line);
    assert.equal(stderr.split('\n').length, 2, 'one line');
    assert.equal(git('rev-parse', 'HEAD'), head);
    assert.equal(git('tag', '--list', 'v9.9.9'), '');
  };
  const commit = (file: string, text: string) => {
    writeFileSync(join(copy, file), text);
    git('commit', '--all', '--quiet', '--message', 'change');
  };

  before(() => {
    copy = newFolder();
    cpSync(root, copy, { recursive: true, filter: (path) => !NOT_COPIED.test(relative(root, path)) });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    writeFileSync(join(copy, 'CHANGELOG.md'), CHANGELOG);
    // The link is not the folder that .gitignore names.
    writeFileSync(join(copy, '.gitignore'), `${read('.gitignore')}\nnode_modules\n`);
    git('init', '--quiet', '--initial-branch=main');
    git('config', 'user.name', 'Tester');
    git('config', 'user.email', 'tester@shop.example');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'start');
  });

  it('refuses a version that is not newer, a tag that exists, another branch and a changed tree', async () => {
    await refused(/^Give the new version/);
    await refused(/^Give the new version/, 'v9.9.9');
    for (const version of [current, older]) {
      await refused(new RegExp(`^${quoted(version)} is not newer than ${quoted(current)}\\.$`, 'm'), version);
    }
    git('tag', 'v8.0.0');
    await refused(/^The tag v8\.0\.0 exists\.$/m, '8.0.0');
    git('switch', '--quiet', '--create', 'other');
    await refused(/^Releases are made on the branch main\.$/m, '9.9.9');
    git('switch', '--quiet', 'main');
    writeFileSync(join(copy, 'new-file'), '');
    await refused(/^There are changes that are not committed/, '9.9.9');
    git('clean', '--quiet', '--force', 'new-file');
    commit('CHANGELOG.md', CHANGELOG.replace(/\*\*Before[\s\S]*bells\.\n/, ''));
    await refused(/^CHANGELOG\.md has nothing under "Unreleased"\.$/m, '9.9.9');
    commit('CHANGELOG.md', CHANGELOG);
  });

  it('changes the version everywhere, builds, packs, commits and tags with the upgrade notes, but only prints with --dry-run', async () => {
    const dry = await release(next, '--dry-run');
    assert.equal(dry.code, 0);
    assert.match(
      dry.stdout,
      /:\n {2}package\.json\n[\s\S]*Before you upgrade from \S+:\n\n- Make coffee\.\n/,
    );
    assert.equal(git('status', '--porcelain'), '');
    const { code, stderr } = await release(next);
    assert.equal(code, 0, stderr);
    const today = new Date().toISOString().slice(0, 10);
    assert.match(
      read('CHANGELOG.md'),
      new RegExp(`^## Unreleased\\n\\n## ${quoted(next)} \\(${today}\\)\\n\\n\\*\\*Before`, 'm'),
    );
    for (const file of ['package.json', 'clients/typescript/package.json', 'package-lock.json']) {
      assert.equal(JSON.parse(read(file)).version, next, file);
    }
    assert.equal(JSON.parse(read('package-lock.json')).packages[''].version, next);
    assert.equal(JSON.parse(read('openapi.json')).info.version, next);
    for (const file of ['docs/assistant.md', 'clients/typescript/README.md']) {
      assert.match(read(file), new RegExp(`deskbell-client-${quoted(next)}\\.tgz`));
    }
    assert.deepEqual(
      [git('status', '--porcelain'), git('log', '-1', '--format=%s')],
      ['', `release: ${next}`],
    );
    assert.equal(git('rev-parse', `v${next}^{commit}`), git('rev-parse', 'HEAD'));
    const message = git('tag', '--list', '--format=%(contents)', `v${next}`);
    assert.equal(message, `Deskbell ${next}\n\nBefore you upgrade from ${current}:\n\n- Make coffee.`);
    assert.match(read('dist/UPGRADING.md'), new RegExp(`^## ${quoted(next)}\n\n- Make coffee\\.\n`, 'm'));
    assert.doesNotMatch(read('dist/UPGRADING.md'), /bells/);
    assert.equal(JSON.parse(read('dist/package.json')).version, next);
    assert.ok(existsSync(join(copy, `deskbell-${next}.tgz`)));
    await refused(/^CHANGELOG\.md has nothing under "Unreleased"\.$/m, '9.9.9');
  });
});
