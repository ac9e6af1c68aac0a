import { Button, Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import { LoadMore } from '../../shell/LoadMore.tsx';

interface Loaded {
  isPending: boolean;
  isError: boolean;
  refetch(): unknown;
  hasNextPage?: boolean;
  isFetchingNextPage?: boolean;
  fetchNextPage?(): unknown;
}

/** A list of the knowledge base: loading, failed, empty, or its rows. */
export function KnowledgeList(props: { query: Loaded; label: string; empty: ReactNode; rows: ReactNode[] }) {
  const { t } = useTranslation();
  const { query, rows } = props;
  if (query.isPending) {
    return (
      <div className="list-skeletons" role="status" aria-label={t('loading')}>
        {[0, 1, 2].map((row) => (
          <Skeleton key={row} height={72} radius="md" />
        ))}
      </div>
    );
  }
  if (rows.length > 0) {
    const { hasNextPage = false, isFetchingNextPage = false, fetchNextPage = () => {} } = query;
    return (
      <ul className="documents" aria-label={props.label}>
        {rows}
        {hasNextPage && (
          <li>
            <LoadMore query={{ hasNextPage, isFetchingNextPage, fetchNextPage }} />
          </li>
        )}
      </ul>
    );
  }
  if (!query.isError) return props.empty;
  return (
    <EmptyState icon="knowledge" title={t('listFailed')}>
      <Button variant="default" onClick={() => void query.refetch()}>
        {t('retry')}
      </Button>
    </EmptyState>
  );
}
