import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { merchantOf, requireMerchant } from '../auth/guard.ts';
import { SuggestionList, SuggestionQuery } from '../contract/knowledge.ts';
import { invalid, notificationNotFound } from '../errors.ts';
import { idIn } from '../http/ids.ts';
import { route } from '../http/openapi.ts';
import { readLimit } from '../http/paging.ts';
import { checkNothing } from '../http/schemas.ts';
import { type SuggestionParts, suggestAnswers } from './suggestions.ts';

const SUGGESTIONS_MAX = 20;
const SUGGESTIONS_DEFAULT = 5;

/** A notification route that belongs to the knowledge base: suggested answers. */
export function suggestionRoutes(parts: SuggestionParts): FastifyPluginAsyncTypebox {
  return async (app) => {
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
        errors: [
          notificationNotFound(),
          invalid('limit', `limit must be an integer from 1 to ${SUGGESTIONS_MAX}`),
        ],
        querystring: SuggestionQuery,
        response: { 200: SuggestionList },
      }),
      async (request) => {
        const id = idIn(request, 'notification_id', notificationNotFound);
        const { limit } = request.query as { limit?: unknown };
        return suggestAnswers(
          parts,
          merchantOf(request),
          id,
          readLimit(limit, SUGGESTIONS_MAX) ?? SUGGESTIONS_DEFAULT,
        );
      },
    );
  };
}
