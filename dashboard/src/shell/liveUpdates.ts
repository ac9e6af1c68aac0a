import type { QueryClient } from '@tanstack/react-query';
import { subscribeShared } from '../api/sharedEvents.ts';
import type { NotificationDetail } from '../api/types.ts';
import { refreshConversations } from '../inbox/conversations.ts';
import { refreshCounts } from '../inbox/counts.ts';
import { refreshLists } from '../inbox/list/items.ts';
import { detailKey } from '../inbox/notifications.ts';
import { currentRoute } from './route.ts';

/** The queries to reload after each event. The list and its counts are refreshed in parts, not reloaded. */
const QUERIES_BY_EVENT: Record<string, readonly (readonly string[])[]> = {
  inbox: [
    ...[['inbox', 'items'], ['inbox', 'newest'], ['groups'], ['notification'], ['overview']],
    ...[['conversations'], ['testPhone'], ['notes'], ['gaps'], ['timeline']],
  ],
  // A message that fails needs attention.
  deliveries: [['notification'], ['delivery'], ['limits'], ['testPhone'], ['timeline']],
  conversations: [['timeline'], ['testPhone']],
  knowledge: [['documents'], ['document'], ['suggestions'], ['teaching'], ['gaps']],
  presence: [['presence']],
};
const LIST_EVENTS = ['inbox', 'deliveries', 'open'];
/** Events that arrive together cause one refresh. */
const BATCH_MS = 60;

export function startLiveUpdates(client: QueryClient): () => void {
  const events = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const refresh = () => {
    timer = undefined;
    const names = events.has('open') ? Object.keys(QUERIES_BY_EVENT) : [...events];
    const keys = new Map(
      names.flatMap((name) => QUERIES_BY_EVENT[name] ?? []).map((key) => [key.join(), key]),
    );
    for (const queryKey of keys.values()) void client.invalidateQueries({ queryKey });
    if (LIST_EVENTS.some((name) => events.has(name))) {
      void refreshLists(client);
      refreshCounts(client);
    }
    if (names.includes('inbox')) refreshConversations(openConversation(client));
    events.clear();
  };
  const stop = subscribeShared((name) => {
    if (name !== 'open' && !(name in QUERIES_BY_EVENT)) return;
    events.add(name);
    timer ??= setTimeout(refresh, BATCH_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

/** A customer who writes again extends the reply window. */
function openConversation(client: QueryClient): Set<number> {
  const { page, id } = currentRoute();
  const open =
    page === 'inbox' && id !== undefined ? client.getQueryData<NotificationDetail>(detailKey(id)) : undefined;
  return new Set(open ? [open.conversation_id] : []);
}
