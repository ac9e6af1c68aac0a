// Builds the dashboard if its sources have changed since the last build. Otherwise it takes a few milliseconds.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { fail, mayWrite, runAlone } from './lock.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'dashboard');
const dist = join(folder, 'dist');
const stamp = join(dist, '.built-from');
const sourcesHash = hashSources();

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== sourcesHash) {
  if (!mayWrite(folder, dist)) {
    const problem = `and this user may not write to ${folder}. Run "npm run build" there once as its owner.`;
    if (!existsSync(stamp)) fail(`The dashboard is not built, ${problem}`);
    console.error(`The dashboard was built from older sources, ${problem}`);
  } else if (!runAlone(import.meta.url, 'Another process builds the dashboard. Waiting for it …')) {
    await buildDashboard();
  }
}

async function buildDashboard() {
  const startedAt = performance.now();
  const { build } = await import('vite').catch(() =>
    fail('The dashboard cannot be built: its build tools are missing. Run "npm ci --include=dev".'),
  );
  await build({ root: folder, configFile: join(folder, 'vite.config.ts'), logLevel: 'error' });
  writeWorker();
  const script = compressAll();
  writeFileSync(stamp, sourcesHash);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(
    `Dashboard built in ${seconds} s; the first page load takes ${script} KB of JavaScript (gzip).\n`,
  );
}

function hashSources() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  const files = globSync(['*.{html,ts,json}', 'src/**/*', 'public/**/*'], { cwd: folder }).sort();
  for (const name of files) {
    const path = join(folder, name);
    if (statSync(path).isFile()) hash.update(`${name}\n`).update(readFileSync(path));
  }
  return hash.digest('hex');
}

/** The service worker keeps the files of this build. */
function writeWorker() {
  const files = readdirSync(join(dist, 'assets'))
    .filter((name) => /\.(js|css|svg)$/.test(name))
    .map((name) => `/assets/${name}`);
  const worker = readFileSync(join(folder, 'src', 'service-worker.js'), 'utf8');
  const filled = worker.replace('__VERSION__', sourcesHash).replace('__FILES__', JSON.stringify(files));
  writeFileSync(join(dist, 'service-worker.js'), filled);
}

/** Compresses every file once, at the highest level. Returns the KB of JavaScript that a first visit loads. */
function compressAll() {
  const page = readFileSync(join(dist, 'index.html'), 'utf8');
  let firstLoadBytes = 0;
  const paths = [
    join(dist, 'index.html'),
    ...readdirSync(join(dist, 'assets')).map((n) => join(dist, 'assets', n)),
  ];
  for (const path of paths) {
    const plain = readFileSync(path);
    const gzip = gzipSync(plain, { level: 9 });
    writeFileSync(`${path}.gz`, gzip);
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    };
    writeFileSync(`${path}.br`, brotliCompressSync(plain, { params }));
    if (path.endsWith('.js') && page.includes(path.slice(dist.length))) firstLoadBytes += gzip.length;
  }
  return Math.round(firstLoadBytes / 1000);
}
