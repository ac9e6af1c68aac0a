import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { merchantOf, requireMerchant } from '../auth/guard.ts';
import { CONVERSATIONS_MAX, ConversationList, ConversationQuery } from '../contract/conversations.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { invalid, TOKEN_ERRORS } from '../errors.ts';
import { readId } from '../http/ids.ts';
import { describeRoute } from '../http/openapi.ts';
import { findConversations } from './store.ts';

export interface ConversationParts {
  database: Database;
  /** Until when each of these customers may receive free text. */
  windowsOf: (merchantId: MerchantId, phones: readonly string[]) => Promise<(Date | undefined)[]>;
}

const idsInvalid = () =>
  invalid('ids', `ids must be at most ${CONVERSATIONS_MAX} whole numbers, separated by commas`);

export function conversationRoutes({ database, windowsOf }: ConversationParts): FastifyPluginAsyncTypebox {
  return async (app) => {
    requireMerchant(app);

    app.get(
      '/',
      {
        config: { scopes: ['ask', 'notifications:read'] },
        prefixTrailingSlash: 'slash',
        validatorCompiler: () => () => true,
        schema: {
          ...describeRoute('conversations', 'List conversations', {
            description:
              `The merchant’s conversations, newest first: those in \`ids\`, or the newest ${CONVERSATIONS_MAX}. ` +
              'Ids that do not belong to the merchant are left out.',
            errors: [...TOKEN_ERRORS, idsInvalid()],
          }),
          querystring: ConversationQuery,
          response: { 200: ConversationList },
        },
      },
      async (request) => {
        const merchantId = merchantOf(request);
        const ids = readIds((request.query as Record<string, unknown>).ids);
        const rows = await findConversations(database, merchantId, ids, CONVERSATIONS_MAX);
        const windows = await windowsOf(
          merchantId,
          rows.map(({ customer_phone }) => customer_phone),
        );
        return rows.map((row, index) => ({
          ...row,
          window_open_until: windows[index]?.toISOString() ?? null,
        }));
      },
    );
  };
}

function readIds(given: unknown): number[] | undefined {
  if (given === undefined) return undefined;
  if (given === '') return [];
  const parts = [given].flat().flatMap((part) => String(part).split(','));
  const ids = parts.map((part) => readId(part.trim()));
  if (ids.length > CONVERSATIONS_MAX || ids.includes(undefined)) throw idsInvalid();
  return ids as number[];
}
