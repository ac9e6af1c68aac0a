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

interface EditorProps {
  document: DocumentDetail;
  onDone: () => void;
  onSaved: () => void;
}

export function DocumentEditor({ document, onDone, onSaved }: EditorProps) {
  const wording = useWording();
  const { t } = wording;
  const [title, setTitle] = useState(document.title);
  const [body, setBody] = useState(document.body);
  // The version that was read: another one on the server means that somebody else wrote meanwhile.
  const [version, setVersion] = useState(document.version);
  const call = calls.changeDocument(document.id, version, { title, body });
  const save = useMutation({
    mutationFn: () => ask<Document>(call),
    onSuccess(saved) {
      say('saved', { values: { version: saved.version } });
      onSaved();
      onDone();
    },
    onError: onSaved,
  });
  const changed = save.error instanceof Problem && save.error.status === 409;
  return (
    <form
      className="answer"
      onSubmit={(event) => {
        event.preventDefault();
        if (changed) setVersion(document.version);
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
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
      <Textarea
        className="field field-content"
        label={t('body')}
        required
        withAsterisk={false}
        maxLength={20_000}
        dir="auto"
        value={body}
        onChange={(event) => setBody(event.currentTarget.value)}
      />
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
        <Button variant="default" onClick={onDone}>
          {t('cancel')}
        </Button>
      </div>
    </form>
  );
}
