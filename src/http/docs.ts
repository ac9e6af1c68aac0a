import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import Fastify, { type FastifyInstance } from 'fastify';
import { PACKAGED, shippedFile } from '../installation.ts';
import { OPENAPI_FILE } from './openapi.ts';

const text = (name: string, type = 'text/markdown') => ({
  file: shippedFile(`docs/${name}`),
  type: `${type}; charset=utf-8`,
});
/** What is served as it is, mostly to programs. `/llms.txt` (llmstxt.org) lists the pages for language models. */
const FILES: Readonly<Record<string, { file: URL; type: string }>> = {
  '/openapi.json': { file: OPENAPI_FILE, type: 'application/json; charset=utf-8' },
  '/llms.txt': text('llms.txt', 'text/plain'),
  '/docs/assistant.md': text('assistant.md'),
  '/docs/api.md': text('api.md'),
  '/docs/mcp.md': text('mcp.md'),
  '/docs/channels.md': text('channels.md'),
};

/** Those files, and the page that shows `/openapi.json`. The page's script has 4 MB, so it is loaded on the first visit. */
export function serveDocs(app: FastifyInstance): void {
  let script: Promise<Buffer> | undefined;

  // They have up to 400 kB. To compress that for each request would take 10 ms of CPU, and anybody may ask for it.
  const options = { schema: { hide: true } as object, compress: false as const };
  for (const [path, { file, type }] of Object.entries(FILES)) {
    let document: Document | undefined;
    app.get(path, options, async ({ headers }, reply) => {
      document ??= await loadDocument(file);
      const { plain, zipped } = document;
      reply.type(type).header('vary', 'accept-encoding');
      if (!acceptsGzip(headers['accept-encoding'])) return reply.send(plain);
      return reply.header('content-encoding', 'gzip').send(zipped);
    });
  }

  app.get('/docs', { schema: { hide: true } as object }, async (_request, reply) => {
    const nonce = randomBytes(16).toString('base64');
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy(nonce))
      .send(page(nonce));
  });

  app.get('/docs/scalar.js', { schema: { hide: true } as object }, async (_request, reply) => {
    script ??= loadScript();
    return reply
      .type('text/javascript; charset=utf-8')
      .header('cache-control', 'public, max-age=86400')
      .header('content-encoding', 'gzip')
      .send(await script);
  });
}

interface Document {
  plain: Buffer;
  zipped: Buffer;
}

async function loadDocument(file: URL): Promise<Document> {
  const plain = await readFile(file);
  return { plain, zipped: await promisify(gzip)(plain) };
}

const acceptsGzip = (accepted = '') =>
  accepted.split(',').some((entry) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(entry));

/** Our package has it as a file. */
async function loadScript(): Promise<Buffer> {
  return PACKAGED ? readFile(shippedFile(SCRIPT_FILE)) : makeScript();
}

export const SCRIPT_FILE = 'docs/scalar.js.gz';

/** The library offers its script only through its plugin, so fetch it from a private server. */
export async function makeScript(): Promise<Buffer> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const inner = Fastify();
  await inner.register(reference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
  const { rawPayload } = await inner.inject('/docs/js/scalar.js');
  await inner.close();
  return promisify(gzip)(rawPayload);
}

const policy = (nonce: string) =>
  [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');

const page = (nonce: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta property="csp-nonce" content="${nonce}" nonce="${nonce}">
    <link rel="icon" href="data:,">
    <title>Deskbell API</title>
  </head>
  <body>
    <div id="app"></div>
    <script nonce="${nonce}" src="/docs/scalar.js"></script>
    <script nonce="${nonce}">
      Scalar.createApiReference('#app', {
        url: '/openapi.json',
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        // Turn off everything that calls other servers: the vendor's assistant, hosting and client.
        agent: { disabled: true },
        mcp: { disabled: true },
        showDeveloperTools: 'never',
        authentication: { preferredSecurityScheme: 'bearer' },
        // No token in the browser's storage: a script of another page of this origin could read it.
        persistAuth: false,
      });
    </script>
  </body>
</html>
`;
