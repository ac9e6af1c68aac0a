import { Button, Kbd, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useReducer } from 'react';
import type { InboxItem } from '../../../src/contract/inbox.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ApiError } from '../api/error.ts';
import type { NotificationDetail } from '../api/types.ts';
import { InConversation } from '../conversation/InConversation.tsx';
import { useTranslation } from '../i18n/translation.tsx';
import { AttentionNotice } from '../inbox/attention/AttentionNotice.tsx';
import { detailKey } from '../inbox/notifications.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { navigate } from '../shell/route.ts';
import { useStore } from '../shell/store.ts';
import { Presence } from '../team/Presence.tsx';
import { AnswerForm } from './AnswerForm.tsx';
import { beingSent } from './beingSent.ts';
import { othersAnswer } from './contested.ts';
import { moveOn } from './moveOn.ts';
import { NotificationHeader } from './NotificationHeader.tsx';
import { Suggestions } from './Suggestions.tsx';
import { SentAnswer } from './sent/SentAnswer.tsx';
import { SentToMany } from './sent/SentToMany.tsx';
import { rejections } from './submit.ts';
import { broughtBack } from './undo.ts';

interface PaneProps {
  id: number | undefined;
  shown: readonly InboxItem[];
}

export function NotificationPane({ id, shown }: PaneProps) {
  const translation = useTranslation();
  const { t } = translation;
  // A rejected answer may show that somebody else was faster.
  useStore(rejections);
  useStore(beingSent);
  const draftsBack = useStore(broughtBack);
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  const query = useQuery<NotificationDetail>({
    queryKey: detailKey(id ?? 0),
    queryFn: ({ signal }) => request<NotificationDetail>(calls.notification(id!), { signal }),
    enabled: id !== undefined,
  });

  // An empty list shows its own message.
  if (id === undefined) return shown.length > 0 ? <NothingSelected /> : null;
  const missing = query.error instanceof ApiError && query.error.status === 404;
  if (missing) {
    return (
      <EmptyState icon="inbox" title={t('notFound')} hint={t('notFoundHint')}>
        <Button variant="default" onClick={() => navigate({ page: 'inbox', id: undefined })}>
          {t('back')}
        </Button>
      </EmptyState>
    );
  }
  const item = query.data;
  if (!item) {
    return query.isError ? (
      <EmptyState icon="inbox" title={t('serverUnreachable')}>
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
  const others = othersAnswer(item);
  const next = nextPending(shown, id);
  return (
    <div className="pane">
      <NotificationHeader item={item} />
      <div className="pane-body">
        <div className="pane-main">
          <InConversation
            key={id}
            item={item}
            isPending={pending}
            isLocked={others !== undefined}
            answer={
              pending || others
                ? undefined
                : (bubble) => (
                    <SentAnswer item={item} bubble={bubble} loading={query.isPlaceholderData}>
                      <AttentionNotice id={id} />
                      <SentToMany id={id} />
                    </SentAnswer>
                  )
            }
          >
            {/* The same form, with its text and its focus, when somebody else answers while the user writes. */}
            {({ onFollowUp, canQuote }) =>
              (pending || others) && (
                <>
                  <Presence id={id} />
                  <AnswerForm
                    key={draftsBack.get(id) ?? 0}
                    {...{ item, others, onFollowUp, canQuote }}
                    onSent={() => moveOn(id, next?.id)}
                    onDiscarded={renderAgain}
                  />
                </>
              )
            }
          </InConversation>
          {!pending && !others && next && (
            <Button
              variant="default"
              className="next"
              onClick={() => navigate({ page: 'inbox', id: next.id }, 'replace')}
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

/** The one below in the list, or the first. */
function nextPending(shown: readonly InboxItem[], id: number): InboxItem | undefined {
  const at = shown.findIndex((item) => item.id === id);
  const isNext = (item: InboxItem) => item.status === 'requested' && item.id !== id;
  return shown.slice(at + 1).find(isNext) ?? shown.find(isNext);
}

function NothingSelected() {
  const { t } = useTranslation();
  const keys = { next: 'j', previous: 'k', open: 'Enter', help: '?' };
  // Each language puts the keys in a different place of the sentence.
  const parts = t('selectNotificationHint').split(/\{(\w+)\}/);
  return (
    <EmptyState
      icon="bell"
      title={t('selectNotification')}
      hint={
        <>
          {t('selectNotificationText')}{' '}
          <span className="key-hint keys-on">
            {parts.map((part, index) =>
              index % 2 === 0 ? part : <Kbd key={part}>{keys[part as keyof typeof keys] ?? part}</Kbd>,
            )}
          </span>
          <span className="with-keyboard keys-off">{t('keysHint')}</span>
        </>
      }
    />
  );
}
