/** The rest of what `npm start` does before the server. The usual case is in test/process/install.test.ts. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../../scripts/services.ts';
import { AS_NOBODY, isRoot } from '../../support/installedPackage.ts';
import { createSmallProject, type SmallProject } from '../../support/smallProject.ts';

describe('npm start, before the server', () => {
  let project: SmallProject;
  beforeEach(() => {
    project = createSmallProject();
  });

  it('installs the build tools that an older version left out', async () => {
    await project.prepared();
    rmSync(join(project.folder, 'node_modules/vite'));
    assert.equal((await project.prepared({ NODE_ENV: 'production' })).code, 0);
    assert.deepEqual(project.events(), ['installed', 'built', 'installed']);
  });

  const flock = findProgram('flock');
  it('waits for another process that installs or builds', { skip: flock ? false : 'no flock' }, async (t) => {
    // Holds the lock until its input ends.
    const holder = spawn(flock!, [project.folder, 'sh', '-c', 'echo held; cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => holder.stdin.end());
    await once(holder.stdout, 'data');
    const both = [project.prepare(), project.prepare()];
    const waiting = /^Another process installs the dependencies\. Waiting for it …$/m;
    let ended = false;
    for (const program of both) program.ended.then(() => (ended = true));
    while (!ended && !both.every((program) => waiting.test(program.stderr()))) await sleep(10);
    assert.equal(ended, false, 'they wait');
    assert.deepEqual(project.events(), []);
    holder.stdin.end();
    assert.deepEqual(await Promise.all(both.map(async ({ ended }) => (await ended).code)), [0, 0]);
    assert.deepEqual(project.events(), ['installed', 'built'], 'one did the work for both');
  });

  it('is not stopped by the lock of a process that was killed', { skip: !flock }, async () => {
    const holder = spawn(flock!, ['--no-fork', project.folder, 'sh', '-c', 'echo held; exec sleep 600']);
    await once(holder.stdout, 'data');
    holder.kill('SIGKILL');
    assert.equal((await project.prepared()).code, 0);
  });

  it('in a folder of somebody else does nothing but say in one line what its owner must do, if something is missing', {
    skip: isRoot ? false : 'only root can change the user',
  }, async () => {
    const assertLine = async (code: number, line: RegExp) => {
      const done = await project.prepared({ HOME: '/nonexistent' }, AS_NOBODY);
      assert.match(done.stderr, line);
      assert.equal(done.code, code);
    };
    await assertLine(
      1,
      /^The dependencies of Deskbell are not installed, and this user may not write to \S+\. Run "npm run build" there once as its owner\.\n$/,
    );
    await project.prepared();
    await assertLine(0, /^$/);
    writeFileSync(join(project.folder, 'dashboard/index.html'), '<html lang="en">');
    await assertLine(
      0,
      /^The dashboard was built from older sources, and this user may not write to [^\n]+\n$/,
    );
    rmSync(join(project.folder, 'dashboard/dist'), { recursive: true });
    await assertLine(1, /^The dashboard is not built, and this user may not write to \S+\. Run [^\n]+\n$/);
    assert.deepEqual(project.events(), ['installed', 'built']);
  });
});
