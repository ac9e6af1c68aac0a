import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef } from 'react';
import { useTranslation } from '../i18n/translation.tsx';
import { useScrollMemory } from '../shell/scrollMemory.ts';
import { useStore } from '../shell/store.ts';
import { useAsks } from './asks.ts';
import { useConversations } from './conversations.ts';
import { idsOfRow, type Rows } from './groups.ts';
import { NotificationRow } from './NotificationRow.tsx';
import { cursor, selection } from './view.ts';

/** Keep in sync with inbox.css. With a fixed height, 10,000 rows cost as much as ten. */
const ROW_HEIGHT = 104;

export function NotificationList({
  items,
  groups,
  list,
  openId,
}: Rows & {
  /** Changes with the filters. */
  list: string;
  openId: number | undefined;
}) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLElement>(null);
  const selectedIds = useStore(selection);
  const current = useStore(cursor);
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => items[index]!.id,
    overscan: 8,
    initialOffset: useScrollMemory(scroller, { list: `inbox ${list}` }),
  });
  const rows = virtualizer.getVirtualItems();
  const first = rows[0]?.index ?? 0;
  const last = rows.at(-1)?.index ?? -1;
  const visible = useMemo(() => items.slice(first, last + 1), [items, first, last]);
  const ids = useMemo(() => [...new Set(visible.map(({ conversation_id }) => conversation_id))], [visible]);
  const customers = useConversations(ids);
  const asks = useAsks(visible);

  const at = items.findIndex(({ id }) => id === current);
  useEffect(() => {
    if (at >= 0) virtualizer.scrollToIndex(at, { align: 'auto' });
  }, [at, virtualizer]);

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section ref={scroller} className="list" aria-label={t('notificationList')} tabIndex={0}>
      <ul className="list-rows" style={{ height: virtualizer.getTotalSize() }}>
        {rows.map(({ index, key, start }) => {
          const item = items[index]!;
          return (
            <li
              key={key}
              className="list-row"
              aria-setsize={items.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)` }}
            >
              <NotificationRow
                item={item}
                group={groups.get(item.id)}
                customer={customers.get(item.conversation_id)}
                ask={asks.get(item.id)?.ask}
                open={item.id === openId}
                atCursor={item.id === current}
                selected={idsOfRow(groups, item.id).every((id) => selectedIds.has(id))}
              />
            </li>
          );
        })}
      </ul>
    </section>
  );
}
