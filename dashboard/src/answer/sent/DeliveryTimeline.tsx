import { Button, Skeleton } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import type { DeliveryDetail, DeliveryState } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { LimitGauge } from '../../overview/LimitGauge.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';
import { useNow } from '../../shell/useNow.ts';
import { Ticks } from '../../testPhone/Ticks.tsx';

const STATE_TEXTS: Record<DeliveryState, TextKey> = {
  queued: 'stateQueued',
  sending: 'stateSending',
  waiting: 'stateWaiting',
  sent: 'stateSent',
  delivered: 'stateDelivered',
  read: 'stateRead',
  failed: 'stateFailed',
  cancelled: 'stateCancelled',
};

/** The state no longer changes after these. */
const FINAL_STATES = new Set<DeliveryState>(['read', 'failed', 'cancelled']);
const QUIET_STATES = new Set<DeliveryState>(['queued', 'sending', 'sent', 'delivered', 'read']);
const POLL_MS = 2000;

export function DeliveryTimeline({ deliveryId }: { deliveryId: number }) {
  const translation = useTranslation();
  const { t, relative, exactTime } = translation;
  const now = useNow();
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ['delivery', deliveryId],
    queryFn: ({ signal }) => request<DeliveryDetail>(calls.delivery(deliveryId), { signal }),
    // Events report changes; polling covers a missing connection.
    refetchInterval: ({ state: { data } }) => (data && !FINAL_STATES.has(data.state) ? POLL_MS : false),
  });
  const retry = useMutation({
    mutationFn: () => request(calls.retryDelivery(deliveryId)),
    onSuccess: () => showToast('retryQueued'),
    onSettled: () => client.invalidateQueries({ queryKey: ['delivery', deliveryId] }),
  });
  const delivery = query.data;
  if (!delivery) return <Skeleton height={24} width="40%" radius="md" />;
  const {
    state,
    waiting_for: waitingFor,
    reason,
    next_try_at: nextAttempt,
    mode,
    recipient,
    attempts,
  } = delivery;
  return (
    // Closed while nothing is wrong: the bubble has the ticks.
    <details className="timeline" open={!QUIET_STATES.has(state)}>
      <summary>
        {t('delivery')}: {t(STATE_TEXTS[state])}
      </summary>
      <p className="muted">
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
            ? t('waitingForCustomer')
            : waitingFor === 'limit'
              ? t('waitingForLimit')
              : reason}
          {nextAttempt && ` ${t('nextAttempt', { time: relative(nextAttempt, now) })}`}
        </p>
      )}
      {state === 'failed' && (
        <div className="notice" role="alert">
          <p>{reason ?? t('stateFailed')}</p>
          {retry.error && <p>{errorMessage(translation, retry.error)}</p>}
          <span className="action">
            <Button variant="default" loading={retry.isPending} onClick={() => retry.mutate()}>
              {t('retryMessage')}
            </Button>
            <CurlButton call={calls.retryDelivery(deliveryId)} label={t('retryMessage')} />
          </span>
        </div>
      )}
      {(mode === 'campaign' || waitingFor === 'limit') && <LimitGauge />}
    </details>
  );
}
