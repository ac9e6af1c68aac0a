import { useTranslation } from '../i18n/translation.tsx';
import { useReplyWindow } from '../settings/channel.ts';
import { Icon } from '../shell/Icon.tsx';
import { useNow, useSecondsLeft } from '../shell/useNow.ts';
import type { Timeline } from './timeline.ts';

const HOUR_MS = 60 * 60_000;
const MINUTE_MS = 60_000;
const URGENT_MS = 15 * MINUTE_MS;

/** Whether the customer can get a message now, and how long, in words. It counts down while it is on the screen. */
export function WindowNotice({ latest, name }: { latest: Timeline; name: string }) {
  const { t, duration } = useTranslation();
  const now = useNow();
  const { isShown } = useReplyWindow();
  const { sending, conversation } = latest;
  if (sending === 'unreachable') return <p className="window-notice">{t('talkUnreachable', { name })}</p>;
  const leftMs = conversation.window_open_until ? Date.parse(conversation.window_open_until) - now : 0;
  if (isShown && sending === 'text' && leftMs > 0) {
    const until = Date.parse(conversation.window_open_until!);
    const state = leftMs < URGENT_MS ? 'urgent' : leftMs < HOUR_MS ? 'soon' : 'open';
    return (
      <p className="window-notice" data-state={state}>
        <Icon name="clock" size={16} />
        <span>
          {state === 'urgent' ? (
            <CountDown until={until} name={name} />
          ) : (
            t('talkWindowOpen', { time: hoursAndMinutes(duration, leftMs), name })
          )}
        </span>
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

function hoursAndMinutes(duration: (seconds: number) => string, ms: number): string {
  const hours = Math.floor(ms / HOUR_MS);
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
  if (hours === 0) return duration(ms / 1000);
  return `${duration(hours * 3600)} ${minutes === 0 ? '' : duration(minutes * 60)}`.trim();
}

/** The last minutes, second by second. */
function CountDown({ until, name }: { until: number; name: string }) {
  const { t } = useTranslation();
  const seconds = useSecondsLeft(until);
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  return <>{t('talkWindowOpen', { time, name })}</>;
}
