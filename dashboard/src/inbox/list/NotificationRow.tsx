import { memo } from 'react';
import type { InboxItem } from '../../../../src/contract/inbox.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { navigate, pathOf } from '../../shell/route.ts';
import { useNow } from '../../shell/useNow.ts';
import type { Others } from '../../team/presences.ts';
import { AttentionActions } from '../attention/AttentionActions.tsx';
import { customersIn, type Group } from '../groups.ts';
import { TypeIcon } from '../TypeIcon.tsx';
import { cursor } from '../view.ts';
import { RowFoot } from './RowFoot.tsx';

interface RowProps {
  item: InboxItem;
  /** Others ask the same. */
  group: Group | undefined;
  open: boolean;
  atCursor: boolean;
  selected: boolean;
  /** Why the last action on it failed. */
  failure: unknown;
  /** Shows why its message needs attention, and what to do. */
  withReason: boolean;
  /** Colleagues who have it open, or are writing an answer. */
  present: Others;
  onToggle: (id: number, range: boolean) => void;
}

export const NotificationRow = memo(function NotificationRow(props: RowProps) {
  const { item, group, open, selected, failure, withReason, present, onToggle } = props;
  const translation = useTranslation();
  const { t, relative } = translation;
  const now = useNow();
  const name = group
    ? t('groupTitle', { n: customersIn(group) })
    : item.customer.name || t('unknownCustomer', { id: String(item.conversation.id) });
  const pending = item.status === 'requested';
  return (
    <div
      className="row"
      data-open={open || undefined}
      data-cursor={props.atCursor || undefined}
      data-selected={selected || undefined}
      data-status={item.status}
      data-attention={item.attention?.kind}
      data-group={group?.length}
    >
      <label className="row-mark" htmlFor={`select-${item.id}`}>
        <TypeIcon type={item.notification_type} />
        <input
          type="checkbox"
          id={`select-${item.id}`}
          className="row-check"
          checked={selected}
          onChange={(event) => onToggle(item.id, (event.nativeEvent as MouseEvent).shiftKey === true)}
          aria-label={`${t('select')}: ${name}`}
        />
      </label>
      <div className="row-main">
        <a
          className="row-link"
          href={pathOf({ page: 'inbox', id: item.id })}
          aria-current={open ? 'page' : undefined}
          data-notification={item.id}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey) return;
            event.preventDefault();
            if (event.shiftKey) return onToggle(item.id, true);
            cursor.set(item.id);
            navigate({ page: 'inbox', id: item.id });
          }}
        >
          <span className="row-head">
            <strong className="row-name">{name}</strong>
            <span className="row-time">{relative(pending ? item.created_at : item.updated_at, now)}</span>
          </span>
          <span className="row-text">
            <bdi>{item.question}</bdi>
          </span>
          {failure === undefined ? (
            <RowFoot {...{ item, group, withReason, present }} />
          ) : (
            <span className="row-foot row-failure">{errorMessage(translation, failure)}</span>
          )}
        </a>
        {withReason && <AttentionActions item={item} message={{ notificationId: item.id }} small />}
      </div>
    </div>
  );
});
