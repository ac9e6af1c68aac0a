import { useInfiniteQuery } from '@tanstack/react-query';
import type { StaleDocument } from '../../../../src/contract/knowledgeUpkeep.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import { DocumentRow } from './DocumentRow.tsx';
import { ListState, LoadMore } from './ListState.tsx';

interface Page {
  documents: StaleDocument[];
  next_cursor: string | null;
}

/** Documents that somebody should look at, each with the reason. */
export function StaleList({ id }: { id: number | undefined }) {
  const { t } = useTranslation();
  const query = useInfiniteQuery({
    queryKey: ['documents', 'stale'],
    queryFn: ({ pageParam, signal }) => request<Page>(calls.staleDocuments(pageParam), { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const documents = (query.data?.pages ?? []).flatMap((page) => page.documents);
  return (
    <>
      <ListState
        query={query}
        isEmpty={documents.length === 0}
        empty={<EmptyState icon="check" title={t('staleEmpty')} hint={t('staleEmptyHint')} />}
      />
      {documents.length > 0 && (
        <ul className="documents" aria-label={t('viewStale')}>
          {documents.map((document) => (
            <li key={document.id}>
              <DocumentRow
                document={document}
                open={document.id === id}
                reason={<Reason document={document} />}
              />
            </li>
          ))}
          <LoadMore query={query} />
        </ul>
      )}
    </>
  );
}

function Reason({ document: { reason, wrong, last_used_on: day } }: { document: StaleDocument }) {
  const { t, language } = useTranslation();
  if (reason === 'wrong') return t('staleWrong', { n: wrong });
  if (day === null) return t('staleUnused');
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' });
  return t('staleUnusedSince', { day: date.format(new Date(`${day}T00:00:00Z`)) });
}
