/**
 * `npm run build`: makes `dist/`, a complete npm package of what runs in production. `npm pack ./dist` packs it.
 *
 *   --to FOLDER   makes it somewhere else
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeScript, SCRIPT_FILE } from '../src/http/docs.ts';
import { bundle } from './build/bundle.ts';
import { upgradeNotes } from './build/changelog.ts';
import { licenceTexts } from './build/licences.ts';
import { shippedManifest, shrinkwrap } from './build/manifest.ts';
import { billOfMaterials, shippedPackages } from './supply-chain.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Copied as they are, with their folders. */
const COPIED = [
  'LICENSE',
  'CHANGELOG.md',
  'openapi.json',
  'bin/deskbell',
  'migrations',
  'dashboard/dist',
  'deploy',
];
/** The pages that a server serves, and those for its operator. */
const DOCS = [
  'llms.txt',
  'api.md',
  'assistant.md',
  'channels.md',
  'data.md',
  'mcp.md',
  'monitoring.md',
  'production.md',
  'security.md',
  'settings.md',
];

const NOT_COPIED = /^\.built-from$|\.test\./;

const startedAt = performance.now();
const { values } = parseArgs({ options: { to: { type: 'string' } } });
const dist = resolve(values.to ?? join(root, 'dist'));
process.chdir(root);
// With its own output. Its status is 1 if the dashboard could not be built.
if (spawnSync(process.execPath, ['scripts/build-dashboard.mjs'], { stdio: 'inherit' }).status !== 0)
  process.exit(1);

rmSync(dist, { recursive: true, force: true });
for (const path of COPIED) copy(path);
for (const page of DOCS) write(`docs/${page}`, forPackage(read(`docs/${page}`)));
for (const [path, from] of [
  ['.env.example', '.env.example'],
  ['README.md', 'scripts/build/README.md'],
] as const) {
  write(path, forPackage(read(from)));
}
write(SCRIPT_FILE, await makeScript());
write('UPGRADING.md', upgradeNotes(read('CHANGELOG.md')));
copy('scripts/build/main.js', 'lib/main.js');
const packages = await bundle(root, join(dist, 'lib'), { packaged: true });
write('THIRD_PARTY_LICENCES.md', licenceTexts([...packages, 'node_modules/@scalar/fastify-api-reference']));
const shipped = shippedPackages().filter(({ name }) => !name.startsWith('node-linux-'));
write('sbom.json', json(billOfMaterials(shipped)));
const manifest = shippedManifest(JSON.parse(read('package.json')));
write('package.json', json(manifest));
write('npm-shrinkwrap.json', json(shrinkwrap(manifest, JSON.parse(read('package-lock.json')))));
chmodSync(join(dist, 'bin/deskbell'), 0o755);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`deskbell ${manifest.version} built in ${seconds} s: ${dist}`);

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function write(path: string, content: string | Buffer): void {
  const file = join(dist, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function copy(path: string, to = path): void {
  cpSync(path, join(dist, to), { recursive: true, filter: (file) => !NOT_COPIED.test(basename(file)) });
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** In the package the commands have another name. */
function forPackage(text: string): string {
  return text
    .replaceAll(/npm run (--silent )?deskbell -- /g, 'deskbell ')
    .replaceAll('npm start', 'deskbell serve')
    .replaceAll('VERSION.tgz', `${JSON.parse(read('package.json')).version}.tgz`);
}
