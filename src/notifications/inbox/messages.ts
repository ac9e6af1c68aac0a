import type { MerchantId } from '../../contract/ids.ts';
import { ATTENTION_MESSAGES_MAX, type AttentionMessage, PREVIEW_LENGTH_MAX } from '../../contract/inbox.ts';
import { findConversations } from '../../conversations/store.ts';
import type { Queries } from '../../database/database.ts';
import { type AttentionContext, attentionOf } from '../../delivery/attention.ts';
import { IS_DIRECT, type ListedMessage, listAttention, readDirect } from '../../delivery/queue/attention.ts';
import { existingNotification, isAbout, notificationOf, orExistingNotification } from '../columns.ts';
import { matchAmong, type Search } from './search/find.ts';
import { type Filter, otherConditions } from './tabs.ts';

/** Messages that need attention: answers, and those that somebody wrote without a question. */

/** SQL: which of them a filter leaves. The merchant is $1. One without a question is where the newest notification of its conversation is. */
export function messagesOf(which: 'answers' | 'direct' | 'all', filter: Pick<Filter, 'type' | 'assigned'>) {
  const conditions = otherConditions(filter);
  const isFiltered = conditions.length > 0;
  const condition = {
    answers: existingNotification('$1', 'd', conditions),
    direct: isFiltered ? `${IS_DIRECT} and ${isAbout('$1', 'd', conditions)}` : IS_DIRECT,
    all: isFiltered
      ? isAbout('$1', 'd', conditions)
      : `(${IS_DIRECT} or ${orExistingNotification('$1', 'd')})`,
  }[which];
  return { condition, about: notificationOf('$1', 'd') };
}

/** Those that match a search. */
export async function matchingAmong(
  queries: Queries,
  merchantId: MerchantId,
  search: Search | undefined,
  filter: Filter,
  rows: readonly ListedMessage[],
): Promise<readonly ListedMessage[]> {
  if (!search) return rows;
  const ids = rows.flatMap(({ about }) => about ?? []);
  const matching = await matchAmong(queries, merchantId, search, filter, [...new Set(ids)]);
  return rows.filter(({ about }) => about !== null && matching.has(about));
}

/** A search looks at no more. */
const SEARCHED_MAX = 1000;

/** The first of those without a question. */
export async function readDirectMessages(
  queries: Queries,
  merchantId: MerchantId,
  context: AttentionContext,
  { order, ...filter }: Filter & { order: 'asc' | 'desc' },
  search: Search | undefined,
): Promise<AttentionMessage[]> {
  const limit = search ? SEARCHED_MAX : ATTENTION_MESSAGES_MAX;
  const page = { after: undefined, order, limit, ...messagesOf('direct', filter) };
  const rows = await listAttention(queries, merchantId, context, page);
  const found = await matchingAmong(queries, merchantId, search, filter, rows);
  const shown = found.slice(0, ATTENTION_MESSAGES_MAX);
  if (shown.length === 0) return [];
  const ids = shown.map(({ id }) => id);
  const written = await readDirect(queries, merchantId, ids, PREVIEW_LENGTH_MAX);
  const texts = new Map(written.map((one) => [one.id, one]));
  const conversationIds = [...new Set(written.map((one) => one.conversation_id))];
  const read = await findConversations(queries, merchantId, conversationIds, conversationIds.length);
  const conversations = new Map(read.map((one) => [one.id, one]));
  return shown.flatMap((row) => {
    const message = texts.get(row.id);
    const conversation = conversations.get(message?.conversation_id ?? 0);
    const attention = attentionOf(row, context);
    if (!message || !conversation || !attention) return [];
    const { id, state, recipient, updated_at, about } = row;
    return [
      {
        id,
        text: message.text,
        by: message.sent_by,
        customer: { name: conversation.customer_name, phone: conversation.customer_phone },
        conversation: { id: conversation.id },
        notification_id: about,
        delivery: { id, state, recipient, updated_at },
        attention,
      },
    ];
  });
}
