import { Button, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import type { Document, DocumentDetail } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { explain } from '../shell/problems.ts';
import { say } from '../shell/toasts.tsx';
import { type DocumentDraft, dropDocumentDraft, readDocumentDraft, saveDocumentDraft } from './drafts.ts';

interface EditorProps {
  document: DocumentDetail;
  onDone: () => void;
  onSaved: () => void;
}

export function DocumentEditor({ document, onDone, onSaved }: EditorProps) {
  const wording = useWording();
  const { t } = wording;
  // With the version that was read: another one on the server means that somebody else wrote meanwhile.
  const [draft, setDraft] = useState<DocumentDraft>(() => readDocumentDraft(document.id) ?? document);
  const { title, body, version } = draft;
  const differs = title !== document.title || body !== document.body;
  const change = (part: Partial<DocumentDraft>) => {
    const next = { title, body, version, ...part };
    setDraft(next);
    if (next.title === document.title && next.body === document.body) dropDocumentDraft(document.id);
    else saveDocumentDraft(document.id, next);
  };
  const leave = () => {
    dropDocumentDraft(document.id);
    onDone();
  };
  const call = calls.changeDocument(document.id, version, { title, body });
  const save = useMutation({
    mutationFn: () => ask<Document>(call),
    onSuccess(saved) {
      say('saved', { values: { version: saved.version } });
      onSaved();
      leave();
    },
    onError: onSaved,
  });
  const changed = save.error instanceof Problem && save.error.status === 409;
  return (
    <form
      className="answer"
      onSubmit={(event) => {
        event.preventDefault();
        if (changed) change({ version: document.version });
        save.mutate();
      }}
    >
      <TextInput
        label={t('title')}
        required
        withAsterisk={false}
        maxLength={200}
        dir="auto"
        value={title}
        onChange={(event) => change({ title: event.currentTarget.value })}
      />
      <Textarea
        className="field field-content"
        label={t('body')}
        required
        withAsterisk={false}
        maxLength={20_000}
        dir="auto"
        value={body}
        onChange={(event) => change({ body: event.currentTarget.value })}
      />
      <p className="answer-foot">{differs && <span>{t('draftKept')}</span>}</p>
      {save.error && (
        <p className="notice" role="alert">
          {changed ? t('documentChanged') : explain(wording, save.error)}
        </p>
      )}
      <div className="answer-actions">
        <span className="action">
          <Button type="submit" loading={save.isPending}>
            {t('save')}
          </Button>
          <CurlButton call={call} label={t('save')} />
        </span>
        <Button variant="default" onClick={leave}>
          {t('cancel')}
        </Button>
      </div>
    </form>
  );
}
