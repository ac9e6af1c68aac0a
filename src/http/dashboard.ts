import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../errors.ts';

/** The pages of the app, which finds its way among them by itself. */
const PAGES = [
  '/',
  '/inbox/:id',
  '/knowledge',
  '/knowledge/:id',
  '/overview',
  '/test-phone',
  '/test-phone/:id',
];

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Styles come from files alone: an injected `style` element does as little as an injected script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const PAGE_HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'x-frame-options': 'DENY',
};
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };

interface BuiltFile {
  type: string;
  etag: string;
  plain: Buffer;
  /** Made with the build, by content coding. */
  packed: Partial<Record<'br' | 'gzip', Buffer>>;
}

const BUILT = fileURLToPath(new URL('../../dashboard/dist', import.meta.url));

/** The merchant's dashboard. Where it has not been built, its place leads to the API's own page. */
export function serveDashboard(app: FastifyInstance, folder = BUILT): void {
  const quiet = { config: { skipRateLimit: true }, schema: { hide: true } as object };
  if (!existsSync(join(folder, 'index.html'))) {
    app.get('/', quiet, async (_request, reply) => reply.redirect('/docs'));
    return;
  }
  const page = readBuilt(join(folder, 'index.html'));
  const assets = new Map(
    readdirSync(join(folder, 'assets'))
      .filter((name) => TYPES[extname(name)])
      .map((name) => [name, readBuilt(join(folder, 'assets', name))]),
  );

  for (const path of PAGES) {
    app.get(path, quiet, async (request, reply) => send(request, reply.headers(PAGE_HEADERS), page));
  }
  app.get('/assets/:name', quiet, async (request, reply) => {
    const asset = assets.get((request.params as { name: string }).name);
    if (!asset) throw notFound();
    return send(request, reply.headers(ASSET_HEADERS), asset);
  });
}

function send(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  reply.headers({ etag: file.etag, vary: 'Accept-Encoding' }).type(file.type);
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  const accepted = String(request.headers['accept-encoding'] ?? '');
  for (const coding of ['br', 'gzip'] as const) {
    const packed = file.packed[coding];
    if (packed && new RegExp(`\\b${coding}\\b(?!;q=0(?:\\.0+)?(?:,|$))`).test(accepted)) {
      return reply.header('content-encoding', coding).send(packed);
    }
  }
  return reply.send(file.plain);
}

function readBuilt(path: string): BuiltFile {
  const plain = readFileSync(path);
  const packed: BuiltFile['packed'] = {};
  if (existsSync(`${path}.br`)) packed.br = readFileSync(`${path}.br`);
  if (existsSync(`${path}.gz`)) packed.gzip = readFileSync(`${path}.gz`);
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  return { type: TYPES[extname(path)] ?? 'application/octet-stream', etag, plain, packed };
}
