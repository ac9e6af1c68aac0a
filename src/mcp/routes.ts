import type { FastifyPluginAsync } from 'fastify';
import { callerOf, requireMerchant } from '../auth/guard.ts';
import { SCOPE_NAMES } from '../contract/machineKeys.ts';
import { liftDeadline } from '../database/deadline.ts';
import { invalid, keyRequired, originRefused } from '../errors.ts';

export interface McpParts {
  corsOrigins: readonly string[] | '*';
  publicUrl: string | undefined;
}

/** The Model Context Protocol over HTTP. Its library takes 30 MB, so it is loaded with the first request. */
export const mcpRoutes: FastifyPluginAsync<McpParts> = async (app, { corsOrigins, publicUrl }) => {
  // The specification requires this, against DNS rebinding. Programs other than browsers rarely send an origin.
  app.addHook('onRequest', async ({ headers: { origin } }) => {
    if (origin === undefined || origin === publicUrl || corsOrigins === '*') return;
    if (!corsOrigins.includes(origin)) throw originRefused();
  });
  requireMerchant(app);
  app.post(
    '/mcp',
    // An event stream for clients of 2025: each event must be sent immediately.
    {
      compress: false,
      config: { isStream: true, scopes: SCOPE_NAMES },
      schema: { hide: true } as object,
    },
    async (request, reply) => {
      const caller = callerOf(request);
      if (caller.kind !== 'key') throw keyRequired();
      // Each message of a batch could wait. The specification has had none since June 2025.
      if (Array.isArray(request.body)) throw invalid('body', 'body must be one message, not a batch');
      const { answerClient } = await import('./http.ts');
      // A tool may wait for the merchant. Each call to the API has its own deadline.
      liftDeadline();
      return answerClient(request, reply, caller.scopes);
    },
  );
};
