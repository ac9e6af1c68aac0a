import { merchantOf, requireOwner, whoOf } from '../auth/guard.ts';
import { ERASING, ErasureStarted } from '../contract/erasure.ts';
import { CHANGES, type Database } from '../database/database.ts';
import { conversationNotFound, ownerRequired } from '../errors.ts';
import { readId } from '../http/ids.ts';
import { type App, route } from '../http/openapi.ts';
import { checkNothing } from '../http/schemas.ts';
import { beginErasure } from './begin.ts';

interface ErasureParts {
  database: Database;
  now: () => Date;
}

export async function erasureRoutes(app: App, { database, now }: ErasureParts): Promise<void> {
  requireOwner(app);
  checkNothing(app);
  app.delete(
    '/:conversation_id',
    route('conversations', 'Erase a customer', {
      operationId: 'eraseCustomer',
      description:
        'For owners. Removes the customer of this conversation for good: number, name and words, in all of the ' +
        'merchant’s conversations with the same number. The customer is gone at once; what they wrote is ' +
        'removed within a minute, or longer if it is very much. Messages that wait are not sent. It cannot be undone.',
      errors: [ownerRequired(), conversationNotFound()],
      response: { 202: ErasureStarted },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const id = readId((request.params as { conversation_id: string }).conversation_id);
      const by = { who: whoOf(request), at: now() };
      const ids =
        id === undefined
          ? undefined
          : await database.transaction((tx) => beginErasure(tx, merchantId, id, by));
      if (!ids) throw conversationNotFound();
      database.signal(CHANGES);
      return reply.code(202).send({ message: ERASING, conversation_ids: ids });
    },
  );
}
