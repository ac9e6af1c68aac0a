import { Skeleton } from '@mantine/core';
import { useTranslation } from '../i18n/translation.tsx';

/** Until the code of a page has loaded. */
export function PageLoading() {
  const { t } = useTranslation();
  return (
    <div className="page-loading" role="status" aria-label={t('loading')}>
      <Skeleton height={28} width="40%" />
      <Skeleton height={120} radius="md" />
      <Skeleton height={220} radius="md" />
    </div>
  );
}
