import { Button, Skeleton } from '@mantine/core';
import { useMemo, useRef } from 'react';
import { useOpenGroup } from '../answer/group/useOpenGroup.ts';
import { Pane } from '../answer/Pane.tsx';
import type { Notification } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { savePreferences, usePreferences } from '../settings/preferences.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { useRoute } from '../shell/route.ts';
import { useStore } from '../shell/store.ts';
import { useExtraWide, useWide } from '../shell/useScreenWidth.ts';
import { TestPhonePane } from '../testPhone/TestPhonePane.tsx';
import { BulkBar } from './BulkBar.tsx';
import { useConversations } from './conversations.ts';
import { EmptyList } from './EmptyList.tsx';
import { Filters } from './Filters.tsx';
import { rowIdOf, useRows } from './groups.ts';
import { NotificationList } from './NotificationList.tsx';
import { useNotifications } from './notifications.ts';
import { useInboxShortcuts } from './useInboxShortcuts.ts';
import { applyView, countStates, readView, selection } from './view.ts';

const NONE: readonly Notification[] = [];
const NO_IDS: readonly number[] = [];

export function InboxPage({ id: openId }: { id: number | undefined }) {
  const { t } = useTranslation();
  const query = useNotifications();
  const items = query.data ?? NONE;
  const { query: filters } = useRoute();
  const shownView = useMemo(() => readView(filters), [filters]);
  const selectedIds = useStore(selection);
  const { oldestFirst, showTestPhone } = usePreferences();
  const wide = useWide();
  const extraWide = useExtraWide();
  const searchRef = useRef<HTMLInputElement>(null);

  // Searching by name needs the names of all customers. They are loaded when a search starts.
  const searching = shownView.search !== '';
  const conversationIds = useMemo(
    () => (searching ? [...new Set(items.map(({ conversation_id }) => conversation_id))] : NO_IDS),
    [items, searching],
  );
  const conversations = useConversations(conversationIds);
  const known = searching ? conversations : undefined;
  const shown = useMemo(
    () => applyView(items, shownView, { conversations: known ?? new Map(), oldestFirst }),
    [items, shownView, known, oldestFirst],
  );
  const counts = useMemo(() => countStates(items, shownView.type), [items, shownView.type]);
  const rows = useRows(shown);
  const { id, key, group, leave } = useOpenGroup(openId, { rows, all: items, shown });
  const rowId = id === undefined ? undefined : rowIdOf(rows.groups, id);
  useInboxShortcuts({ rows, openId: rowId, searchRef });

  const listVisible = wide || id === undefined;
  const paneVisible = wide || id !== undefined;
  const open = id === undefined ? undefined : items.find((item) => item.id === id);
  return (
    <div className="inbox">
      <h1 className="visually-hidden">{t('inbox')}</h1>
      {listVisible && (
        <section className="inbox-list" aria-label={t('inbox')}>
          {selectedIds.size > 0 ? (
            <BulkBar items={shown} />
          ) : (
            <Filters counts={counts} view={shownView} searchRef={searchRef} />
          )}
          {query.isPending ? (
            <Loading label={t('loading')} />
          ) : query.isError && items.length === 0 ? (
            <EmptyState icon="inbox" title={t('listFailed')}>
              <Button variant="default" onClick={() => void query.refetch()}>
                {t('retry')}
              </Button>
            </EmptyState>
          ) : shown.length === 0 ? (
            <EmptyList view={shownView} />
          ) : (
            <NotificationList {...rows} list={new URLSearchParams(filters).toString()} openId={rowId} />
          )}
        </section>
      )}
      {paneVisible && (
        <section className="inbox-pane" aria-label={t('notification')}>
          <Pane key={key} {...{ id, group, known: open, shown: rows.items, all: items, onUngroup: leave }} />
        </section>
      )}
      {extraWide && showTestPhone && (
        <aside className="inbox-side" aria-label={t('testPhone')}>
          <TestPhonePane
            conversationId={open?.conversation_id}
            onClose={() => savePreferences({ showTestPhone: false })}
          />
        </aside>
      )}
    </div>
  );
}

function Loading({ label }: { label: string }) {
  return (
    <div className="list-loading" role="status" aria-label={label}>
      {[0, 1, 2, 3, 4].map((row) => (
        <Skeleton key={row} height={72} radius="md" />
      ))}
    </div>
  );
}
