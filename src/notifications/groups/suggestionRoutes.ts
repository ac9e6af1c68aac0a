import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import { SuggestionList, SuggestionQuery } from '../../contract/knowledge.ts';
import { notificationNotFound } from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import { limitInvalid, readLimit } from '../../http/paging.ts';
import { checkNothing } from '../../http/schemas.ts';
import { type SuggestionParts, suggestAnswers } from '../../knowledge/suggestions.ts';
import { findQuestion } from './store.ts';

const SUGGESTIONS_MAX = 20;
const SUGGESTIONS_DEFAULT = 5;

/** What the knowledge base and earlier answers say about a notification. */
export async function suggestionRoutes(app: App, parts: SuggestionParts): Promise<void> {
  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/:notification_id/suggestions',
    route('knowledge', 'Suggest answers', {
      operationId: 'suggestAnswers',
      scopes: ['notifications:read'],
      area: 'notification',
      description:
        'Documents and answered notifications that are most similar to this notification’s question, best first.',
      errors: [notificationNotFound(), limitInvalid(SUGGESTIONS_MAX)],
      querystring: SuggestionQuery,
      response: { 200: SuggestionList },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = idIn(request, 'notification_id', notificationNotFound);
      const { limit } = request.query as { limit?: unknown };
      const count = readLimit(limit, SUGGESTIONS_MAX) ?? SUGGESTIONS_DEFAULT;
      const asked = { notificationId: id, question: await findQuestion(parts.database, merchantId, id) };
      return suggestAnswers(parts, merchantId, asked, count);
    },
  );
}
