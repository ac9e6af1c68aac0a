import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import { KnowledgeGaps } from '../../contract/knowledgeUpkeep.ts';
import { TOKEN_ERRORS } from '../../errors.ts';
import { describeRoute } from '../../http/openapi.ts';
import { findGaps, type GapParts } from './gaps.ts';

export function gapRoutes(parts: GapParts): FastifyPluginAsyncTypebox {
  return async (app) => {
    requireMerchant(app);
    app.get(
      '/gaps',
      {
        config: { scopes: ['notifications:read'] },
        schema: {
          ...describeRoute('knowledge', 'List what no document answers', {
            operationId: 'listKnowledgeGaps',
            description:
              'What customers asked and no document answers, in groups of the same question: pending questions, and those ' +
              'that were answered in the last 90 days without teaching the assistant, among the newest 1,000. Questions ' +
              'that are about one customer only are not among them.',
            errors: TOKEN_ERRORS,
          }),
          response: { 200: KnowledgeGaps },
        },
      },
      async (request) => ({ gaps: await findGaps(parts, merchantOf(request)) }),
    );
  };
}
