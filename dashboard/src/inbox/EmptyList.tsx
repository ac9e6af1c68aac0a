import { useTranslation } from '../i18n/translation.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import type { View } from './view.ts';

export function EmptyList({ view: { search, state, type } }: { view: View }) {
  const { t } = useTranslation();
  if (search !== '') {
    return (
      <EmptyState icon="search" title={t('emptySearch', { query: search })} hint={t('emptySearchHint')} />
    );
  }
  if (type !== 'all') return <EmptyState icon="inbox" title={t('emptyFilter')} hint={t('emptyFilterHint')} />;
  switch (state) {
    case 'requested':
      return <EmptyState icon="bell" title={t('emptyPending')} hint={t('emptyPendingHint')} />;
    case 'answered':
      return <EmptyState icon="inbox" title={t('emptyAnswered')} hint={t('emptyAnsweredHint')} />;
    case 'all':
      return <EmptyState icon="inbox" title={t('emptyAll')} hint={t('emptyAllHint')} />;
  }
}
