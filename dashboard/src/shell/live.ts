import type { QueryClient } from '@tanstack/react-query';
import { listenTogether } from '../api/listenTogether.ts';
import type { Notification } from '../api/types.ts';
import { refreshConversations } from '../inbox/conversations.ts';
import { LIST_KEY } from '../inbox/list.ts';
import { currentRoute } from './route.ts';

/** What each event makes old. */
const STALE: Record<string, readonly string[]> = {
  inbox: ['notifications', 'notification', 'overview', 'conversations', 'telephone'],
  deliveries: ['notification', 'delivery', 'limits', 'telephone'],
  knowledge: ['documents', 'document', 'suggestions'],
};
/** A burst of events is one refresh; a long list is asked for less often than a short one. */
const GATHER_MS = 60;
const LONG_LIST = 2000;
const LONG_GATHER_MS = 500;

export function followEvents(client: QueryClient): () => void {
  const stale = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const refresh = () => {
    timer = undefined;
    const keys = [...stale];
    stale.clear();
    for (const key of keys) void client.invalidateQueries({ queryKey: [key] });
    if (keys.includes('notifications')) refreshConversations(conversationsInSight(client));
  };
  const stop = listenTogether((name) => {
    const keys = name === 'open' ? Object.values(STALE).flat() : (STALE[name] ?? []);
    for (const key of keys) stale.add(key);
    const length = client.getQueryData<readonly Notification[]>(LIST_KEY)?.length ?? 0;
    if (stale.size > 0) timer ??= setTimeout(refresh, length > LONG_LIST ? LONG_GATHER_MS : GATHER_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

const IN_SIGHT_MAX = 50;

/** Those whose reply window one may be looking at. */
function conversationsInSight(client: QueryClient): Set<number> {
  const items = client.getQueryData<readonly Notification[]>(LIST_KEY) ?? [];
  const route = currentRoute();
  const open = route.page === 'inbox' ? items.find(({ id }) => id === route.id) : undefined;
  return new Set(
    [...(open ? [open] : []), ...items.slice(0, IN_SIGHT_MAX)].map(({ conversation_id }) => conversation_id),
  );
}
