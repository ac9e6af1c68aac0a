import type { InboxTab } from '../../../../src/contract/plain.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import type { IconName } from '../../shell/Icon.tsx';
import type { View } from '../view.ts';

const EMPTY_TABS: Record<InboxTab, { icon: IconName; title: TextKey; hint: TextKey }> = {
  open: { icon: 'bell', title: 'emptyPending', hint: 'emptyPendingHint' },
  attention: { icon: 'check', title: 'emptyAttention', hint: 'emptyAttentionHint' },
  answered: { icon: 'inbox', title: 'emptyAnswered', hint: 'emptyAnsweredHint' },
  resolved: { icon: 'inbox', title: 'emptyResolved', hint: 'emptyResolvedHint' },
  all: { icon: 'inbox', title: 'emptyAll', hint: 'emptyAllHint' },
};

export function EmptyList({ view: { search, tab, type, assigned } }: { view: View }) {
  const { t } = useTranslation();
  if (search !== '') {
    return (
      <EmptyState icon="search" title={t('emptySearch', { query: search })} hint={t('emptySearchHint')} />
    );
  }
  if (type !== '' || assigned !== '')
    return <EmptyState icon="inbox" title={t('emptyFilter')} hint={t('emptyFilterHint')} />;
  const { icon, title, hint } = EMPTY_TABS[tab];
  return <EmptyState icon={icon} title={t(title)} hint={t(hint)} />;
}
