import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { notFound } from '../errors.ts';
import { shippedFile } from '../installation.ts';
import type { SendPage } from './errors.ts';

/** The dashboard's own router handles these paths; each loads the same page. See dashboard/src/shell/addresses.ts. */
const PAGES = [
  '/',
  '/inbox',
  '/inbox/:id',
  '/knowledge',
  '/knowledge/:id',
  '/overview',
  '/settings',
  '/settings/:section',
  '/test-phone',
  '/test-phone/:id',
  '/invite',
  '/reset-password',
];
const ID = /^\d{1,15}$/;
const SECTION = /^(shop|connection|team|account|assistant|developer|data)$/;

/** Programs use these paths. What is unknown there is an error in JSON, also for browsers. */
const NOT_PAGES =
  /^\/(api|session|webhooks|mcp|docs|assets|icons|service-worker\.js|manifest\.webmanifest|\.well-known|openapi\.json|llms\.txt|metrics|healthz|readyz)(\/|$)/;

/** Styles and scripts only load from files: injected `style` and `script` elements have no effect. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // It allows one script only: the service worker.
  'trusted-types deskbell-worker',
].join('; ');

const PAGE_HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'x-frame-options': 'DENY',
};
/** The worker may load the files of the app, to show it without a connection. */
const WORKER_HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
};
const ASSET = /^[\w-]+\.[\w.-]+$/;
const DAY_MS = 24 * 60 * 60_000;
const YEAR_MS = 365 * 24 * 60 * 60_000;

const BUILT = fileURLToPath(shippedFile('dashboard/dist'));

/**
 * The merchant's dashboard. If it has not been built, `/` redirects to the API's documentation. Returns a function that
 * sends the page to people who open an unknown address.
 */
export async function serveDashboard(
  app: FastifyInstance,
  { docs }: { docs: boolean },
): Promise<SendPage | undefined> {
  const quiet = { config: { skipRateLimit: true }, schema: { hide: true } as object };
  const page = join(BUILT, 'index.html');
  if (!existsSync(page)) {
    if (docs) app.get('/', quiet, async (_request, reply) => reply.redirect('/docs'));
    return undefined;
  }
  // The build compresses each file, with Brotli and gzip.
  await app.register(fastifyStatic, { root: BUILT, serve: false, preCompressed: true });

  // The page then shows no links to the documentation.
  const withoutDocs = docs ? undefined : readFileSync(page, 'utf8').replace('<html', '<html data-docs="off"');
  const sendPage = (reply: FastifyReply): FastifyReply => {
    reply.headers(PAGE_HEADERS);
    return withoutDocs === undefined
      ? reply.sendFile('index.html', { cacheControl: false })
      : reply.type('text/html; charset=utf-8').send(withoutDocs);
  };
  const sendUnknownPage: SendPage = (request, reply) => {
    const { method, url, headers } = request;
    if (!['GET', 'HEAD'].includes(method) || !headers.accept?.includes('text/html')) return undefined;
    return NOT_PAGES.test(url.split('?', 1)[0]!) ? undefined : sendPage(reply.code(404));
  };
  for (const path of PAGES) {
    app.get<{ Params: { id?: string; section?: string } }>(path, quiet, (request, reply) => {
      const { id = '0', section = 'shop' } = request.params;
      if (ID.test(id) && SECTION.test(section)) return sendPage(reply);
      const sent = sendUnknownPage(request, reply);
      if (!sent) throw notFound();
      return sent;
    });
  }
  app.get('/assets/:name', quiet, (request, reply) => {
    const { name } = request.params as { name: string };
    if (!ASSET.test(name)) throw notFound();
    // The name of an asset changes with its content.
    return reply.sendFile(name, join(BUILT, 'assets'), { maxAge: YEAR_MS, immutable: true });
  });
  app.get('/service-worker.js', quiet, (_request, reply) =>
    reply.headers(WORKER_HEADERS).sendFile('service-worker.js', { cacheControl: false }),
  );
  app.get('/manifest.webmanifest', quiet, (_request, reply) =>
    reply.header('cache-control', 'no-cache').sendFile('manifest.webmanifest', { cacheControl: false }),
  );
  app.get('/icons/:name', quiet, (request, reply) => {
    const { name } = request.params as { name: string };
    if (!ASSET.test(name)) throw notFound();
    return reply.sendFile(name, join(BUILT, 'icons'), { maxAge: DAY_MS });
  });
  return sendUnknownPage;
}
