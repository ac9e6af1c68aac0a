import { Button, SegmentedControl, Skeleton } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Overview } from '../../../src/contract/overview.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { useNow } from '../shell/useNow.ts';
import { DailyChart } from './DailyChart.tsx';
import { LimitGauge } from './LimitGauge.tsx';
import { LastWeeks, Progress } from './Progress.tsx';
import { TypeShare } from './TypeShare.tsx';

const PERIODS = [7, 14, 30];
const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function OverviewPage() {
  const { t, number, duration } = useTranslation();
  const now = useNow();
  const [days, setDays] = useState(14);
  const call = calls.overview(days, timeZone);
  const query = useQuery({
    queryKey: ['overview', days],
    queryFn: ({ signal }) => request<Overview>(call, { signal }),
    placeholderData: keepPreviousData,
  });
  const data = query.data;
  return (
    <section className="page overview">
      <header className="page-head">
        <div>
          <h1>{t('overview')}</h1>
          <p className="muted">{t('lastDays', { n: days })}</p>
        </div>
        <CurlButton call={call} label={t('overview')} />
        <SegmentedControl
          aria-label={t('period')}
          value={String(days)}
          onChange={(value) => setDays(Number(value))}
          data={PERIODS.map((n) => ({ value: String(n), label: t('daysChoice', { n }) }))}
        />
      </header>
      {query.isError && !data && (
        <EmptyState icon="overview" title={t('serverUnreachable')}>
          <Button variant="default" onClick={() => void query.refetch()}>
            {t('retry')}
          </Button>
        </EmptyState>
      )}
      {query.isPending && <Skeleton height={320} radius="md" />}
      {data && (
        <>
          <dl className="figures">
            <Figure
              name={t('pendingNow')}
              value={number(data.pending.total)}
              hint={
                data.pending.oldest_at
                  ? t('longestWait', { time: duration((now - Date.parse(data.pending.oldest_at)) / 1000) })
                  : t('nobodyWaiting')
              }
            />
            <Figure
              name={t('timeToAnswer')}
              value={data.median_seconds_to_answer === null ? '—' : duration(data.median_seconds_to_answer)}
              hint={data.median_seconds_to_answer === null ? t('noAnswersYet') : ''}
            />
            <Figure
              name={t('answeredTotal')}
              value={number(data.answered_per_day.reduce((sum, { count }) => sum + count, 0))}
              hint={t('lastDays', { n: days })}
            />
          </dl>
          <Progress overview={data} />
          <LastWeeks overview={data} />
          <div className="card">
            <h2>{t('answeredPerDay')}</h2>
            <DailyChart days={data.answered_per_day} />
          </div>
          <div className="overview-pair">
            <div className="card">
              <h2>{t('byType')}</h2>
              <h3 className="muted">{t('answered')}</h3>
              <TypeShare counts={data.by_type} />
              <h3 className="muted">{t('pending')}</h3>
              <TypeShare counts={data.pending.by_type} />
            </div>
            <LimitGauge />
          </div>
        </>
      )}
    </section>
  );
}

function Figure({ name, value, hint }: { name: string; value: string; hint: string }) {
  return (
    <div className="card figure">
      <dt>{name}</dt>
      <dd>
        <span className="figure-value">{value}</span>
        <span className="muted">{hint}</span>
      </dd>
    </div>
  );
}
