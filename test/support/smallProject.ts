import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { newFolder, type Program, root, run } from './process.ts';

/** A small project with our scripts. Its build tool only notes that it was called, and npm needs no network for it. */
const SCRIPTS = ['ensure.mjs', 'lock.mjs', 'build-dashboard.mjs'];
const PACKAGE = {
  name: 'small',
  version: '1.0.0',
  scripts: { postinstall: 'echo installed >> events.log' },
  devDependencies: { vite: 'file:tool' },
};
const LOCK = {
  name: 'small',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': { ...PACKAGE, scripts: undefined, hasInstallScript: true },
    'node_modules/vite': { resolved: 'tool', link: true },
    tool: { name: 'vite', version: '1.0.0', dev: true },
  },
};
const TOOL = `import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
export async function build({ root }) {
  mkdirSync(root + '/dist/assets', { recursive: true });
  writeFileSync(root + '/dist/index.html', '<html>');
  appendFileSync(root + '/../events.log', 'built\\n');
}
`;

function newProject(): string {
  const folder = join(newFolder(), 'project');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write('package.json', JSON.stringify(PACKAGE));
  write('package-lock.json', JSON.stringify(LOCK));
  write(
    'tool/package.json',
    JSON.stringify({ name: 'vite', version: '1.0.0', type: 'module', main: 'index.js' }),
  );
  write('tool/index.js', TOOL);
  write('dashboard/index.html', '<html>');
  write('dashboard/src/service-worker.js', '');
  mkdirSync(join(folder, 'scripts'));
  for (const name of SCRIPTS) copyFileSync(join(root, 'scripts', name), join(folder, 'scripts', name));
  // Other users may read it.
  for (const path of [folder, dirname(folder), dirname(dirname(folder))]) chmodSync(path, 0o755);
  return folder;
}

export interface SmallProject {
  folder: string;
  /** Runs what `npm start` runs before the server. */
  prepare(env?: Record<string, string>, user?: readonly string[]): Program;
  prepared(
    env?: Record<string, string>,
    user?: readonly string[],
  ): Promise<{ code: number | null; stderr: string }>;
  /** What npm and the build tool did. */
  events(): string[];
  isBuilt(): boolean;
}

export function createSmallProject(): SmallProject {
  const folder = newProject();
  const PATH = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`;
  const prepare: SmallProject['prepare'] = (env = {}, user = []) =>
    run(
      { PATH, npm_config_update_notifier: 'false', ...env },
      [...user, 'sh', '-c', 'node scripts/ensure.mjs && node scripts/build-dashboard.mjs'],
      folder,
    );
  const log = join(folder, 'events.log');
  return {
    folder,
    prepare,
    async prepared(...args) {
      const program = prepare(...args);
      return { code: (await program.ended).code, stderr: program.stderr() };
    },
    events: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
    isBuilt: () => existsSync(join(folder, 'dashboard/dist/index.html.br')),
  };
}
