import { useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { Limits } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { useNow } from '../shell/useNow.ts';

/** The gauge is a half circle. */
const RADIUS = 40;
const LENGTH = Math.PI * RADIUS;

export function LimitGauge() {
  const { t, number, relative } = useTranslation();
  const now = useNow();
  const { data } = useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => request<Limits>(calls.limits(), { signal }),
  });
  if (!data) return null;
  const { used, limit, waiting, next_free_at: freeAt } = data;
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  const arc = `M10 50 A ${RADIUS} ${RADIUS} 0 0 1 90 50`;
  return (
    <section className="gauge card" aria-labelledby="limit-title">
      <svg viewBox="0 0 100 58" role="img" aria-label={t('limitUsed', { used, limit })}>
        <path className="gauge-track" d={arc} />
        <path
          className="gauge-fill"
          data-full={share >= 1 || undefined}
          d={arc}
          strokeDasharray={`${LENGTH * share} ${LENGTH}`}
        />
        <text x="50" y="48" textAnchor="middle">
          {number(used)}
        </text>
      </svg>
      <div className="gauge-text">
        <h3 id="limit-title">{t('limitTitle')}</h3>
        <p>{t('limitUsed', { used, limit })}</p>
        <p className="muted">
          {waiting > 0 && `${t('limitWaiting', { n: waiting })} · `}
          {freeAt ? t('limitNextFree', { time: relative(freeAt, now) }) : t('limitNotReached')}
        </p>
      </div>
      <CurlButton call={calls.limits()} label={t('limitTitle')} />
    </section>
  );
}
