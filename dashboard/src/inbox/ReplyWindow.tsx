import { useTranslation } from '../i18n/translation.tsx';
import { useReplyWindow } from '../settings/channel.ts';
import { useNow } from '../shell/useNow.ts';

const SOON_MS = 60 * 60_000;
const URGENT_MS = 15 * 60_000;

interface WindowProps {
  /** Undefined while the conversation is not loaded. */
  until: string | null | undefined;
  /** Says it only while time is short. */
  onlyIfShort?: boolean;
}

/** The remaining time to reply freely, if the channel has such a limit. */
export function ReplyWindow({ until, onlyIfShort = false }: WindowProps) {
  const { t, duration } = useTranslation();
  const now = useNow();
  const { isShown, ends } = useReplyWindow();
  if (!isShown || until === undefined) return null;
  const leftMs = until === null ? 0 : Date.parse(until) - now;
  if (onlyIfShort && (leftMs <= 0 || leftMs >= SOON_MS)) return null;
  if (leftMs <= 0) {
    if (!ends) return null;
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
