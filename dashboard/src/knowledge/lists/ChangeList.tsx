import type { KnowledgeChange } from '../../../../src/contract/knowledgeUpkeep.ts';
import { calls } from '../../api/calls.ts';
import { useCursorPages } from '../../api/pages.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import { follow, pathOf } from '../../shell/route.ts';
import { useNow } from '../../shell/useNow.ts';
import { queryOfKnowledge } from '../views.ts';
import { KnowledgeList } from './KnowledgeList.tsx';

interface Page {
  changes: KnowledgeChange[];
  next_cursor: string | null;
}

const TEXTS: Record<KnowledgeChange['what'], TextKey> = {
  created: 'changeCreated',
  changed: 'changeChanged',
  reverted: 'changeReverted',
  deleted: 'changeDeleted',
  wording_added: 'changeWordingAdded',
  wording_removed: 'changeWordingRemoved',
};

/** Who changed what. A change leads to the version that it made. */
export function ChangeList() {
  const { t } = useTranslation();
  const query = useCursorPages<Page>(['documents', 'changes'], calls.knowledgeChanges);
  const changes = (query.data?.pages ?? []).flatMap((page) => page.changes);
  return (
    <KnowledgeList
      query={query}
      label={t('viewChanges')}
      empty={<EmptyState icon="clock" title={t('changesEmpty')} />}
      rows={changes.map((change) => (
        <li key={`${change.at} ${change.what} ${change.document_id} ${change.version} ${change.wording}`}>
          <Change change={change} />
        </li>
      ))}
    />
  );
}

function Change({ change }: { change: KnowledgeChange }) {
  const { t, relative, dateTime } = useTranslation();
  const now = useNow();
  const { what, cause, document_id: id, title, version, wording, name, at } = change;
  const content = (
    <>
      <strong dir="auto">{title}</strong>
      <span className="row-text">
        {name === null && version !== null
          ? t('byImport')
          : t(TEXTS[what], { name: name ?? t('changeByImport') })}
        {wording !== null && (
          <>
            {' '}
            <bdi>“{wording}”</bdi>
          </>
        )}
      </span>
      <span className="row-foot">
        {cause === 'answer' && <span>{t('byAnswer')}</span>}
        {cause === 'import' && name !== null && <span>{t('byImport')}</span>}
        {version !== null && <span>{t('version', { version })}</span>}
        <time dateTime={at} title={dateTime(at)}>
          {relative(at, now)}
        </time>
      </span>
    </>
  );
  if (what === 'deleted') return <div className="document-row document-gone">{content}</div>;
  const query = queryOfKnowledge('changes', version === null ? {} : { version: String(version) });
  const route = { page: 'knowledge', id, query } as const;
  return (
    <a className="document-row" href={pathOf(route)} onClick={(event) => follow(event, route)}>
      {content}
    </a>
  );
}
