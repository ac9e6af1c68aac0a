import { Button, Kbd, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import type { Notification, NotificationDetail } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { asDetail, detailKey } from '../inbox/list.ts';
import { asResolved, resolving } from '../inbox/resolving.ts';
import { hidden } from '../inbox/view.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { go } from '../shell/route.ts';
import { useStore } from '../shell/store.ts';
import { AnswerForm } from './AnswerForm.tsx';
import { Asked } from './Asked.tsx';
import { Outcome } from './Outcome.tsx';
import { Suggestions } from './Suggestions.tsx';
import { refusals } from './submit.ts';

interface PaneProps {
  id: number | undefined;
  /** From the list: shown at once, before the whole has come. */
  known: Notification | undefined;
  shown: readonly Notification[];
}

export function NotificationPane({ id, known, shown }: PaneProps) {
  const wording = useWording();
  const { t } = wording;
  const gone = useStore(hidden);
  const soon = useStore(resolving);
  const refusal = useStore(refusals).get(id ?? -1);
  const query = useQuery({
    queryKey: detailKey(id ?? 0),
    queryFn: ({ signal }) => ask<NotificationDetail>(calls.notification(id!), { signal }),
    enabled: id !== undefined,
    ...(known ? { placeholderData: asDetail(known) } : {}),
  });

  // An empty list explains itself, and offers nothing to choose.
  if (id === undefined) return shown.length > 0 ? <NothingChosen /> : null;
  const missing = query.error instanceof Problem && query.error.status === 404;
  if (missing || gone.has(id)) {
    return (
      <EmptyState icon="inbox" title={t('notFound')} hint={t('notFoundHint')}>
        <Button variant="default" onClick={() => go({ page: 'inbox', id: undefined })}>
          {t('back')}
        </Button>
      </EmptyState>
    );
  }
  const item = query.data && asResolved(query.data, soon);
  if (!item) {
    return query.isError ? (
      <EmptyState icon="inbox" title={t('startFailed')}>
        <Button variant="default" onClick={() => void query.refetch()}>
          {t('retry')}
        </Button>
      </EmptyState>
    ) : (
      <div className="pane-loading" role="status" aria-label={t('loading')}>
        <Skeleton height={28} width="40%" />
        <Skeleton height={80} />
        <Skeleton height={140} />
      </div>
    );
  }
  const pending = item.status === 'requested';
  const next = shown.find((other) => other.status === 'requested' && other.id !== id);
  return (
    <div className="pane">
      <Asked item={item} />
      <div className="pane-body">
        <div className="pane-main">
          {pending ? (
            <AnswerForm item={item} />
          ) : (
            <Outcome item={item} refusal={refusal} loading={query.isPlaceholderData} />
          )}
          {!pending && next && (
            <Button
              variant="default"
              className="next"
              onClick={() => go({ page: 'inbox', id: next.id }, 'replace')}
            >
              {t('nextPending')} <Kbd className="key-hint">j</Kbd>
            </Button>
          )}
        </div>
        {pending && <Suggestions item={item} />}
      </div>
    </div>
  );
}

function NothingChosen() {
  const { t } = useWording();
  const keys = { next: 'j', previous: 'k', open: 'Enter', help: '?' };
  // The keys stand within the sentence, wherever the language puts them.
  const parts = t('chooseOneHint').split(/\{(\w+)\}/);
  return (
    <EmptyState
      icon="bell"
      title={t('chooseOne')}
      hint={
        <span className="key-hint">
          {parts.map((part, index) =>
            index % 2 === 0 ? part : <Kbd key={part}>{keys[part as keyof typeof keys] ?? part}</Kbd>,
          )}
        </span>
      }
    />
  );
}
