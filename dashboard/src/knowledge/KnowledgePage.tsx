import { Button, TextInput } from '@mantine/core';
import { lazy, Suspense, useDeferredValue, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Icon } from '../shell/Icon.tsx';
import { follow, navigate, pathOf, useRoute } from '../shell/route.ts';
import { useWide } from '../shell/useScreenWidth.ts';
import { useShortcuts } from '../shortcuts/useShortcuts.ts';
import { DocumentPane } from './DocumentPane.tsx';
import { BLANK } from './drafts.ts';
import { ChangeList } from './lists/ChangeList.tsx';
import { DocumentList, useDocuments } from './lists/DocumentList.tsx';
import { GapList } from './lists/GapList.tsx';
import { StaleList } from './lists/StaleList.tsx';
import { NewDocument } from './NewDocument.tsx';
import { type KnowledgeView, queryOfKnowledge, useKnowledgeView, VIEWS } from './views.ts';

// Loaded on demand: it is used less often than the list.
const FilesDialog = lazy(async () => ({
  default: (await import('./files/FilesDialog.tsx')).FilesDialog,
}));

const VIEW_NAMES: Record<KnowledgeView, TextKey> = {
  documents: 'viewDocuments',
  gaps: 'viewGaps',
  stale: 'viewStale',
  changes: 'viewChanges',
};

export function KnowledgePage({ id }: { id: number | undefined }) {
  const { t } = useTranslation();
  const wide = useWide();
  const view = useKnowledgeView();
  const { new: newName } = useRoute().query;
  const isNew = newName !== undefined && id === undefined;
  const [search, setSearch] = useState('');
  const searchText = useDeferredValue(search.trim());
  const [filesOpen, setFilesOpen] = useState(false);
  const searchRef = useRef<HTMLInputElement>(null);
  const { query, documents } = useDocuments(searchText);
  const at = documents.findIndex((document) => document.id === id);
  const move = (step: number) => {
    const document = documents[Math.max(0, Math.min(at + step, documents.length - 1))];
    if (view !== 'documents' || !document) return;
    navigate({ page: 'knowledge', id: document.id, query: {} }, id === undefined ? 'push' : 'replace');
  };
  useShortcuts({
    j: () => move(1),
    k: () => move(at < 0 ? 1 : -1),
    '/': () => searchRef.current?.focus(),
    Escape() {
      const active = document.activeElement;
      if (active instanceof HTMLElement && active.matches('input, textarea')) active.blur();
      else navigate({ page: 'knowledge', query: queryOfKnowledge(view) });
    },
  });
  return (
    <div className="inbox">
      <h1 className="visually-hidden">{t('knowledge')}</h1>
      <Suspense fallback={null}>{filesOpen && <FilesDialog onClose={() => setFilesOpen(false)} />}</Suspense>
      {(wide || (id === undefined && !isNew)) && (
        <section className="inbox-list" aria-label={t('knowledge')}>
          <div className="filters">
            <div className="knowledge-actions">
              <Button
                leftSection={<Icon name="plus" size={18} />}
                onClick={() => navigate({ page: 'knowledge', query: queryOfKnowledge(view, { new: BLANK }) })}
              >
                {t('newDocument')}
              </Button>
              <Button variant="default" onClick={() => setFilesOpen(true)}>
                {t('filesTitle')}
              </Button>
            </div>
            <Views view={view} />
            {view === 'gaps' && <p className="muted">{t('gapsHint')}</p>}
            {view === 'stale' && <p className="muted">{t('staleHint')}</p>}
            {view === 'documents' && (
              <div className="knowledge-search">
                <TextInput
                  ref={searchRef}
                  type="search"
                  value={search}
                  onChange={(event) => setSearch(event.currentTarget.value)}
                  placeholder={t('searchKnowledge')}
                  aria-label={t('searchKnowledge')}
                  leftSection={<Icon name="search" size={18} />}
                />
                <CurlButton call={calls.documents(searchText)} label={t('searchKnowledge')} />
              </div>
            )}
          </div>
          {view === 'documents' && (
            <DocumentList query={query} documents={documents} search={searchText} id={id} />
          )}
          {view === 'gaps' && <GapList />}
          {view === 'stale' && <StaleList id={id} />}
          {view === 'changes' && <ChangeList />}
        </section>
      )}
      {(wide || id !== undefined || isNew) && (
        <section className="inbox-pane" aria-label={t('documentBody')}>
          {isNew ? (
            <NewDocument key={newName} name={newName} />
          ) : id === undefined ? (
            <EmptyState icon="knowledge" title={t('selectDocument')} hint={t('selectDocumentHint')} />
          ) : (
            <DocumentPane key={id} id={id} />
          )}
        </section>
      )}
    </div>
  );
}

function Views({ view }: { view: KnowledgeView }) {
  const { t } = useTranslation();
  return (
    <ul className="views" aria-label={t('viewsLabel')}>
      {VIEWS.map((each) => {
        const route = { page: 'knowledge', query: queryOfKnowledge(each) } as const;
        return (
          <li key={each}>
            <a
              href={pathOf(route)}
              aria-current={each === view ? 'page' : undefined}
              onClick={(event) => follow(event, route)}
            >
              {t(VIEW_NAMES[each])}
            </a>
          </li>
        );
      })}
    </ul>
  );
}
