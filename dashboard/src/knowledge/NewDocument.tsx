import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { Document } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { BackButton } from '../shell/BackButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { navigate } from '../shell/route.ts';
import { showToast } from '../shell/toasts.tsx';
import { DocumentForm } from './DocumentForm.tsx';
import { readNewDocument, removeNewDocument, saveNewDocument } from './drafts.ts';
import { queryOfKnowledge, useKnowledgeView } from './views.ts';

const EMPTY = { title: '', body: '', notificationId: null };

/** A document by hand, or from an answer that the assistant did not learn. */
export function NewDocument({ name }: { name: string }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const view = useKnowledgeView();
  const [draft, setDraft] = useState(() => readNewDocument(name) ?? EMPTY);
  const { title, body, notificationId } = draft;
  const change = (part: Partial<typeof draft>) => {
    const next = { ...draft, ...part };
    setDraft(next);
    if (next.title === '' && next.body === '') removeNewDocument(name);
    else saveNewDocument(name, next);
  };
  const close = () => {
    removeNewDocument(name);
    navigate({ page: 'knowledge', query: queryOfKnowledge(view) }, 'replace');
  };
  const call = calls.createDocument({ title, body, notification_id: notificationId });
  const save = useMutation({
    mutationFn: () => request<Document>(call),
    onSuccess({ id }) {
      removeNewDocument(name);
      showToast('documentCreated');
      void client.invalidateQueries({ queryKey: ['documents'] });
      void client.invalidateQueries({ queryKey: ['gaps'] });
      navigate({ page: 'knowledge', id, query: queryOfKnowledge(view) }, 'replace');
    },
  });
  return (
    <article className="pane document">
      <div className="pane-bar">
        <BackButton to={{ page: 'knowledge', query: queryOfKnowledge(view) }} />
        <h2 className="document-title">{t('newDocument')}</h2>
      </div>
      <DocumentForm
        title={title}
        body={body}
        titleHint={t('newDocumentHint')}
        call={call}
        hasDraft={title !== '' || body !== ''}
        isSaving={save.isPending}
        error={save.error ? errorMessage(translation, save.error) : undefined}
        onChange={change}
        onSave={() => save.mutate()}
        onCancel={close}
      />
    </article>
  );
}
