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
  const [kept, setKept] = useState(() => readDocumentDraft(document.id) !== undefined);
  const { title, body, version } = draft;
  const change = (part: Partial<DocumentDraft>) => {
    const next = { title, body, version, ...part };
    const differs = next.title !== document.title || next.body !== document.body;
    setDraft(next);
    setKept(differs);
    if (differs) saveDocumentDraft(document.id, next);
    else dropDocumentDraft(document.id);
  };
  const leave = () => {
    dropDocumentDraft(document.id);
    onDone();
  };
  const callFor = (over: number) => calls.changeDocument(document.id, over, { title, body });
  const save = useMutation({
    mutationFn: (over: number) => ask<Document>(callFor(over)),
    onSuccess(saved) {
      say('saved', { values: { version: saved.version } });
      onSaved();
      leave();
    },
    onError: onSaved,
  });
  const changed = save.error instanceof Problem && save.error.status === 409;
  /** Who was told that there is another one, and saves again, means it. */
  const over = changed ? document.version : version;
  return (
    <form
      className="answer"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(over);
      }}
    >
      <TextInput
        label={t('title')}
        required
        withAsterisk={false}
        maxLength={200}
        dir="auto"
        readOnly={save.isPending}
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
        readOnly={save.isPending}
        value={body}
        onChange={(event) => change({ body: event.currentTarget.value })}
      />
      <p className="answer-foot">{kept && <span>{t('draftKept')}</span>}</p>
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
          <CurlButton call={callFor(over)} label={t('save')} />
        </span>
        <Button variant="default" onClick={leave}>
          {t('cancel')}
        </Button>
      </div>
    </form>
  );
}
