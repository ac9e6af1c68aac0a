import { callerOf, merchantOf, requireMerchant } from '../../auth/guard.ts';
import { TIMELINE_LIMIT, Timeline, TimelineQuery } from '../../contract/timeline.ts';
import type { Sending, SendingTo } from '../../delivery/channels/windows.ts';
import { conversationNotFound, invalid } from '../../errors.ts';
import { type App, route } from '../../http/openapi.ts';
import { cursorOf, limitInvalid, readLimit } from '../../http/paging.ts';
import { checkNothing } from '../../http/schemas.ts';
import { reachablePhone } from '../reach.ts';
import { type ConversationParts, conversationIdOf } from '../routes.ts';
import { findConversation } from '../store.ts';
import { wiresOf } from '../wire.ts';
import { type Position, type Questions, readTimeline, settledTurns } from './read.ts';

const BEFORE = /^turn (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([mnd]) (\d{1,15})$/;
const beforeInvalid = () => invalid('before', 'before must be the next_before of a page');

interface Parts extends Pick<ConversationParts, 'database' | 'now' | 'windowsOf' | 'defaultCountry'> {
  questions: Questions;
  sendingTo: SendingTo;
}

export async function timelineRoutes(app: App, parts: Parts): Promise<void> {
  const { database, questions, windowsOf, sendingTo, defaultCountry, now } = parts;

  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/:conversation_id/timeline',
    route('conversations', 'Get the timeline', {
      operationId: 'getTimeline',
      scopes: ['ask', 'notifications:read'],
      description:
        'The end of the conversation, or what was said before: what customer and assistant said, the questions, and ' +
        'what was sent with its state. Each thing is there once: a question that the customer wrote within ten ' +
        'minutes in the same words is that message, and what an assistant recorded of Deskbell’s own messages is ' +
        'left out. A page may have fewer than `limit`. A key does not see what can still be taken back.',
      errors: [conversationNotFound(), limitInvalid(TIMELINE_LIMIT.max), beforeInvalid()],
      querystring: TimelineQuery,
      response: { 200: Timeline },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = conversationIdOf(request);
      const query = request.query as Record<string, unknown>;
      const limit = readLimit(query.limit, TIMELINE_LIMIT.max) ?? TIMELINE_LIMIT.default;
      const before = readBefore(query.before);
      const row = await findConversation(database, merchantId, id);
      if (!row) throw conversationNotFound();
      const { items, last } = await readTimeline({ queries: database, questions }, merchantId, id, {
        before,
        limit,
        now: now(),
      });
      const [conversation] = await wiresOf(windowsOf, merchantId, [row]);
      const phone = await reachablePhone(database, merchantId, row, defaultCountry);
      const sending = phone === undefined ? 'unreachable' : wayOf(await sendingTo(merchantId, phone));
      const nextBefore = last ? cursorOf(`turn ${last.at} ${last.kind} ${last.id}`) : null;
      const shown = callerOf(request).kind === 'key' ? settledTurns(items) : items;
      return { conversation: conversation!, sending, items: shown, next_before: nextBefore } as const;
    },
  );
}

const wayOf = ({ form }: Sending) => form ?? 'closed';

function readBefore(given: unknown): Position | undefined {
  if (given === undefined) return undefined;
  const parts = BEFORE.exec(Buffer.from(String(given), 'base64url').toString());
  if (!parts) throw beforeInvalid();
  const [, at, kind, id] = parts as unknown as [string, string, Position['kind'], string];
  return { at, kind, id: Number(id) };
}
