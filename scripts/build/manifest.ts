import { EXTERNAL } from './bundle.ts';

interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  dependencies: Record<string, string>;
}

interface Locked {
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

interface Lock {
  lockfileVersion: number;
  packages: Record<string, Locked>;
}

/** `package.json` of what we ship: it needs Node 24, and nothing from us needs to be built. */
export function shippedManifest({ name, version, description, license, dependencies }: Manifest) {
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { deskbell: 'bin/deskbell' },
    engines: { node: '>=24' },
    dependencies: Object.fromEntries(EXTERNAL.map((one) => [one, dependencies[one]!])),
  };
}

/** `npm-shrinkwrap.json`: npm installs exactly what was tested, and checks it. It has no registry addresses. */
export function shrinkwrap(manifest: ReturnType<typeof shippedManifest>, lock: Lock) {
  const { name, version, license, bin, engines, dependencies } = manifest;
  const packages: Record<string, object> = { '': { name, version, license, dependencies, bin, engines } };
  const add = (dependency: string) => {
    const path = `node_modules/${dependency}`;
    const locked = lock.packages[path];
    if (locked === undefined) throw new Error(`${dependency} is not in package-lock.json.`);
    if (path in packages) return;
    packages[path] = locked;
    for (const next of Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })) add(next);
  };
  for (const dependency of Object.keys(dependencies)) add(dependency);
  const { lockfileVersion } = lock;
  return { name, version, lockfileVersion, requires: true, packages };
}
