import { Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { LanguageSelect } from '../../settings/LanguageSelect.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { PageLink } from '../../shell/PageLink.tsx';

/** A page that a link opens, in the look of the sign-in page. */
export const LinkPage = ({
  title,
  hint,
  children,
}: {
  title: string;
  hint?: string;
  children: ReactNode;
}) => (
  <main className="sign-in">
    <div className="sign-in-card">
      <span className="sign-in-bell">
        <Icon name="bell" size={34} />
      </span>
      <h1>{title}</h1>
      {hint !== undefined && <p className="muted">{hint}</p>}
      {children}
      <div className="sign-in-foot">
        <LanguageSelect />
      </div>
    </div>
  </main>
);

export function LinkLoading() {
  return (
    <main className="sign-in">
      <Skeleton height={320} width={320} radius="md" />
    </main>
  );
}

/** The link has expired, was used, or is not complete. */
export function LinkUnknown() {
  const { t } = useTranslation();
  return (
    <main className="whole-page">
      <EmptyState isPage icon="bell" title={t('linkUnknown')} hint={t('linkUnknownHint')}>
        <PageLink to={{ page: 'inbox' }}>{t('goToInbox')}</PageLink>
      </EmptyState>
    </main>
  );
}
