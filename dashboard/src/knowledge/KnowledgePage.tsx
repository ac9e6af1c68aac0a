import { Button, Skeleton, TextInput } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { lazy, Suspense, useDeferredValue, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import { requestWithHeaders } from '../api/client.ts';
import type { Document } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Icon } from '../shell/Icon.tsx';
import { navigate, pathOf } from '../shell/route.ts';
import { useNow } from '../shell/useNow.ts';
import { useWide } from '../shell/useScreenWidth.ts';
import { useShortcuts } from '../shortcuts/useShortcuts.ts';
import { DocumentPane } from './DocumentPane.tsx';

// Loaded on demand: it is used less often than the list.
const ConfidenceDialog = lazy(async () => ({
  default: (await import('./confidence/ConfidenceDialog.tsx')).ConfidenceDialog,
}));

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

export function KnowledgePage({ id }: { id: number | undefined }) {
  const { t } = useTranslation();
  const wide = useWide();
  const [search, setSearch] = useState('');
  const searchText = useDeferredValue(search.trim());
  const [showsConfidence, setShowsConfidence] = useState(false);
  const searchRef = useRef<HTMLInputElement>(null);
  const call = calls.documents(searchText);
  const query = useInfiniteQuery({
    queryKey: ['documents', searchText],
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: call.path,
    getNextPageParam: ({ nextPath }) => nextPath,
    placeholderData: keepPreviousData,
  });
  const documents = (query.data?.pages ?? []).flatMap((page) => page.documents);
  const at = documents.findIndex((document) => document.id === id);
  const move = (step: number) => {
    const document = documents[Math.max(0, Math.min(at + step, documents.length - 1))];
    if (document) navigate({ page: 'knowledge', id: document.id }, id === undefined ? 'push' : 'replace');
  };
  useShortcuts({
    j: () => move(1),
    k: () => move(at < 0 ? 1 : -1),
    '/': () => searchRef.current?.focus(),
    Escape() {
      const active = document.activeElement;
      if (active instanceof HTMLElement && active.matches('input, textarea')) active.blur();
      else navigate({ page: 'knowledge', id: undefined });
    },
  });
  return (
    <div className="inbox">
      <h1 className="visually-hidden">{t('knowledge')}</h1>
      {showsConfidence && (
        <Suspense fallback={null}>
          <ConfidenceDialog onClose={() => setShowsConfidence(false)} />
        </Suspense>
      )}
      {(wide || id === undefined) && (
        <section className="inbox-list" aria-label={t('knowledge')}>
          <div className="filters filters-row">
            <TextInput
              ref={searchRef}
              type="search"
              value={search}
              onChange={(event) => setSearch(event.currentTarget.value)}
              placeholder={t('searchKnowledge')}
              aria-label={t('searchKnowledge')}
              leftSection={<Icon name="search" size={18} />}
            />
            <CurlButton call={call} label={t('searchKnowledge')} />
            <Button
              variant="default"
              fullWidth
              leftSection={<Icon name="check" size={18} />}
              onClick={() => setShowsConfidence(true)}
            >
              {t('withoutYou')}
            </Button>
          </div>
          {query.isPending && <Skeleton className="list-loading" height={72} radius="md" />}
          {query.isError && documents.length === 0 && (
            <EmptyState icon="knowledge" title={t('listFailed')}>
              <Button variant="default" onClick={() => void query.refetch()}>
                {t('retry')}
              </Button>
            </EmptyState>
          )}
          {query.isSuccess && documents.length === 0 && <NoDocuments search={searchText} />}
          {documents.length > 0 && (
            <ul className="documents" aria-label={t('documentList')}>
              {documents.map((document) => (
                <li key={document.id}>
                  <DocumentRow document={document} open={document.id === id} />
                </li>
              ))}
              {query.hasNextPage && (
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
              )}
            </ul>
          )}
        </section>
      )}
      {(wide || id !== undefined) && (
        <section className="inbox-pane" aria-label={t('documentBody')}>
          {id === undefined ? (
            <EmptyState icon="knowledge" title={t('selectDocument')} hint={t('selectDocumentHint')} />
          ) : (
            <DocumentPane key={id} id={id} />
          )}
        </section>
      )}
    </div>
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

function DocumentRow({ document, open }: { document: Document; open: boolean }) {
  const { t, relative } = useTranslation();
  const now = useNow();
  const route = { page: 'knowledge', id: document.id } as const;
  return (
    <a
      className="document-row"
      href={pathOf(route)}
      aria-current={open ? 'page' : undefined}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        navigate(route);
      }}
    >
      <strong dir="auto">{document.title}</strong>
      <span className="row-text" dir="auto">
        {document.body}
      </span>
      <span className="row-foot">
        <span>{t('version', { version: document.version })}</span>
        <span>{t('updatedAgo', { time: relative(document.updated_at, now) })}</span>
      </span>
    </a>
  );
}
