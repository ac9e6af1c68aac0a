import { useTranslation } from '../../i18n/translation.tsx';
import { useLostAt } from '../../shell/lostConnection.ts';
import { useNow } from '../../shell/useNow.ts';

/** What the user should know about the list before relying on it. */
export function ListNotices({ complete }: { complete: boolean }) {
  const { t, relative } = useTranslation();
  const now = useNow();
  const lostAt = useLostAt();
  return (
    <div role="status">
      {lostAt !== undefined && (
        <p className="list-notice">
          {t('connectionLost', { time: relative(lostAt, Math.max(now, Date.now())) })}
        </p>
      )}
      {!complete && <p className="list-notice">{t('stillIndexing')}</p>}
    </div>
  );
}
