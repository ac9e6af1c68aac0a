import { Button, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { Document } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { BackButton } from '../shell/BackButton.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { navigate } from '../shell/route.ts';
import { showToast } from '../shell/toasts.tsx';
import { readNewDocument, removeNewDocument, saveNewDocument } from './drafts.ts';
import { queryOfKnowledge, useKnowledgeView } from './views.ts';

const EMPTY = { title: '', body: '', notificationId: null };

/** A document by hand, or from an answer that the assistant did not learn. */
export function NewDocument() {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const view = useKnowledgeView();
  const [draft, setDraft] = useState(() => readNewDocument() ?? EMPTY);
  const { title, body, notificationId } = draft;
  const isEmpty = title === '' && body === '';
  const change = (part: Partial<typeof draft>) => {
    const next = { ...draft, ...part };
    setDraft(next);
    if (next.title === '' && next.body === '') removeNewDocument();
    else saveNewDocument(next);
  };
  const close = () => {
    removeNewDocument();
    navigate({ page: 'knowledge', query: queryOfKnowledge(view) }, 'replace');
  };
  const call = calls.createDocument({ title, body, notification_id: notificationId });
  const save = useMutation({
    mutationFn: () => request<Document>(call),
    onSuccess({ id }) {
      removeNewDocument();
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
      <form
        className="answer"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextInput
          label={t('documentTitle')}
          placeholder={t('newDocumentHint')}
          required
          withAsterisk={false}
          maxLength={200}
          dir="auto"
          data-autofocus
          readOnly={save.isPending}
          value={title}
          onChange={(event) => change({ title: event.currentTarget.value })}
        />
        <Textarea
          className="field field-content"
          label={t('documentBody')}
          required
          withAsterisk={false}
          maxLength={20_000}
          dir="auto"
          readOnly={save.isPending}
          value={body}
          onChange={(event) => change({ body: event.currentTarget.value })}
        />
        <p className="answer-foot">{!isEmpty && <span>{t('draftSaved')}</span>}</p>
        {save.error && (
          <p className="notice" role="alert">
            {errorMessage(translation, save.error)}
          </p>
        )}
        <div className="answer-actions">
          <span className="action">
            <Button type="submit" loading={save.isPending}>
              {t('save')}
            </Button>
            <CurlButton call={call} label={t('save')} />
          </span>
          <Button variant="default" onClick={close}>
            {t('cancel')}
          </Button>
        </div>
      </form>
    </article>
  );
}
