import { Skeleton } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { NotificationDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { isRelayed } from '../inbox/asks.ts';
import { pendingResolves } from '../inbox/pendingResolves.ts';
import { useNow } from '../shell/useNow.ts';
import { DeliveryTimeline } from './DeliveryTimeline.tsx';
import { fieldTexts } from './fields.ts';
import { wasJustSubmitted } from './submit.ts';

/** The answer, and the delivery of its message. */
export function SentAnswer({ item, loading }: { item: NotificationDetail; loading: boolean }) {
  const { t, relative, dateTime } = useTranslation();
  const now = useNow();
  const answer = (item.answer ?? {}) as Record<string, unknown>;
  const sentFields = item.answered_fields.filter(
    (field) => typeof answer[field] === 'string' && answer[field] !== '',
  );
  const withoutReply = answer.resolve_only === true;
  const cancelled = answer.cancelled === true;
  // The form is gone. Move the focus here so that screen readers continue at the answer.
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const answeredHere = wasJustSubmitted(item.id) || pendingResolves.get().has(item.id);
    if (answeredHere && document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true });
  }, [item.id]);
  return (
    <div className="sent-answer">
      <h3 ref={heading} tabIndex={-1}>
        {t(cancelled ? 'cancelled' : 'answer')}{' '}
        {item.answered_by && (
          <span className="muted">
            <bdi>{item.answered_by}</bdi> ·{' '}
          </span>
        )}
        <time className="muted" dateTime={item.updated_at} title={dateTime(item.updated_at)}>
          {relative(item.updated_at, now)}
        </time>
      </h3>
      {loading && <Skeleton height={72} radius="md" />}
      {!loading && withoutReply && <p className="muted">{t('resolvedWithoutReply')}</p>}
      {cancelled && <p className="muted">{t('questionCancelled')}</p>}
      {!withoutReply &&
        sentFields.map((field, index) => (
          <div key={field} className={index === 0 ? 'sent-text sent-text-main' : 'sent-text'}>
            {item.answered_fields.length > 1 && <h4>{fieldTexts(field, t).label}</h4>}
            <p dir="auto">{String(answer[field])}</p>
          </div>
        ))}
      {isRelayed(item.ask) && sentFields.length > 0 && !withoutReply && (
        <p className="muted">{t('assistantRelays')}</p>
      )}
      {item.delivery && <DeliveryTimeline deliveryId={item.delivery.id} />}
    </div>
  );
}
