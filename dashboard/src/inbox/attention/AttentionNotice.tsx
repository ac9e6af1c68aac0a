import { useTranslation } from '../../i18n/translation.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { useNow } from '../../shell/useNow.ts';
import { useItems } from '../list/items.ts';
import { AttentionActions } from './AttentionActions.tsx';
import { ATTENTION_TITLES, reasonOf } from './reasons.ts';

/** Above an answer whose message did not reach its customer: why, and what to do. */
export function AttentionNotice({ id }: { id: number }) {
  const translation = useTranslation();
  const { t, relative } = translation;
  const now = useNow();
  const item = useItems([id]).data?.find((one) => one.id === id);
  if (!item?.attention) return null;
  const { kind, since } = item.attention;
  return (
    <section className="attention-notice" data-kind={kind} aria-label={t('tabAttention')}>
      <p>
        <Icon name="alert" size={20} />
        <strong>{t(ATTENTION_TITLES[kind])}</strong>{' '}
        <time className="muted" dateTime={since}>
          {relative(since, now)}
        </time>
      </p>
      <p>{reasonOf(translation, item.attention)}</p>
      <AttentionActions item={item} message={{ notificationId: id }} />
    </section>
  );
}
