import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import { KnowledgeGaps } from '../../contract/knowledgeUpkeep.ts';
import { type App, route } from '../../http/openapi.ts';
import { findGaps, type GapParts } from './gaps.ts';

export async function gapRoutes(app: App, parts: GapParts): Promise<void> {
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
}
