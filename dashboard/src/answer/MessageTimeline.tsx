import { Button, Skeleton } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import type { DeliveryDetail } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import type { TextKey } from '../i18n/texts.ts';
import { LimitGauge } from '../overview/LimitGauge.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { useNow } from '../shell/now.ts';
import { explain } from '../shell/problems.ts';
import { say } from '../shell/toasts.tsx';
import { Ticks } from '../telephone/Ticks.tsx';

const STATE_TEXTS: Record<DeliveryDetail['state'], TextKey> = {
  queued: 'stateQueued',
  sending: 'stateSending',
  waiting: 'stateWaiting',
  sent: 'stateSent',
  delivered: 'stateDelivered',
  read: 'stateRead',
  failed: 'stateFailed',
};

/** Nothing more comes after these. */
const DONE = new Set<DeliveryDetail['state']>(['read', 'failed']);
const POLL_MS = 2000;

export function MessageTimeline({ deliveryId }: { deliveryId: number }) {
  const wording = useWording();
  const { t, relative, exactTime } = wording;
  const now = useNow();
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ['delivery', deliveryId],
    queryFn: ({ signal }) => ask<DeliveryDetail>(calls.delivery(deliveryId), { signal }),
    // Events tell of changes; where there are none, a look now and then does.
    refetchInterval: ({ state: { data } }) => (data && !DONE.has(data.state) ? POLL_MS : false),
  });
  const retry = useMutation({
    mutationFn: () => ask(calls.retryDelivery(deliveryId)),
    onSuccess: () => say('retryQueued'),
    onSettled: () => client.invalidateQueries({ queryKey: ['delivery', deliveryId] }),
  });
  const delivery = query.data;
  if (!delivery) return <Skeleton height={120} radius="md" />;
  const {
    state,
    waiting_for: waitingFor,
    reason,
    next_try_at: nextTry,
    mode,
    recipient,
    attempts,
  } = delivery;
  return (
    <section className="timeline" aria-labelledby={`timeline-${deliveryId}`}>
      <h3 id={`timeline-${deliveryId}`}>{t('timeline')}</h3>
      <p className="quiet">
        <bdi dir="ltr">{recipient}</bdi> · {t(mode === 'campaign' ? 'asCampaign' : 'asReply')} ·{' '}
        {t('attempts', { n: attempts })}
      </p>
      <ol className="steps" aria-live="polite">
        {delivery.timeline.map(({ at, state: step, note, code }, index) => (
          <li key={`${at}-${step}-${String(index)}`} data-state={step}>
            <span className="step-name">
              {t(STATE_TEXTS[step])} <Ticks state={step} />
            </span>
            <time className="step-time" dateTime={at}>
              {exactTime(at)}
            </time>
            {(note ?? code) && <span className="step-note">{note ?? code}</span>}
          </li>
        ))}
      </ol>
      {state === 'waiting' && (
        <p className="notice">
          {waitingFor === 'customer'
            ? t('waitsForCustomer')
            : waitingFor === 'limit'
              ? t('waitsForLimit')
              : reason}
          {nextTry && ` ${t('nextTry', { time: relative(nextTry, now) })}`}
        </p>
      )}
      {state === 'failed' && (
        <div className="notice" role="alert">
          <p>{reason ?? t('stateFailed')}</p>
          {retry.error && <p>{explain(wording, retry.error)}</p>}
          <span className="action">
            <Button variant="default" loading={retry.isPending} onClick={() => retry.mutate()}>
              {t('retryMessage')}
            </Button>
            <CurlButton call={calls.retryDelivery(deliveryId)} label={t('retryMessage')} />
          </span>
        </div>
      )}
      {(mode === 'campaign' || waitingFor === 'limit') && <LimitGauge />}
    </section>
  );
}
