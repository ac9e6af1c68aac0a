import { useTranslation } from '../../i18n/translation.tsx';

/** For people who see a setting that they cannot change. */
export function OwnersOnly() {
  const { t } = useTranslation();
  return <p className="muted">{t('ownersOnly')}</p>;
}
