import { Button, SegmentedControl, Skeleton } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { calls } from '../../api/calls.ts';
import { type Call, request } from '../../api/client.ts';
import type { Confidence } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { session } from '../../session/session.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { useStore } from '../../shell/store.ts';

const OWN = 'own';
/** So that a slider that is being moved does not send each step. */
const SEND_AFTER_MS = 300;

/** The merchant's setting, what was learned, and the threshold that follows. Only owners change it. */
export function ConfidenceSetting() {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const state = useStore(session);
  const isOwner = state.status === 'signedIn' && state.user.role === 'owner';
  const { data, error } = useQuery({
    queryKey: ['confidence'],
    queryFn: ({ signal }) => request<Confidence>(calls.confidence(), { signal }),
    staleTime: 0,
  });
  const change = useMutation({
    mutationFn: (call: Call) => request(call),
    onSettled: () => client.invalidateQueries({ queryKey: ['confidence'] }),
  });
  const failure = error ?? change.error;
  if (!data) {
    if (failure) return <ErrorNotice text={errorMessage(translation, failure)} />;
    return <Skeleton height={160} radius="md" />;
  }
  const { setting } = data;
  const threshold = data.threshold ?? data.default;
  return (
    <>
      <SegmentedControl
        fullWidth
        orientation="vertical"
        aria-label={t('withoutYou')}
        disabled={!isOwner}
        value={typeof setting === 'number' ? OWN : setting}
        onChange={(value) =>
          change.mutate(calls.setConfident(value === OWN ? threshold : (value as 'learned' | 'off')))
        }
        data={[
          { value: 'learned', label: t('confidentLearned') },
          { value: 'off', label: t('confidentOff') },
          { value: OWN, label: t('confidentOwn') },
        ]}
      />
      {typeof setting === 'number' && isOwner && (
        <Threshold saved={setting} onChange={(value) => change.mutate(calls.setConfident(value))} />
      )}
      <Evidence confidence={data} />
      {isOwner && setting === 'learned' && (
        <Reset confidence={data} isBusy={change.isPending} onChange={change.mutate} />
      )}
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
    </>
  );
}

function Threshold({ saved, onChange }: { saved: number; onChange: (threshold: number) => void }) {
  const { t, percent } = useTranslation();
  const [value, setValue] = useState(saved);
  useEffect(() => {
    if (value === saved) return;
    const timer = setTimeout(() => onChange(value), SEND_AFTER_MS);
    return () => clearTimeout(timer);
  }, [value, saved, onChange]);
  return (
    <label className="threshold">
      {t('confidentFrom', { percent: percent(value) })}
      <input
        type="range"
        min={50}
        max={100}
        value={Math.round(value * 100)}
        aria-valuetext={percent(value)}
        onChange={({ currentTarget }) => setValue(Number(currentTarget.value) / 100)}
      />
    </label>
  );
}

/** One sentence on what is known, and one on what follows from it. */
function Evidence({ confidence: { setting, threshold, learned } }: { confidence: Confidence }) {
  const { t, percent } = useTranslation();
  const n = learned.right + learned.wrong;
  return (
    <p className="muted" aria-live="polite">
      {n === 0 ? t('confidenceNoEvidence') : t('confidenceEvidence', { n, right: learned.right })}{' '}
      {threshold === null
        ? t('confidenceNever')
        : setting === 'learned' && !learned.earned
          ? t('confidenceSame')
          : t('confidenceFrom', { percent: percent(threshold) })}
    </p>
  );
}

function Reset(props: { confidence: Confidence; isBusy: boolean; onChange: (call: Call) => void }) {
  const { t, dateTime } = useTranslation();
  const { reset_at: resetAt, learned } = props.confidence;
  if (resetAt === null && learned.right + learned.wrong === 0) return null;
  return resetAt === null ? (
    <Button variant="default" loading={props.isBusy} onClick={() => props.onChange(calls.resetConfidence())}>
      {t('confidenceReset')}
    </Button>
  ) : (
    <Button
      variant="default"
      loading={props.isBusy}
      onClick={() => props.onChange(calls.restoreConfidence())}
    >
      {t('confidenceRestore', { when: dateTime(resetAt) })}
    </Button>
  );
}
