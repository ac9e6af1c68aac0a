import { Button, Skeleton } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { calls } from '../../api/calls.ts';
import type { NotificationDetail } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { isRelayed } from '../../inbox/asks.ts';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { useNow, useSecondsLeft } from '../../shell/useNow.ts';
import { isOwnDraft } from '../contested.ts';
import { fieldTexts } from '../fields.ts';
import { afterSending, wasJustSubmitted } from '../submit.ts';
import { undo } from '../undo.ts';
import { DeliveryTimeline } from './DeliveryTimeline.tsx';
import { Learned } from './Learned.tsx';

interface SentAnswerProps {
  item: NotificationDetail;
  loading: boolean;
  /** The answer as a turn of the conversation, unless nothing was sent. */
  bubble: ReactNode;
  children: ReactNode;
}

/** The answer, and below it what belongs to it: undo, what the assistant learned, the delivery of its message. */
export function SentAnswer({ item, loading, bubble, children }: SentAnswerProps) {
  const { t, relative, dateTime } = useTranslation();
  const now = useNow();
  const answer = (item.answer ?? {}) as Record<string, unknown>;
  const [, ...otherFields] = item.answered_fields;
  const notes = otherFields.filter((field) => typeof answer[field] === 'string' && answer[field] !== '');
  const cancelled = answer.cancelled === true;
  const withoutReply = !cancelled && (item.outcome === 'resolved' || answer.resolve_only === true);
  // The form is gone. Move the focus here so that screen readers continue at the answer.
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const isFocusLost = document.activeElement === document.body;
    if (isFocusLost && (wasJustSubmitted(item.id) || withoutReply))
      heading.current?.focus({ preventScroll: true });
  }, [item.id, withoutReply]);
  const isDraft = isOwnDraft(item);
  useEffect(() => {
    if (isDraft) afterSending(item.id);
  }, [isDraft, item.id]);
  return (
    <div className="sent-answer">
      {/* The bubble says the same. */}
      <h3 ref={heading} tabIndex={-1} className={bubble ? 'visually-hidden' : undefined}>
        {t(cancelled ? 'cancelled' : withoutReply ? 'resolvedTitle' : 'answer')}{' '}
        {item.answered_by && (
          <span className="muted">
            <bdi>{item.answered_by}</bdi> ·{' '}
          </span>
        )}
        <time className="muted" dateTime={item.updated_at} title={dateTime(item.updated_at)}>
          {relative(item.updated_at, now)}
        </time>
      </h3>
      {loading && !bubble && <Skeleton height={72} radius="md" />}
      {bubble}
      {children}
      {!loading && withoutReply && (
        <>
          <p className="muted">{t('nothingWasSent')}</p>
          <Reopen id={item.id} label={t('reopen')} />
        </>
      )}
      {cancelled && <p className="muted">{t('questionCancelled')}</p>}
      {notes.map((field) => (
        <div key={field} className="sent-text">
          <h4>{fieldTexts(field, t).label}</h4>
          <p dir="auto">{String(answer[field])}</p>
        </div>
      ))}
      {!withoutReply && !cancelled && item.undo_until !== null && (
        <Held id={item.id} undoUntil={item.undo_until} />
      )}
      {isRelayed(item.ask) && bubble && !withoutReply && <p className="muted">{t('assistantRelays')}</p>}
      {item.lesson && <Learned item={item} lesson={item.lesson} />}
      {item.delivery && <DeliveryTimeline deliveryId={item.delivery.id} />}
    </div>
  );
}

/** The server still holds the answer, whoever gave it and wherever. */
function Held({ id, undoUntil }: { id: number; undoUntil: string }) {
  const { t } = useTranslation();
  const seconds = useSecondsLeft(Date.parse(undoUntil));
  return (
    <div className="held-answer">
      {/* The clock of this device may be wrong: the server says when it is over. */}
      <span>{seconds > 0 ? t('willBeSentIn', { s: seconds }) : t('willBeSentNow')}</span>
      <Reopen id={id} label={t('undo')} />
    </div>
  );
}

function Reopen({ id, label }: { id: number; label: string }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  return (
    <span className="action">
      <Button
        variant="default"
        loading={busy}
        onClick={() => {
          setBusy(true);
          void undo(client, [id]).finally(() => setBusy(false));
        }}
      >
        {label}
      </Button>
      <CurlButton call={calls.reopen(id)} label={label} />
    </span>
  );
}
