import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ApiError } from '../api/error.ts';
import type { Document, DocumentDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { showToast } from '../shell/toasts.tsx';
import { DocumentForm } from './DocumentForm.tsx';
import { type DocumentDraft, readDocumentDraft, removeDocumentDraft, saveDocumentDraft } from './drafts.ts';

interface EditorProps {
  document: DocumentDetail;
  onDone: () => void;
  onSaved: () => void;
}

export function DocumentEditor({ document, onDone, onSaved }: EditorProps) {
  const translation = useTranslation();
  const { t } = translation;
  // Includes the version it is based on: if the server has another one, someone else has saved in the meantime.
  const [draft, setDraft] = useState<DocumentDraft>(() => readDocumentDraft(document.id) ?? document);
  const [unsaved, setUnsaved] = useState(() => readDocumentDraft(document.id) !== undefined);
  const { title, body, version } = draft;
  const change = (part: Partial<DocumentDraft>) => {
    const next = { title, body, version, ...part };
    const differs = next.title !== document.title || next.body !== document.body;
    setDraft(next);
    setUnsaved(differs);
    if (differs) saveDocumentDraft(document.id, next);
    else removeDocumentDraft(document.id);
  };
  const close = () => {
    removeDocumentDraft(document.id);
    onDone();
  };
  const callFor = (baseVersion: number) => calls.updateDocument(document.id, baseVersion, { title, body });
  const save = useMutation({
    mutationFn: (baseVersion: number) => request<Document>(callFor(baseVersion)),
    onSuccess(saved) {
      showToast('saved', { values: { version: saved.version } });
      onSaved();
      close();
    },
    onError: onSaved,
  });
  const conflict = save.error instanceof ApiError && save.error.status === 409;
  /** After the warning about a newer version, saving again overwrites that version. */
  const baseVersion = conflict ? document.version : version;
  return (
    <DocumentForm
      title={title}
      body={body}
      call={callFor(baseVersion)}
      hasDraft={unsaved}
      isSaving={save.isPending}
      error={
        save.error ? (conflict ? t('documentChanged') : errorMessage(translation, save.error)) : undefined
      }
      onChange={change}
      onSave={() => save.mutate(baseVersion)}
      onCancel={close}
    />
  );
}
