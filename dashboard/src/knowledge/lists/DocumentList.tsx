import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { calls } from '../../api/calls.ts';
import { requestWithHeaders } from '../../api/client.ts';
import type { Document } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import { DocumentRow } from './DocumentRow.tsx';
import { KnowledgeList } from './KnowledgeList.tsx';

interface Page {
  documents: readonly Document[];
  nextPath: string | undefined;
}

async function fetchPage(path: string, signal: AbortSignal): Promise<Page> {
  const { body, headers } = await requestWithHeaders<Document[]>({ method: 'GET', path }, { signal });
  const [, next] = /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '') ?? [];
  const url = next === undefined ? undefined : new URL(next, location.origin);
  return { documents: body, nextPath: url && url.pathname + url.search };
}

export function useDocuments(search: string) {
  const query = useInfiniteQuery({
    queryKey: ['documents', 'all', search],
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: calls.documents(search).path,
    getNextPageParam: ({ nextPath }) => nextPath,
    placeholderData: keepPreviousData,
  });
  const documents = (query.data?.pages ?? []).flatMap((page) => page.documents);
  return { query, documents };
}

export function DocumentList({
  documents,
  query,
  search,
  id,
}: ReturnType<typeof useDocuments> & { search: string; id: number | undefined }) {
  const { t } = useTranslation();
  return (
    <KnowledgeList
      query={query}
      label={t('documentList')}
      empty={<NoDocuments search={search} />}
      rows={documents.map((document) => (
        <li key={document.id}>
          <DocumentRow document={document} open={document.id === id} />
        </li>
      ))}
    />
  );
}

function NoDocuments({ search }: { search: string }) {
  const { t } = useTranslation();
  return search === '' ? (
    <EmptyState icon="knowledge" title={t('knowledgeEmpty')} hint={t('knowledgeEmptyHint')} />
  ) : (
    <EmptyState icon="search" title={t('emptySearch', { query: search })} hint={t('searchKnowledgeHint')} />
  );
}
