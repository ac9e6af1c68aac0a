import { useTranslation } from '../i18n/translation.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { useNow } from '../shell/useNow.ts';
import { readOfflineCopy } from './copy.ts';

/** While the server cannot be reached: the last list, to read. */
export function OfflinePage() {
  const { t, relative, dateTime } = useTranslation();
  const now = useNow();
  const copy = readOfflineCopy();
  if (!copy) {
    return (
      <main>
        <EmptyState isPage icon="bell" title={t('serverUnreachable')} hint={t('serverUnreachableHint')} />
      </main>
    );
  }
  return (
    <main className="offline">
      <h1>{t('inbox')}</h1>
      <p className="notice" role="status">
        {t('offlineCopy', { when: relative(copy.at, now) })} {t('serverUnreachableHint')}
      </p>
      <ol className="offline-list">
        {copy.items.map(({ id, customer, question, created_at }) => (
          <li key={id} className="card">
            <p>
              <strong>{customer}</strong>{' '}
              <time className="muted" dateTime={created_at} title={dateTime(created_at)}>
                {relative(created_at, now)}
              </time>
            </p>
            <p dir="auto">{question}</p>
          </li>
        ))}
      </ol>
    </main>
  );
}
