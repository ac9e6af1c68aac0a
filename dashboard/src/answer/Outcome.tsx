import { Button, Skeleton } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { NotificationDetail } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { resolving } from '../inbox/resolving.ts';
import { useNow } from '../shell/now.ts';
import { dropDraft } from './drafts.ts';
import { fieldTexts } from './fields.ts';
import { MessageTimeline } from './MessageTimeline.tsx';
import { dismissRefusal, type Refusal, wasJustSubmitted } from './submit.ts';

/** What was answered, and what became of it. */
export function Outcome(props: { item: NotificationDetail; refusal: Refusal | undefined; loading: boolean }) {
  const { item, refusal, loading } = props;
  const { t, relative, dateTime } = useWording();
  const now = useNow();
  const answer = (item.answer ?? {}) as Record<string, unknown>;
  const said = item.answered_fields.filter(
    (field) => typeof answer[field] === 'string' && answer[field] !== '',
  );
  const silently = answer.resolve_only === true;
  // The form that had the focus has gone: a reader goes on here.
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const fromHere = wasJustSubmitted(item.id) || resolving.get().has(item.id);
    if (fromHere && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, [item.id]);
  return (
    <div className="outcome">
      {refusal?.first && <AnsweredFirst id={item.id} refusal={refusal} fields={item.answered_fields} />}
      <h3 ref={heading} tabIndex={-1}>
        {t('whatWasAnswered')}{' '}
        <time className="quiet" dateTime={item.updated_at} title={dateTime(item.updated_at)}>
          {relative(item.updated_at, now)}
        </time>
      </h3>
      {loading && <Skeleton height={72} radius="md" />}
      {!loading && silently && <p className="quiet">{t('resolvedSilently')}</p>}
      {!silently &&
        said.map((field, index) => (
          <div key={field} className={index === 0 ? 'said said-content' : 'said'}>
            {item.answered_fields.length > 1 && <h4>{fieldTexts(field, t).label}</h4>}
            <p dir="auto">{String(answer[field])}</p>
          </div>
        ))}
      {item.delivery && <MessageTimeline deliveryId={item.delivery.id} />}
    </div>
  );
}

function AnsweredFirst({ id, refusal, fields }: { id: number; refusal: Refusal; fields: readonly string[] }) {
  const { t } = useWording();
  const texts = fields
    .map((field) => refusal.body[field])
    .filter((text) => typeof text === 'string' && text !== '');
  return (
    <div className="notice" role="alert">
      <strong>{t('answeredFirst')}</strong>
      {texts.length > 0 && (
        <details open>
          <summary>{t('yourText')}</summary>
          {texts.map((text) => (
            <p key={String(text)} className="notice-text" dir="auto">
              {String(text)}
            </p>
          ))}
        </details>
      )}
      <p>{t('answeredFirstHint')}</p>
      <Button
        size="compact-md"
        variant="default"
        onClick={() => {
          dropDraft(id);
          dismissRefusal(id);
        }}
      >
        {t('close')}
      </Button>
    </div>
  );
}
