import type { FastifyInstance } from 'fastify';

/** The headers of every response. */
export function addHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Not @fastify/helmet: it builds its headers for each request, which adds 4 to 12 µs to the 100 µs of a `me`.
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      // Pages have their own policy, which replaces this one.
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
    done();
  });
}

/** A browser that came over TLS, which ends at a proxy, uses nothing else for a year (HSTS). */
export function requireTlsFromNowOn(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.protocol === 'https') reply.header('strict-transport-security', 'max-age=31536000');
    done();
  });
}

/** Websites of these origins may call the API from a browser (CORS). */
export async function allowOrigins(app: FastifyInstance, origins: string[] | '*'): Promise<void> {
  const { default: cors } = await import('@fastify/cors');
  await app.register(cors, {
    origin: origins,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'Authorization',
      'Content-Type',
      'Idempotency-Key',
      'If-Match',
      'If-None-Match',
      'Last-Event-ID',
      'MCP-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
      'X-Request-Id',
    ],
    exposedHeaders: [
      'ETag',
      'Link',
      'Location',
      'X-Request-Id',
      'Retry-After',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Idempotency-Replayed',
    ],
    maxAge: 600,
  });
}
