import { Button, Skeleton } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { useScrollMemory } from '../../shell/scrollMemory.ts';
import { useStore } from '../../shell/store.ts';
import { presentAt, usePresences } from '../../team/presences.ts';
import { idsOfRow, type Rows } from '../groups.ts';
import { cursor, failures, queryOfView, select, selection, toggleSelected, type View } from '../view.ts';
import { loadMore, refreshItems, setNextPageFailed, useNextPageFailed, visibleIds } from './items.ts';
import { NotificationRow } from './NotificationRow.tsx';

/** Keep in sync with inbox.css. With fixed heights, 10,000 rows cost as much as ten. */
const ROW_HEIGHT = 104;
const ATTENTION_ROW_HEIGHT = 148;
/** The next page is loaded when so many rows are left. */
const ROWS_AHEAD = 15;
const SKELETON_ROWS = 3;
/** Fast scrolling does not load what is already gone. */
const SCROLLED_MS = 150;

interface ListProps extends Rows {
  view: View;
  openId: number | undefined;
  /** The cursor of the next page, if there is one. */
  next: string | null;
  staleIds: ReadonlySet<number>;
}

export function NotificationList({ items, groups, view, openId, next, staleIds }: ListProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const scroller = useRef<HTMLElement>(null);
  const selectedIds = useStore(selection);
  const failed = useStore(failures);
  const current = useStore(cursor);
  const nextFailed = useNextPageFailed(view);
  const tall = view.tab === 'attention';
  const list = new URLSearchParams(queryOfView(view)).toString();
  const start = useScrollMemory(scroller, { list: `inbox ${list}` });
  const virtualizer = useVirtualizer({
    count: items.length + (next === null ? 0 : SKELETON_ROWS),
    getScrollElement: () => scroller.current,
    estimateSize: () => (tall ? ATTENTION_ROW_HEIGHT : ROW_HEIGHT),
    getItemKey: (index) => items[index]?.id ?? `skeleton-${index - items.length}`,
    overscan: 8,
    initialOffset: start,
  });
  const rows = virtualizer.getVirtualItems();
  const last = rows.at(-1)?.index ?? -1;

  useEffect(() => {
    if (next !== null && !nextFailed && last >= items.length - ROWS_AHEAD) void loadMore(client, view);
  }, [client, view, next, nextFailed, last, items.length]);

  const visible = rows.flatMap(({ index }) => (items[index] ? idsOfRow(groups, items[index].id) : []));
  const visibleKey = visible.join();
  useEffect(() => {
    const ids = visibleKey === '' ? [] : visibleKey.split(',').map(Number);
    visibleIds.set(ids);
    const stale = ids.filter((id) => staleIds.has(id)).slice(0, 100);
    if (stale.length === 0) return;
    const timer = setTimeout(() => void refreshItems(client, view, stale).catch(() => {}), SCROLLED_MS);
    return () => clearTimeout(timer);
  }, [client, view, visibleKey, staleIds]);

  const presences = usePresences(visibleKey);

  const at = items.findIndex(({ id }) => id === current);
  // Only when it moves: a new question above it, or Back, leaves the list where the user has scrolled it.
  const followed = useRef(start > 0 ? current : undefined);
  useEffect(() => {
    if (at < 0 || followed.current === current) return;
    followed.current = current;
    virtualizer.scrollToIndex(at, { align: 'auto' });
  }, [at, current, virtualizer]);

  /** With Shift, everything from the row that was selected last. */
  const anchor = useRef<number>(undefined);
  const toggle = (id: number, range: boolean) => {
    const from = items.findIndex((item) => item.id === anchor.current);
    const to = items.findIndex((item) => item.id === id);
    if (range && from >= 0) {
      const between = items.slice(Math.min(from, to), Math.max(from, to) + 1);
      select([...selectedIds, ...between.flatMap((item) => idsOfRow(groups, item.id))]);
      return;
    }
    anchor.current = id;
    toggleSelected(idsOfRow(groups, id));
  };
  const latest = useRef(toggle);
  latest.current = toggle;
  const onToggle = useRef((id: number, range: boolean) => latest.current(id, range)).current;

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section ref={scroller} className="list" aria-label={t('notificationList')} tabIndex={0}>
      <ul className="list-rows" style={{ height: virtualizer.getTotalSize() }}>
        {rows.map(({ index, key, start }) => {
          const item = items[index];
          return (
            <li
              key={key}
              className="list-row"
              data-tall={tall || undefined}
              aria-setsize={next === null ? items.length : -1}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)` }}
            >
              {item ? (
                <NotificationRow
                  item={item}
                  group={groups.get(item.id)}
                  open={item.id === openId}
                  atCursor={item.id === current}
                  selected={idsOfRow(groups, item.id).every((id) => selectedIds.has(id))}
                  failure={failed.get(item.id)}
                  withReason={tall}
                  present={presentAt(presences, idsOfRow(groups, item.id))}
                  onToggle={onToggle}
                />
              ) : nextFailed && index === items.length ? (
                <Button
                  variant="default"
                  className="list-retry"
                  onClick={() => setNextPageFailed(view, false)}
                >
                  {t('loadMoreFailed')}
                </Button>
              ) : (
                <RowSkeleton />
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function RowSkeleton() {
  return (
    <div className="row row-skeleton" aria-hidden="true">
      <Skeleton circle height={36} />
      <div>
        <Skeleton height={14} width="45%" />
        <Skeleton height={14} />
        <Skeleton height={12} width="60%" />
      </div>
    </div>
  );
}

/** Until the first page has loaded. */
export function ListLoading() {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('loading')}>
      {[0, 1, 2, 3, 4].map((row) => (
        <div key={row} className="list-skeleton">
          <RowSkeleton />
        </div>
      ))}
    </div>
  );
}
