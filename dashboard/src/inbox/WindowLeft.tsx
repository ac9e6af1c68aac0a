import { useWording } from '../i18n/language.tsx';
import { useNow } from '../shell/now.ts';

const SOON_MS = 2 * 3_600_000;

/** How long the customer can still be answered freely. Unknown until the conversation is. */
export function WindowLeft({ until }: { until: string | null | undefined }) {
  const { t, duration } = useWording();
  const now = useNow();
  if (until === undefined) return null;
  const leftMs = until === null ? 0 : Date.parse(until) - now;
  if (leftMs <= 0) {
    return (
      <span className="window" data-state="closed" title={t('windowClosedHint')}>
        {t('windowClosed')}
      </span>
    );
  }
  return (
    <span className="window" data-state={leftMs < SOON_MS ? 'soon' : 'open'}>
      {t('windowOpen', { time: duration(leftMs / 1000) })}
    </span>
  );
}
