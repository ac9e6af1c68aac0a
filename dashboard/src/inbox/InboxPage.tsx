import { Button, Skeleton } from '@mantine/core';
import { useMemo, useRef } from 'react';
import { NotificationPane } from '../answer/NotificationPane.tsx';
import type { Notification } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { savePreferences, usePreferences } from '../preferences/preferences.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { useStore } from '../shell/store.ts';
import { useRoomy, useWide } from '../shell/useWide.ts';
import { TelephonePane } from '../telephone/TelephonePane.tsx';
import { BulkBar } from './BulkBar.tsx';
import { useConversations } from './conversations.ts';
import { Filters } from './Filters.tsx';
import { List } from './List.tsx';
import { useNotifications } from './list.ts';
import { NoRows } from './NoRows.tsx';
import { useListKeys } from './useListKeys.ts';
import { applyView, countStates, hidden, selection, view } from './view.ts';

const NONE: readonly Notification[] = [];
const NO_IDS: readonly number[] = [];

export function InboxPage({ id }: { id: number | undefined }) {
  const { t } = useWording();
  const query = useNotifications();
  const items = query.data ?? NONE;
  const shownView = useStore(view);
  const gone = useStore(hidden);
  const chosen = useStore(selection);
  const { oldestFirst, telephone } = usePreferences();
  const wide = useWide();
  const roomy = useRoomy();
  const searchRef = useRef<HTMLInputElement>(null);

  // To find a customer by name, all names must be here: asked for only once somebody searches.
  const searching = shownView.search !== '';
  const everybody = useMemo(
    () => (searching ? [...new Set(items.map(({ conversation_id }) => conversation_id))] : NO_IDS),
    [items, searching],
  );
  const conversations = useConversations(everybody);
  const known = searching ? conversations : undefined;
  const shown = useMemo(
    () => applyView(items, shownView, { hidden: gone, conversations: known ?? new Map(), oldestFirst }),
    [items, shownView, gone, known, oldestFirst],
  );
  const counts = useMemo(() => countStates(items, shownView.type, gone), [items, shownView.type, gone]);
  useListKeys({ shown, openId: id, searchRef });

  const listVisible = wide || id === undefined;
  const paneVisible = wide || id !== undefined;
  const open = id === undefined ? undefined : items.find((item) => item.id === id);
  return (
    <div className="inbox">
      <h1 className="visually-hidden">{t('inbox')}</h1>
      {listVisible && (
        <section className="inbox-list" aria-label={t('inbox')}>
          {chosen.size > 0 ? <BulkBar items={shown} /> : <Filters counts={counts} searchRef={searchRef} />}
          {query.isPending ? (
            <Loading label={t('loading')} />
          ) : query.isError && items.length === 0 ? (
            <EmptyState icon="inbox" title={t('listFailed')}>
              <Button variant="default" onClick={() => void query.refetch()}>
                {t('retry')}
              </Button>
            </EmptyState>
          ) : shown.length === 0 ? (
            <NoRows view={shownView} />
          ) : (
            <List items={shown} openId={id} />
          )}
        </section>
      )}
      {paneVisible && (
        <section className="inbox-pane" aria-label={t('otherType')}>
          <NotificationPane key={id} id={id} known={open} shown={shown} />
        </section>
      )}
      {roomy && telephone && (
        <aside className="inbox-side" aria-label={t('telephoneTitle')}>
          <TelephonePane
            conversationId={open?.conversation_id}
            onClose={() => savePreferences({ telephone: false })}
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
