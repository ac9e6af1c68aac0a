import { useTranslation } from '../i18n/translation.tsx';
import { useNow } from '../shell/useNow.ts';
import type { Timeline } from './timeline.ts';

const HOUR_MS = 60 * 60_000;
const MINUTE_MS = 60_000;
const URGENT_MS = 15 * MINUTE_MS;

/** Whether the customer can get a message now, and how long, in words. It counts down while it is on the screen. */
export function WindowNotice({ latest, name }: { latest: Timeline; name: string }) {
  const { t, duration } = useTranslation();
  const now = useNow();
  const { sending, conversation } = latest;
  if (sending === 'unreachable') return <p className="window-notice">{t('talkUnreachable', { name })}</p>;
  const leftMs = conversation.window_open_until ? Date.parse(conversation.window_open_until) - now : 0;
  if (sending === 'text' && leftMs > 0) {
    const hours = Math.floor(leftMs / HOUR_MS);
    const minutes = Math.floor((leftMs % HOUR_MS) / MINUTE_MS);
    const time =
      hours === 0
        ? duration(leftMs / 1000)
        : `${duration(hours * 3600)} ${minutes === 0 ? '' : duration(minutes * 60)}`.trim();
    const state = leftMs < URGENT_MS ? 'urgent' : leftMs < HOUR_MS ? 'soon' : 'open';
    return (
      <p className="window-notice" data-state={state}>
        {t('talkWindowOpen', { time, name })}
      </p>
    );
  }
  // The channel has no such limit.
  if (sending === 'text') return null;
  return (
    <p className="window-notice" data-state="closed">
      {t(sending === 'template' ? 'talkWindowTemplate' : 'talkWindowClosed', { name })}
    </p>
  );
}
