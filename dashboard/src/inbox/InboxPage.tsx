import { Button } from '@mantine/core';
import { lazy, Suspense, useLayoutEffect, useMemo, useRef } from 'react';
import type { AttentionMessage, InboxItem } from '../../../src/contract/inbox.ts';
import { useOpenGroup } from '../answer/group/useOpenGroup.ts';
import { Pane } from '../answer/Pane.tsx';
import { useTranslation } from '../i18n/translation.tsx';
import { useDeveloperTools } from '../settings/merchant.ts';
import { savePreferences, usePreferences } from '../settings/preferences.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { useRoute } from '../shell/route.ts';
import { useStore } from '../shell/store.ts';
import { useExtraWide, useWide } from '../shell/useScreenWidth.ts';
import { TestPhonePane } from '../testPhone/TestPhonePane.tsx';
import { AttentionMessages } from './attention/AttentionMessages.tsx';
import { fixing } from './attention/fixing.ts';
import { SendAllAgain } from './attention/SendAllAgain.tsx';
import { BulkBar } from './bulk/BulkBar.tsx';
import { rowIdOf, useRows } from './groups.ts';
import { EmptyList } from './list/EmptyList.tsx';
import { Filters } from './list/Filters.tsx';
import { useList } from './list/items.ts';
import { ListNotices } from './list/ListNotices.tsx';
import { itemsIn, type LoadedList } from './list/loaded.ts';
import { ListLoading, NotificationList } from './list/NotificationList.tsx';
import { useInboxShortcuts } from './useInboxShortcuts.ts';
import { isFiltered, readView, select, selection, type View } from './view.ts';

const FixNumberDialog = lazy(async () => ({
  default: (await import('./attention/FixNumberDialog.tsx')).FixNumberDialog,
}));

const NONE: readonly InboxItem[] = [];
const NO_MESSAGES: readonly AttentionMessage[] = [];
const NO_LIST: LoadedList = { pages: [], staleIds: new Set() };

export function InboxPage({ id: openId }: { id: number | undefined }) {
  const { t } = useTranslation();
  const { query: filters } = useRoute();
  const view = useMemo<View>(() => readView(filters), [filters]);
  const query = useList(view);
  const list = query.data ?? NO_LIST;
  const items = useMemo(() => (list.pages.length > 0 ? itemsIn(list) : NONE), [list]);
  const messages = list.pages[0]?.messages ?? NO_MESSAGES;
  const next = list.pages.at(-1)?.next_cursor ?? null;
  const selectedIds = useStore(selection);
  const { showTestPhone } = usePreferences();
  const developerTools = useDeveloperTools();
  const wide = useWide();
  const extraWide = useExtraWide();
  const searchRef = useRef<HTMLInputElement>(null);
  useSelectionOf(view);

  const ordered = view.sort === 'oldest' ? 'asc' : 'desc';
  const rows = useRows(items, { openId, filtered: isFiltered(view), ordered });
  const { id, key, group, leave } = useOpenGroup(openId, rows);
  const rowId = id === undefined ? undefined : rowIdOf(rows.groups, id);
  useInboxShortcuts({ rows, openId: rowId, searchRef });

  const listVisible = wide || id === undefined;
  const paneVisible = wide || id !== undefined;
  const open = id === undefined ? undefined : rows.known.find((item) => item.id === id);
  return (
    <div className="inbox">
      <h1 className="visually-hidden">{t('inbox')}</h1>
      {listVisible && (
        <section className="inbox-list" aria-label={t('inbox')} aria-busy={query.isPlaceholderData}>
          {selectedIds.size > 0 ? (
            <BulkBar items={rows.known} />
          ) : (
            <Filters view={view} searchRef={searchRef} />
          )}
          <ListNotices complete={list.pages.every(({ complete }) => complete)} />
          {view.tab === 'attention' && selectedIds.size === 0 && (
            <SendAllAgain view={view} shown={[...items, ...messages]} />
          )}
          <AttentionMessages messages={messages} alone={items.length === 0 && next === null} />
          {query.isPending ? (
            <ListLoading />
          ) : query.isError && items.length === 0 ? (
            <EmptyState icon="inbox" title={t('listFailed')}>
              <Button variant="default" onClick={() => void query.refetch()}>
                {t('retry')}
              </Button>
            </EmptyState>
          ) : items.length === 0 && next === null ? (
            messages.length === 0 && <EmptyList view={view} />
          ) : (
            <NotificationList {...rows} {...{ view, next, openId: rowId, staleIds: list.staleIds }} />
          )}
        </section>
      )}
      {paneVisible && (
        <section className="inbox-pane" aria-label={t('notification')}>
          <Pane key={key} {...{ id, group, shown: rows.items, onUngroup: leave }} />
        </section>
      )}
      {extraWide && developerTools && showTestPhone && (
        <aside className="inbox-side" aria-label={t('testPhone')}>
          <TestPhonePane
            conversationId={open?.conversation.id}
            onClose={() => savePreferences({ showTestPhone: false })}
          />
        </aside>
      )}
      <NumberToFix />
    </div>
  );
}

/** Actions are about what the user sees: another list, or the same one after another page, has nothing selected. */
function useSelectionOf(view: View): void {
  const shown = JSON.stringify(view);
  useLayoutEffect(
    () => () => {
      if (selection.get().size > 0) select([]);
    },
    [shown],
  );
}

function NumberToFix() {
  const open = useStore(fixing);
  return <Suspense fallback={null}>{open && <FixNumberDialog {...open} />}</Suspense>;
}
