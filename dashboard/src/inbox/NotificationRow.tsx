import { memo } from 'react';
import type { Notification } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { navigate, pathOf } from '../shell/route.ts';
import { useNow } from '../shell/useNow.ts';
import { type Ask, isExpired, isRelayed } from './asks.ts';
import type { Conversation } from './conversations.ts';
import { customersIn, type Group } from './groups.ts';
import { textOfNotification } from './notifications.ts';
import { ReplyWindow } from './ReplyWindow.tsx';
import { TypeIcon, useTypeName } from './TypeIcon.tsx';
import { cursor, toggleSelected } from './view.ts';

interface RowProps {
  item: Notification;
  /** Others ask the same. */
  group: Group | undefined;
  customer: Conversation | undefined;
  ask: Ask | null | undefined;
  open: boolean;
  atCursor: boolean;
  selected: boolean;
}

export const NotificationRow = memo(function NotificationRow({
  item,
  group,
  customer,
  ask,
  open,
  atCursor,
  selected,
}: RowProps) {
  const { t, duration, relative } = useTranslation();
  const now = useNow();
  const typeName = useTypeName()(item.notification_type);
  const name = group
    ? t('groupTitle', { n: customersIn(group) })
    : customer?.customer_name || t('unknownCustomer', { id: String(item.conversation_id) });
  const phone = group ? undefined : customer?.customer_phone || item.context.lead_phone;
  const pending = item.status === 'requested';
  const state = t(ask?.status === 'cancelled' ? 'cancelled' : 'answered');
  const expired = pending && isExpired(ask);
  const waited = (now - Date.parse(item.created_at)) / 1000;
  return (
    <div
      className="row"
      data-open={open || undefined}
      data-cursor={atCursor || undefined}
      data-selected={selected || undefined}
      data-status={item.status}
      data-group={group?.length}
    >
      <label className="row-mark" htmlFor={`select-${item.id}`}>
        <TypeIcon type={item.notification_type} />
        <input
          type="checkbox"
          id={`select-${item.id}`}
          className="row-check"
          checked={selected}
          onChange={() => toggleSelected(group?.map(({ id }) => id) ?? [item.id])}
          aria-label={`${t('select')}: ${name}`}
        />
      </label>
      <a
        className="row-link"
        href={pathOf({ page: 'inbox', id: item.id })}
        aria-current={open ? 'page' : undefined}
        data-notification={item.id}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          cursor.set(item.id);
          navigate({ page: 'inbox', id: item.id });
        }}
      >
        <span className="row-head">
          <strong className="row-name">
            {group || customer ? name : <span className="name-loading" aria-hidden="true" />}
          </strong>
          <span className="row-time">
            {pending ? duration(waited) : relative(item.updated_at, now)}
            <span className="visually-hidden">
              {' '}
              {pending ? t('waitingFor', { time: duration(waited) }) : state}
            </span>
          </span>
        </span>
        <span className="row-text">
          <bdi>{textOfNotification(item)}</bdi>
        </span>
        <span className="row-foot">
          <span className="row-type" data-type={item.notification_type}>
            {typeName}
          </span>
          {phone && !expired && (
            <bdi dir="ltr" className="row-phone">
              {phone}
            </bdi>
          )}
          {!pending ? (
            <span>{state}</span>
          ) : expired ? (
            <span className="row-expired">{t('askExpiredMark')}</span>
          ) : (
            phone && !isRelayed(ask) && <ReplyWindow until={customer?.window_open_until} />
          )}
        </span>
      </a>
    </div>
  );
});
