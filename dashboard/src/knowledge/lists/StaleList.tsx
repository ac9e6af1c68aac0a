import type { StaleDocument } from '../../../../src/contract/knowledgeUpkeep.ts';
import { calls } from '../../api/calls.ts';
import { useCursorPages } from '../../api/pages.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import { DocumentRow } from './DocumentRow.tsx';
import { KnowledgeList } from './KnowledgeList.tsx';

interface Page {
  documents: StaleDocument[];
  next_cursor: string | null;
}

/** Documents that somebody should look at, each with the reason. */
export function StaleList({ id }: { id: number | undefined }) {
  const { t } = useTranslation();
  const query = useCursorPages<Page>(['documents', 'stale'], calls.staleDocuments);
  const documents = (query.data?.pages ?? []).flatMap((page) => page.documents);
  return (
    <KnowledgeList
      query={query}
      label={t('viewStale')}
      empty={<EmptyState icon="check" title={t('staleEmpty')} hint={t('staleEmptyHint')} />}
      rows={documents.map((document) => (
        <li key={document.id}>
          <DocumentRow
            document={document}
            open={document.id === id}
            reason={<Reason document={document} />}
          />
        </li>
      ))}
    />
  );
}

function Reason({ document: { reason, wrong, last_used_on: day } }: { document: StaleDocument }) {
  const { t, language } = useTranslation();
  if (reason === 'wrong') return t('staleWrong', { n: wrong });
  if (day === null) return t('staleUnused');
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' });
  return t('staleUnusedSince', { day: date.format(new Date(`${day}T00:00:00Z`)) });
}
