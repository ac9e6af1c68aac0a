import { memo } from 'react';
import type { Notification } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { useNow } from '../shell/now.ts';
import { go, pathOf } from '../shell/route.ts';
import type { Conversation } from './conversations.ts';
import { textOf } from './list.ts';
import { TypeMark, useTypeName } from './TypeMark.tsx';
import { cursor, toggleSelected } from './view.ts';
import { WindowLeft } from './WindowLeft.tsx';

interface RowProps {
  item: Notification;
  customer: Conversation | undefined;
  open: boolean;
  atCursor: boolean;
  selected: boolean;
}

export const Row = memo(function Row({ item, customer, open, atCursor, selected }: RowProps) {
  const { t, duration, relative } = useWording();
  const now = useNow();
  const typeName = useTypeName()(item.notification_type);
  const name = customer?.customer_name || t('unknownCustomer', { id: String(item.conversation_id) });
  const phone = customer?.customer_phone ?? item.context.lead_phone ?? '';
  const pending = item.status === 'requested';
  const waited = (now - Date.parse(item.created_at)) / 1000;
  return (
    <div
      className="row"
      data-open={open || undefined}
      data-cursor={atCursor || undefined}
      data-selected={selected || undefined}
      data-status={item.status}
    >
      <label className="row-mark" htmlFor={`select-${item.id}`}>
        <TypeMark type={item.notification_type} />
        <input
          type="checkbox"
          id={`select-${item.id}`}
          className="row-check"
          checked={selected}
          onChange={() => toggleSelected(item.id)}
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
          go({ page: 'inbox', id: item.id });
        }}
      >
        <span className="row-head">
          <strong className="row-name">{name}</strong>
          <span className="row-time">
            {pending ? duration(waited) : relative(item.updated_at, now)}
            <span className="visually-hidden">
              {' '}
              {pending ? t('waitedFor', { time: duration(waited) }) : t('answered')}
            </span>
          </span>
        </span>
        <span className="row-text">
          <bdi>{textOf(item)}</bdi>
        </span>
        <span className="row-foot">
          <span className="row-type" data-type={item.notification_type}>
            {typeName}
          </span>
          <bdi dir="ltr" className="row-phone">
            {phone}
          </bdi>
          {pending ? <WindowLeft until={customer?.window_open_until} /> : <span>{t('answered')}</span>}
        </span>
      </a>
    </div>
  );
});
