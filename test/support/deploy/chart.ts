import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { findOrInstall, findProgram } from '../../../scripts/services.ts';
import { root } from '../process.ts';
import { deployFile } from './proxies.ts';

/** The chart in `deploy/helm`, rendered by Go's template engine with Sprig, as Helm does. Helm itself does not run. */

const CHART = deployFile('helm/deskbell');
const LIBRARIES = '/usr/share/gocode';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: manifests of all kinds
  [field: string]: any;
}

/** Debian's Go, with the libraries of the engine. With CI=true only it is installed: it takes 500 MB. Debian has no Helm. */
export function findGo(): string | undefined {
  if (process.env.CI !== 'true') return hasSprig() ? findProgram('go') : undefined;
  const go = findOrInstall('go', 'golang-go');
  for (const name of ['golang-github-masterminds-sprig-dev', 'golang-github-ghodss-yaml-dev'])
    if (spawnSync('dpkg', ['-s', name], { stdio: 'ignore' }).status !== 0)
      findOrInstall(`library ${name}`, name);
  if (!go || !hasSprig()) throw new Error('Go and Sprig could not be installed.');
  return go;
}

const hasSprig = () =>
  spawnSync('dpkg', ['-s', 'golang-github-masterminds-sprig-dev'], { stdio: 'ignore' }).status === 0;

export interface Renderer {
  /** The files by name. Throws with the engine's message. */
  files(values: object): Record<string, string>;
  manifests(values: object): Manifest[];
  remove(): void;
}

export function createRenderer(go: string): Renderer {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-chart-'));
  const program = join(folder, 'render');
  const cache = join(root, 'node_modules/.cache/go');
  mkdirSync(cache, { recursive: true });
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: LIBRARIES, GOCACHE: cache };
  execFileSync(go, ['build', '-o', program, join(import.meta.dirname, 'render.go')], { env });
  const read = (file: string) => parse(readFileSync(join(CHART, file), 'utf8'));
  const chart = read('Chart.yaml');
  const files = (values: object): Record<string, string> => {
    const input = join(folder, 'values.json');
    writeFileSync(
      input,
      JSON.stringify({
        Values: merged(read('values.yaml'), values),
        Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
        Release: { Name: 'desk', Namespace: 'shops', Service: 'Helm' },
      }),
    );
    const { status, stdout, stderr } = spawnSync(program, [CHART, input], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  return {
    files,
    manifests(values) {
      const texts = Object.entries(files(values)).filter(([name]) => name.endsWith('.yaml'));
      return texts.flatMap(([name, text]) =>
        parseAllDocuments(text).flatMap((document) => {
          if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0]}\n${text}`);
          return document.toJS() ?? [];
        }),
      );
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** As Helm merges values: objects by key, everything else is replaced. */
export function merged(base: unknown, change: unknown): unknown {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(base) || !isObject(change)) return change === undefined ? base : change;
  const result = { ...base };
  for (const [key, value] of Object.entries(change)) result[key] = merged(base[key], value);
  return result;
}
