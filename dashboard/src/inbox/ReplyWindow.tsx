import { useTranslation } from '../i18n/translation.tsx';
import { useNow } from '../shell/useNow.ts';

const SOON_MS = 60 * 60_000;
const URGENT_MS = 15 * 60_000;

/** The remaining time to reply freely. Nothing is shown until the conversation is loaded. */
export function ReplyWindow({ until }: { until: string | null | undefined }) {
  const { t, duration } = useTranslation();
  const now = useNow();
  if (until === undefined) return null;
  const leftMs = until === null ? 0 : Date.parse(until) - now;
  if (leftMs <= 0) {
    return (
      <span className="reply-window" data-state="closed" title={t('windowClosedHint')}>
        {t('windowClosed')}
      </span>
    );
  }
  return (
    <span
      className="reply-window"
      data-state={leftMs < URGENT_MS ? 'urgent' : leftMs < SOON_MS ? 'soon' : 'open'}
    >
      {t('windowOpen', { time: duration(leftMs / 1000) })}
    </span>
  );
}
