import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Writes what we ship: `sbom.json`, a software bill of materials (CycloneDX), and `THIRD_PARTY_LICENCES.md`. Both cover the
 * dependencies and what the dashboard bundles, with everything that those need.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
export const LICENCE_FILE = join(root, 'THIRD_PARTY_LICENCES.md');
const SBOM_FILE = join(root, 'sbom.json');

/** Development dependencies whose code is part of the built dashboard. A test compares them with its imports. */
export const BUNDLED = [
  '@mantine/core',
  '@mantine/hooks',
  '@simplewebauthn/browser',
  '@tanstack/react-query',
  '@tanstack/react-virtual',
  'react',
  'react-dom',
  'uqr',
] as const;

/** Licences that ask for no more than to keep their text; MPL-2.0 also to publish changes to its files: we make none. */
const ALLOWED = new Set([
  ...['MIT', 'MIT-0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'BlueOak-1.0.0'],
  ...['CC0-1.0', 'MPL-2.0', 'Unlicense'],
]);

/** Such as `MIT`, `(MIT OR GPL-3.0)` or `MIT AND ISC`. */
export const isAllowed = (licence: string): boolean =>
  licence
    .replace(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((name) => ALLOWED.has(name.trim())));

interface LockedPackage {
  version: string;
  license?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

interface Shipped {
  name: string;
  version: string;
  licence: string;
}

/** Reads the lock file, so the result is the same on every platform. */
export function shippedPackages(): Shipped[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const packages: Record<string, LockedPackage> = lock.packages;
  const own = packages['']!;
  const found = new Map<string, Shipped>();
  const visited = new Set<string>();

  /** Where Node finds a package: in the nearest folder `node_modules`. */
  function locate(from: string, name: string): string | undefined {
    for (let folder = from; ; ) {
      const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
      if (path in packages) return path;
      if (folder === '') return undefined;
      const parent = folder.lastIndexOf('node_modules/');
      folder = folder.slice(0, Math.max(0, parent - 1));
    }
  }

  function visit(from: string, name: string): void {
    const path = locate(from, name);
    // An optional package that was not chosen.
    if (path === undefined || visited.has(path)) return;
    visited.add(path);
    const locked = packages[path]!;
    const { version, license: licence = 'unknown' } = locked;
    found.set(`${name}@${version}`, { name, version, licence });
    const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = locked;
    const peers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional);
    const needed = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
    for (const next of needed) visit(path, next);
  }

  const direct = Object.keys({ ...own.dependencies, ...own.optionalDependencies });
  for (const name of [...direct, ...BUNDLED]) visit('', name);
  return [...found.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const keyOf = ({ name, version }: Pick<Shipped, 'name' | 'version'>) => `${name}@${version}`;

export function licenceList(shipped: readonly Shipped[]): string {
  const byLicence = [...Map.groupBy(shipped, ({ licence }) => licence)].sort(([a], [b]) => (a < b ? -1 : 1));
  const counts = byLicence.map(([licence, packages]) => `${packages.length} ${licence}`).join(', ');
  const rows = shipped.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
  return `# Licences of other packages

Deskbell is distributed with these packages: its dependencies, and what the dashboard bundles. The text of a licence is in
the package's folder, and for what the dashboard bundles also in \`dashboard/dist/licences.md\`. \`npm run sbom\`
writes this file, and a bill of materials (CycloneDX) to \`sbom.json\`.

${shipped.length} packages: ${counts}.

| package | version | licence |
|---|---|---|
${rows.join('\n')}
`;
}

interface Sbom {
  metadata: { component: { 'bom-ref': string; name: string; type: string } };
  components: (Pick<Shipped, 'name' | 'version'> & { 'bom-ref': string })[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

/** `npm sbom --omit dev` would leave out what the dashboard bundles, so we remove the rest ourselves. */
export function billOfMaterials(shipped: readonly Shipped[]): Sbom {
  const text = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const sbom: Sbom = JSON.parse(text);
  const keys = new Set(shipped.map(keyOf));
  const components = sbom.components.filter((one) => keys.has(keyOf(one)));
  const refs = new Set([
    sbom.metadata.component['bom-ref'],
    ...components.map((component) => component['bom-ref']),
  ]);
  const dependencies = sbom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }));
  // npm takes the name from the folder.
  Object.assign(sbom.metadata.component, { name: 'deskbell', type: 'application' });
  return { ...sbom, components, dependencies };
}

if (import.meta.main) {
  const shipped = shippedPackages();
  writeFileSync(LICENCE_FILE, licenceList(shipped));
  writeFileSync(SBOM_FILE, `${JSON.stringify(billOfMaterials(shipped), null, 2)}\n`);
  const refused = shipped.filter(({ licence }) => !isAllowed(licence));
  for (const { name, licence } of refused)
    console.error(`${name} has a licence that is not allowed: ${licence}`);
  console.log(`${shipped.length} packages: THIRD_PARTY_LICENCES.md and sbom.json were written.`);
  process.exitCode = refused.length > 0 ? 1 : 0;
}
