import { ActionIcon, Tooltip } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { calls } from '../api/calls.ts';
import type { Notification } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { useConversations } from '../inbox/conversations.ts';
import { textOf } from '../inbox/list.ts';
import { removeSoon } from '../inbox/remove.ts';
import { TypeMark, useTypeName } from '../inbox/TypeMark.tsx';
import { WindowLeft } from '../inbox/WindowLeft.tsx';
import { savePreferences, usePreferences } from '../preferences/preferences.ts';
import { BackButton } from '../shell/BackButton.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { Icon } from '../shell/Icon.tsx';
import { useNow } from '../shell/now.ts';
import { go } from '../shell/route.ts';
import { useRoomy } from '../shell/useWide.ts';
import { useTelephoneExists } from '../telephone/messages.ts';
import { AskedText } from './AskedText.tsx';

export function useCustomer({ conversation_id, context }: Notification) {
  const { t } = useWording();
  const ids = useMemo(() => [conversation_id], [conversation_id]);
  const conversation = useConversations(ids).get(conversation_id);
  return {
    name: conversation?.customer_name || t('unknownCustomer', { id: String(conversation_id) }),
    phone: context.lead_phone ?? conversation?.customer_phone ?? '',
    windowOpenUntil: conversation?.window_open_until,
  };
}

/** Who asks, what, and since when. */
export function Asked({ item }: { item: Notification }) {
  const { t, relative, dateTime } = useWording();
  const now = useNow();
  const { name, phone, windowOpenUntil } = useCustomer(item);
  const typeName = useTypeName()(item.notification_type);
  const ago = relative(item.created_at, now);
  return (
    <header className="asked">
      <div className="asked-bar">
        <BackButton to={{ page: 'inbox', id: undefined }} />
        <TypeMark type={item.notification_type} />
        <div className="asked-who">
          <h2>{name}</h2>
          <p>
            {phone && (
              <a href={`tel:${phone}`} dir="ltr">
                {phone}
              </a>
            )}
            <span>{typeName}</span>
            {item.status === 'requested' && <WindowLeft until={windowOpenUntil} />}
          </p>
        </div>
        <Actions item={item} />
      </div>
      <AskedText text={textOf(item)} />
      <p className="asked-when" title={dateTime(item.created_at)}>
        {item.notification_type === 'user_support_request'
          ? t('wantsPerson', { time: ago })
          : t('askedAt', { time: ago })}
      </p>
      <MoreContext item={item} />
    </header>
  );
}

function Actions({ item }: { item: Notification }) {
  const { t } = useWording();
  const client = useQueryClient();
  const roomy = useRoomy();
  const { telephone } = usePreferences();
  const hasTelephone = useTelephoneExists(item.conversation_id);
  const label = telephone && roomy ? t('telephoneClose') : t('telephoneOpen');
  return (
    <div className="asked-actions">
      {hasTelephone && (
        <Tooltip label={label}>
          <ActionIcon
            variant={telephone && roomy ? 'light' : 'subtle'}
            color={telephone && roomy ? undefined : 'gray'}
            size={44}
            aria-label={label}
            aria-pressed={roomy ? telephone : undefined}
            onClick={() =>
              roomy
                ? savePreferences({ telephone: !telephone })
                : go({ page: 'telephone', id: item.conversation_id })
            }
          >
            <Icon name="telephone" />
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
          onClick={() => {
            removeSoon(client, [item.id]);
            go({ page: 'inbox', id: undefined }, 'replace');
          }}
        >
          <Icon name="trash" />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}

const SHOWN_ELSEWHERE = new Set(['lead_phone', 'document_id']);

/** What else the assistant knew, as it was given. */
function MoreContext({ item: { context, requested_fields } }: { item: Notification }) {
  const { t } = useWording();
  const more = Object.entries(context as Record<string, unknown>).filter(
    ([key]) => !SHOWN_ELSEWHERE.has(key) && !requested_fields.includes(key),
  );
  if (more.length === 0) return null;
  return (
    <details className="asked-more">
      <summary>{t('moreContext')}</summary>
      <dl>
        {more.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd dir="auto">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
