import { Button, Skeleton } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { Document, DocumentDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { BackButton } from '../shell/BackButton.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { EmptyState } from '../shell/EmptyState.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { Icon } from '../shell/Icon.tsx';
import { navigate } from '../shell/route.ts';
import { showToast } from '../shell/toasts.tsx';
import { DocumentEditor } from './DocumentEditor.tsx';
import { deleteDocument } from './delete.ts';
import { readDocumentDraft } from './drafts.ts';
import { VersionHistory } from './VersionHistory.tsx';
import { queryOfKnowledge, useKnowledgeView } from './views.ts';
import { Wordings } from './Wordings.tsx';

export function DocumentPane({ id }: { id: number }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const [editing, setEditing] = useState(() => readDocumentDraft(id) !== undefined);
  const query = useQuery({
    queryKey: ['document', id],
    queryFn: ({ signal }) => request<DocumentDetail>(calls.document(id), { signal }),
  });
  const refresh = () => {
    void client.invalidateQueries({ queryKey: ['document', id] });
    void client.invalidateQueries({ queryKey: ['documents'] });
  };
  const revert = useMutation({
    mutationFn: () => request<Document>(calls.revertDocument(id)),
    onSuccess: ({ version }) => showToast('previousRestored', { values: { version } }),
    onError: (error) =>
      showToast('notSaved', { values: { reason: errorMessage(translation, error) }, tone: 'error' }),
    onSettled: refresh,
  });

  const list = { page: 'knowledge', query: queryOfKnowledge(useKnowledgeView()) } as const;
  const document = query.data;
  if (!document) {
    return query.isError ? (
      <EmptyState icon="knowledge" title={t('documentNotFound')}>
        <Button variant="default" onClick={() => navigate(list)}>
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
      <div className="pane-bar">
        <BackButton to={list} />
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
                call={calls.updateDocument(id, document.version, {
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
                  {t('restorePrevious')}
                </Button>
                <CurlButton call={calls.revertDocument(id)} label={t('restorePrevious')} />
              </span>
            )}
            <span className="action">
              <Button
                variant="default"
                className="danger"
                leftSection={<Icon name="trash" size={18} />}
                onClick={() => {
                  void deleteDocument(client, translation, document).then(
                    (done) => done && navigate(list, 'replace'),
                  );
                }}
              >
                {t('delete')}
              </Button>
              <CurlButton call={calls.deleteDocument(id)} label={t('delete')} />
            </span>
          </div>
        </>
      )}
      <Wordings document={document} onAdded={refresh} />
      <VersionHistory document={document} onRestored={refresh} />
    </article>
  );
}
