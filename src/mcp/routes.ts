import type { FastifyPluginAsync } from 'fastify';
import { callerOf, requireMerchant } from '../auth/guard.ts';
import { liftDeadline } from '../database/deadline.ts';

/** The Model Context Protocol over HTTP. Its library takes 30 MB, so it is loaded with the first request. */
export const mcpRoutes: FastifyPluginAsync = async (app) => {
  requireMerchant(app);
  app.post(
    '/mcp',
    // An event stream for clients of 2025: each event must be sent immediately.
    { compress: false, config: { isStream: true }, schema: { hide: true } as object },
    async (request, reply) => {
      const { answerClient } = await import('./http.ts');
      // A tool may wait for the merchant. Each call to the API has its own deadline.
      liftDeadline();
      return answerClient(request, reply, () => callerOf(request) !== undefined);
    },
  );
};
