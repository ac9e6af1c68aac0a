import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import { KnowledgeGaps } from '../../contract/knowledgeUpkeep.ts';
import { route } from '../../http/openapi.ts';
import { findGaps, type GapParts } from './gaps.ts';

export function gapRoutes(parts: GapParts): FastifyPluginAsyncTypebox {
  return async (app) => {
    requireMerchant(app);
    app.get(
      '/gaps',
      route('knowledge', 'List what no document answers', {
        operationId: 'listKnowledgeGaps',
        scopes: ['notifications:read'],
        description:
          'What customers asked and no document answers, in groups of the same question: pending questions, and those ' +
          'that were answered in the last 90 days without teaching the assistant, among the newest 1,000. Questions ' +
          'that are about one customer only are not among them.',
        response: { 200: KnowledgeGaps },
      }),
      async (request) => ({ gaps: await findGaps(parts, merchantOf(request)) }),
    );
  };
}
