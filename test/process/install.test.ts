import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSmallProject } from '../support/smallProject.ts';

it('npm start installs the build tools and builds the dashboard once, even with NODE_ENV=production', async () => {
  const { prepared, events, isBuilt } = createSmallProject();
  const { code, stderr } = await prepared({ NODE_ENV: 'production' });
  assert.deepEqual([code, events(), isBuilt()], [0, ['installed', 'built'], true], stderr);
  assert.deepEqual(await prepared({ NODE_ENV: 'production' }), { code: 0, stderr: '' });
  assert.equal(events().length, 2);
});
