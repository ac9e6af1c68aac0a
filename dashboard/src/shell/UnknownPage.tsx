import { useTranslation } from '../i18n/translation.tsx';
import { EmptyState } from './EmptyState.tsx';
import { PageLink } from './PageLink.tsx';

/** For an address that the app does not have. Signed out it is the whole page, else it is beside the navigation. */
export function UnknownPage({ signedIn = false }: { signedIn?: boolean }) {
  const { t } = useTranslation();
  const text = (
    <EmptyState isPage icon="search" title={t('pageUnknown')} hint={t('pageUnknownHint')}>
      <PageLink to={{ page: 'inbox' }}>{t('goToInbox')}</PageLink>
    </EmptyState>
  );
  return signedIn ? <div className="whole-page">{text}</div> : <main className="whole-page">{text}</main>;
}
