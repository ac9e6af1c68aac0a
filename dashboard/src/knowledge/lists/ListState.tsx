import { Button, Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';

interface Loaded {
  isPending: boolean;
  isError: boolean;
  refetch(): unknown;
}

/** A list that is loading, could not be loaded, or is empty. */
export function ListState({ query, isEmpty, empty }: { query: Loaded; isEmpty: boolean; empty: ReactNode }) {
  const { t } = useTranslation();
  if (query.isPending) {
    return (
      <div className="list-skeletons" role="status" aria-label={t('loading')}>
        {[0, 1, 2].map((row) => (
          <Skeleton key={row} height={72} radius="md" />
        ))}
      </div>
    );
  }
  if (!isEmpty) return null;
  if (!query.isError) return empty;
  return (
    <EmptyState icon="knowledge" title={t('listFailed')}>
      <Button variant="default" onClick={() => void query.refetch()}>
        {t('retry')}
      </Button>
    </EmptyState>
  );
}

interface More {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): unknown;
}

export function LoadMore({ query }: { query: More }) {
  const { t } = useTranslation();
  if (!query.hasNextPage) return null;
  return (
    <li>
      <Button
        variant="default"
        fullWidth
        loading={query.isFetchingNextPage}
        onClick={() => void query.fetchNextPage()}
      >
        {t('loadMore')}
      </Button>
    </li>
  );
}
