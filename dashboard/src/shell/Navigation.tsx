import { Tooltip } from '@mantine/core';
import type { InboxCounts } from '../../../src/contract/inbox.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useMerchant } from '../settings/merchant.ts';
import { ConnectionState } from './ConnectionState.tsx';
import { Icon, type IconName } from './Icon.tsx';
import { follow, pathOf, type Target, useRoute } from './route.ts';

export const PAGES: readonly {
  page: 'inbox' | 'knowledge' | 'overview' | 'testPhone';
  icon: IconName;
  route: Target;
  key: string;
}[] = [
  { page: 'inbox', icon: 'inbox', route: { page: 'inbox', id: undefined }, key: 'i' },
  { page: 'knowledge', icon: 'knowledge', route: { page: 'knowledge', id: undefined }, key: 'k' },
  { page: 'overview', icon: 'overview', route: { page: 'overview' }, key: 'o' },
  { page: 'testPhone', icon: 'phone', route: { page: 'testPhone', id: undefined }, key: 't' },
];

interface NavigationProps {
  counts: InboxCounts | undefined;
  withTestPhone: boolean;
  onPalette: () => void;
}

/** A sidebar on wide screens, a bottom bar on narrow ones. */
export function Navigation({ counts, withTestPhone, onPalette }: NavigationProps) {
  const { t, number } = useTranslation();
  const { page: current } = useRoute();
  const shop = useMerchant().data?.name;
  const pending = counts?.open.count ?? 0;
  const attention = counts?.attention.count ?? 0;
  return (
    <nav className="nav" aria-label={t('mainNavigation')}>
      <span className="nav-brand">
        <Icon name="bell" size={26} />
        {shop !== undefined && (
          <span className="nav-shop" dir="auto" title={shop}>
            {shop}
          </span>
        )}
      </span>
      {PAGES.filter(({ page }) => page !== 'testPhone' || withTestPhone).map(({ page, icon, route }) => (
        <a
          key={page}
          className="nav-item"
          href={pathOf(route)}
          aria-current={page === current ? 'page' : undefined}
          onClick={(event) => follow(event, route)}
        >
          <span className="nav-icon">
            <Icon name={icon} size={22} />
            {page === 'inbox' && pending > 0 && (
              <span className="nav-badge" aria-hidden="true">
                {pending > 99 ? '99+' : number(pending)}
              </span>
            )}
            {page === 'inbox' && attention > 0 && (
              <span className="nav-badge nav-alert" aria-hidden="true">
                {attention > 99 ? '99+' : number(attention)}
              </span>
            )}
          </span>
          <span className="nav-name">{t(page)}</span>
          {page === 'inbox' && <span className="visually-hidden">{t('countPending', { n: pending })}</span>}
          {page === 'inbox' && attention > 0 && (
            <span className="visually-hidden">{t('attentionGrew', { n: attention })}</span>
          )}
        </a>
      ))}
      <span className="nav-space" />
      <ConnectionState />
      <Tooltip label={t('palette')} position="right">
        <button type="button" className="nav-item nav-palette" onClick={onPalette} aria-label={t('palette')}>
          <Icon name="command" size={22} />
        </button>
      </Tooltip>
      <a
        className="nav-item"
        href={pathOf({ page: 'settings' })}
        aria-current={current === 'settings' ? 'page' : undefined}
        onClick={(event) => follow(event, { page: 'settings' })}
      >
        <Icon name="sliders" size={22} />
        <span className="nav-name">{t('settings')}</span>
      </a>
    </nav>
  );
}
