import { caughtBy, type Mutation } from './mutation.ts';

/** What is shipped, and what is installed before anything can start. */
export const PACKAGE_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/process/install.test.ts', [
    {
      name: 'npm start installs no build tools with NODE_ENV=production',
      file: 'scripts/ensure.mjs',
      find: `'--include=dev', `,
      replace: '',
      test: 'installs the build tools and builds the dashboard, even with NODE_ENV=production',
    },
    {
      name: 'two processes install at the same time',
      file: 'scripts/lock.mjs',
      find: 'if (process.env[HELD]) return false;',
      replace: 'return false;',
      test: 'waits for another process that installs or builds',
    },
  ]),
  ...caughtBy('test/process/installPackages.test.ts', [
    {
      name: 'a lock of the package manager is a failure at once',
      file: 'scripts/apt.ts',
      find: 'const [locked] = LOCKED.exec(stderr) ?? [];',
      replace: 'const locked = undefined as string | undefined;',
      test: 'is installed when another process has released state/lists/lock',
    },
  ]),
  ...caughtBy('test/release/deployments/package.test.ts', [
    {
      name: 'an installed command starts without the settings that its user may not read',
      file: 'src/config.ts',
      find: 'const hasSystemFile = PACKAGED && mayExist(SYSTEM_FILE);',
      replace: 'const hasSystemFile = PACKAGED && existsSync(SYSTEM_FILE);',
      test: 'are not left out if this user may not read them: one line says who may',
    },
  ]),
  ...caughtBy('test/release/deployments/release.test.ts', [
    {
      name: 'a release may have no changes',
      file: 'scripts/release.ts',
      find: `if (unreleased(changelog) === '')`,
      replace: 'if (false)',
      test: 'refuses a version that is not newer, a tag that exists, another branch and a changed tree',
    },
  ]),
];
