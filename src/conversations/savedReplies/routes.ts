import type { FastifyRequest } from 'fastify';
import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import { MessageOf } from '../../contract/common.ts';
import {
  SAVED_REPLIES_MAX,
  SavedReply,
  SavedReplyBody,
  SavedReplyChange,
  SavedReplyList,
} from '../../contract/savedReplies.ts';
import type { Database } from '../../database/database.ts';
import { notForKeys, required, savedReplyNotFound, tooManySavedReplies } from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import { checkBodiesOnly } from '../../http/schemas.ts';
import { deleteSavedReply, insertSavedReply, listSavedReplies, updateSavedReply } from './store.ts';

const DELETED = 'Saved reply deleted.';

/** For everybody who answers, owners and members. */
export async function savedReplyRoutes(
  app: App,
  parts: { database: Database; now: () => Date },
): Promise<void> {
  const { database, now } = parts;
  requireMerchant(app);
  checkBodiesOnly(app);

  app.get(
    '/',
    route('conversations', 'List saved replies', {
      operationId: 'listSavedReplies',
      description: `The texts that people insert into their messages, by title. At most ${SAVED_REPLIES_MAX}.`,
      errors: [notForKeys()],
      response: { 200: SavedReplyList },
    }),
    (request) => listSavedReplies(database, merchantOf(request)),
  );

  app.post(
    '/',
    route('conversations', 'Save a reply', {
      operationId: 'createSavedReply',
      description: 'Keeps a text that people can insert into their messages.',
      errors: [notForKeys(), required('title'), tooManySavedReplies(SAVED_REPLIES_MAX)],
      body: SavedReplyBody,
      response: { 200: SavedReply },
    }),
    (request) => {
      const merchantId = merchantOf(request);
      return database.transaction((tx) => insertSavedReply(tx, merchantId, request.body, now()));
    },
  );

  app.patch(
    '/:saved_reply_id',
    route('conversations', 'Change a saved reply', {
      operationId: 'changeSavedReply',
      description: 'Changes the given fields.',
      errors: [notForKeys(), required('title'), savedReplyNotFound()],
      body: SavedReplyChange,
      response: { 200: SavedReply },
    }),
    async (request) => {
      const id = idOf(request);
      const { title, text } = request.body;
      if (title === undefined && text === undefined) throw required('title');
      const changed = await updateSavedReply(database, merchantOf(request), id, request.body, now());
      if (!changed) throw savedReplyNotFound();
      return changed;
    },
  );

  app.delete(
    '/:saved_reply_id',
    route('conversations', 'Delete a saved reply', {
      operationId: 'deleteSavedReply',
      description: 'Messages that it was inserted into do not change.',
      errors: [notForKeys(), savedReplyNotFound()],
      response: { 200: MessageOf(DELETED) },
    }),
    async (request) => {
      if (!(await deleteSavedReply(database, merchantOf(request), idOf(request)))) throw savedReplyNotFound();
      return { message: DELETED };
    },
  );
}

/** An invalid id belongs to no saved reply. */
const idOf = (request: FastifyRequest) => idIn(request, 'saved_reply_id', savedReplyNotFound);
