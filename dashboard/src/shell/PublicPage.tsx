import type { ReactNode } from 'react';
import { useTranslation } from '../i18n/translation.tsx';
import { EmptyState } from './EmptyState.tsx';
import { PageLink } from './PageLink.tsx';

/** Pages that a link with a one-time token opens. The token is after the `#`, so that no server logs it. */
export function PublicPage({ page }: { page: 'invite' | 'resetPassword' }): ReactNode {
  switch (page) {
    case 'invite':
    case 'resetPassword':
      return <LinkNotReadable />;
  }
}

function LinkNotReadable() {
  const { t } = useTranslation();
  return (
    <main className="whole-page">
      <EmptyState icon="bell" title={t('linkUnknown')} hint={t('linkUnknownHint')}>
        <PageLink to={{ page: 'inbox' }}>{t('goToInbox')}</PageLink>
      </EmptyState>
    </main>
  );
}
