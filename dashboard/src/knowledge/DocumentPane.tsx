import { Button, Skeleton } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import type { Document, DocumentDetail } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { BackButton } from '../shell/BackButton.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Icon } from '../shell/Icon.tsx';
import { explain } from '../shell/problems.ts';
import { go } from '../shell/route.ts';
import { useStore } from '../shell/store.ts';
import { say } from '../shell/toasts.tsx';
import { DocumentEditor } from './DocumentEditor.tsx';
import { readDocumentDraft } from './drafts.ts';
import { hiddenDocuments, removeDocumentSoon } from './remove.ts';
import { Versions } from './Versions.tsx';

export function DocumentPane({ id }: { id: number }) {
  const wording = useWording();
  const { t } = wording;
  const client = useQueryClient();
  const [editing, setEditing] = useState(() => readDocumentDraft(id) !== undefined);
  const query = useQuery({
    queryKey: ['document', id],
    queryFn: ({ signal }) => ask<DocumentDetail>(calls.document(id), { signal }),
  });
  const refresh = () => {
    void client.invalidateQueries({ queryKey: ['document', id] });
    void client.invalidateQueries({ queryKey: ['documents'] });
  };
  const revert = useMutation({
    mutationFn: () => ask<Document>(calls.revertDocument(id)),
    onSuccess: ({ version }) => say('reverted', { values: { version } }),
    onError: (error) => say('answerKept', { values: { reason: explain(wording, error) }, tone: 'bad' }),
    onSettled: refresh,
  });

  const gone = useStore(hiddenDocuments).has(id);
  const document = query.data;
  if (!document || gone) {
    return query.isError || gone ? (
      <EmptyState icon="knowledge" title={t('documentGone')}>
        <Button variant="default" onClick={() => go({ page: 'knowledge', id: undefined })}>
          {t('back')}
        </Button>
      </EmptyState>
    ) : (
      <div className="pane-loading" role="status" aria-label={t('loading')}>
        <Skeleton height={28} width="60%" />
        <Skeleton height={160} />
      </div>
    );
  }
  return (
    <article className="pane document">
      <div className="asked-bar">
        <BackButton to={{ page: 'knowledge', id: undefined }} />
        <h2 className="document-title" dir="auto">
          {document.title}
        </h2>
      </div>
      {editing ? (
        <DocumentEditor document={document} onDone={() => setEditing(false)} onSaved={refresh} />
      ) : (
        <>
          <p className="document-body" dir="auto">
            {document.body}
          </p>
          <div className="answer-actions">
            <span className="action">
              <Button leftSection={<Icon name="pencil" size={18} />} onClick={() => setEditing(true)}>
                {t('edit')}
              </Button>
              <CurlButton
                call={calls.changeDocument(id, document.version, {
                  title: document.title,
                  body: document.body,
                })}
                label={t('edit')}
              />
            </span>
            {document.versions.length > 1 && (
              <span className="action">
                <Button
                  variant="default"
                  leftSection={<Icon name="undo" size={18} />}
                  loading={revert.isPending}
                  onClick={() => revert.mutate()}
                >
                  {t('revert')}
                </Button>
                <CurlButton call={calls.revertDocument(id)} label={t('revert')} />
              </span>
            )}
            <span className="action">
              <Button
                variant="default"
                className="danger"
                leftSection={<Icon name="trash" size={18} />}
                onClick={() => {
                  removeDocumentSoon(client, id);
                  go({ page: 'knowledge', id: undefined }, 'replace');
                }}
              >
                {t('delete')}
              </Button>
              <CurlButton call={calls.deleteDocument(id)} label={t('delete')} />
            </span>
          </div>
        </>
      )}
      <Versions document={document} onRestored={refresh} />
    </article>
  );
}
