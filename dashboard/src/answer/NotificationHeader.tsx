import { ActionIcon, Tooltip } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { calls } from '../api/calls.ts';
import type { Notification, NotificationDetail } from '../api/types.ts';
import { EraseCustomer } from '../conversation/EraseCustomer.tsx';
import { useTranslation } from '../i18n/translation.tsx';
import { isRelayed } from '../inbox/asks.ts';
import { useConversations } from '../inbox/conversations.ts';
import { deleteNotifications } from '../inbox/delete.ts';
import { ReplyWindow } from '../inbox/ReplyWindow.tsx';
import { TypeIcon, useTypeName } from '../inbox/TypeIcon.tsx';
import { useIsOwner } from '../settings/merchant.ts';
import { savePreferences, usePreferences } from '../settings/preferences.ts';
import { BackButton } from '../shell/BackButton.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { Icon } from '../shell/Icon.tsx';
import { navigate } from '../shell/route.ts';
import { useExtraWide } from '../shell/useScreenWidth.ts';
import { Assignee } from '../team/Assignee.tsx';
import { Notes } from '../team/Notes.tsx';
import { useOffersTestPhone } from '../testPhone/messages.ts';
import { useFocusAfterMove } from './moveOn.ts';

export function useCustomer({
  conversation_id,
  recipient,
}: Pick<NotificationDetail, 'conversation_id' | 'recipient'>) {
  const { t } = useTranslation();
  const ids = useMemo(() => [conversation_id], [conversation_id]);
  const conversation = useConversations(ids).get(conversation_id);
  return {
    name: conversation?.customer_name || t('unknownCustomer', { id: String(conversation_id) }),
    /** Where an answer goes. */
    phone: recipient || conversation?.customer_phone,
    /** The number that messages of the conversation go to. */
    customerPhone: conversation?.customer_phone,
    windowOpenUntil: conversation?.window_open_until,
    loading: conversation === undefined,
  };
}

/** The customer, the question or support request, and its time. */
export function NotificationHeader({ item }: { item: NotificationDetail }) {
  const { name, phone, windowOpenUntil, loading } = useCustomer(item);
  const typeName = useTypeName()(item.notification_type);
  const heading = useFocusAfterMove(item.id);
  return (
    <header className="notification-header">
      <div className="pane-bar">
        <BackButton to={{ page: 'inbox', id: undefined }} />
        <TypeIcon type={item.notification_type} />
        <div className="pane-customer">
          <h2 ref={heading} tabIndex={-1} aria-busy={loading}>
            {loading ? <span className="name-loading" aria-hidden="true" /> : <bdi>{name}</bdi>}
          </h2>
          <p>
            {phone && (
              <a href={`tel:${phone}`} dir="ltr">
                {phone}
              </a>
            )}
            <span>{typeName}</span>
            {item.status === 'requested' && phone && !isRelayed(item.ask) && (
              <ReplyWindow until={windowOpenUntil} onlyIfShort />
            )}
          </p>
        </div>
        <Actions item={item} />
      </div>
      <MoreDetails item={item} name={name} />
      <div className="pane-team">
        <Notes key={`notes-${item.id}`} id={item.id} count={item.notes} />
        <Assignee key={`assignee-${item.id}`} id={item.id} assignedTo={item.assigned_to} />
      </div>
    </header>
  );
}

function Actions({ item }: { item: Notification }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const extraWide = useExtraWide();
  const { showTestPhone } = usePreferences();
  const hasTestPhone = useOffersTestPhone();
  const label = showTestPhone && extraWide ? t('testPhoneClose') : t('testPhoneOpen');
  return (
    <div className="pane-actions">
      {hasTestPhone && (
        <Tooltip label={label}>
          <ActionIcon
            variant={showTestPhone && extraWide ? 'light' : 'subtle'}
            color={showTestPhone && extraWide ? undefined : 'gray'}
            size={44}
            aria-label={label}
            aria-pressed={extraWide ? showTestPhone : undefined}
            onClick={() =>
              extraWide
                ? savePreferences({ showTestPhone: !showTestPhone })
                : navigate({ page: 'testPhone', id: item.conversation_id })
            }
          >
            <Icon name="phone" />
          </ActionIcon>
        </Tooltip>
      )}
      <CurlButton call={calls.deleteNotification(item.id)} label={t('delete')} />
      <Tooltip label={t('delete')}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={44}
          aria-label={t('delete')}
          onClick={() => void deleteNotifications(client, [item.id])}
        >
          <Icon name="trash" />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}

const SHOWN_ELSEWHERE = new Set(['lead_phone', 'document_id']);

/** The other fields of the context. */
function MoreDetails({ item, name }: { item: NotificationDetail; name: string }) {
  const { t } = useTranslation();
  const isOwner = useIsOwner();
  const { context, requested_fields } = item;
  const more = Object.entries(context as Record<string, unknown>).filter(
    ([key]) => !SHOWN_ELSEWHERE.has(key) && !requested_fields.includes(key),
  );
  if (more.length === 0 && !isOwner) return null;
  return (
    <details className="more-details">
      <summary>{t('moreDetails')}</summary>
      <dl>
        {more.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd dir="auto">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
      <EraseCustomer key={item.conversation_id} item={item} name={name} />
    </details>
  );
}
