import { ActionIcon, Button, TextInput, Tooltip } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ApiError } from '../api/error.ts';
import type { DocumentDetail, DocumentWording } from '../api/types.ts';
import { type Translation, useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { Icon } from '../shell/Icon.tsx';
import { showToast } from '../shell/toasts.tsx';
import { removeWording } from './removeWording.ts';

/** Of a long list, these are shown first. */
const SHOWN_FIRST = 3;

/** Other wordings of the title, and a field to add one. */
export function Wordings({ document, onAdded }: { document: DocumentDetail; onAdded: () => void }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const [all, setAll] = useState(false);
  const { wordings } = document;
  return (
    <section className="wordings" aria-labelledby="wordings-title">
      <h3 id="wordings-title">{t('wordings')}</h3>
      <p className="muted">{t('wordingsHint')}</p>
      {wordings.length > 0 && (
        <ul>
          {wordings.slice(0, all ? undefined : SHOWN_FIRST).map((wording) => (
            <li key={wording.id}>
              <span className="wording-text" dir="auto">
                {wording.text}
              </span>
              <Tooltip label={t('wordingRemove')}>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size={44}
                  aria-label={`${t('wordingRemove')}: ${wording.text}`}
                  onClick={() => void removeWording(client, translation, document, wording)}
                >
                  <Icon name="close" size={16} />
                </ActionIcon>
              </Tooltip>
              <CurlButton call={calls.removeWording(document.id, wording.id)} label={t('wordingRemove')} />
            </li>
          ))}
        </ul>
      )}
      {wordings.length > SHOWN_FIRST && (
        <Button variant="default" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? 'showLess' : 'showAll')}
        </Button>
      )}
      <NewWording document={document} onAdded={onAdded} />
    </section>
  );
}

function NewWording({ document, onAdded }: { document: DocumentDetail; onAdded: () => void }) {
  const translation = useTranslation();
  const { t } = translation;
  const [text, setText] = useState('');
  const call = calls.addWording(document.id, text.trim());
  const add = useMutation({
    mutationFn: () => request<DocumentWording>(call),
    onSuccess({ id }) {
      if (document.wordings.some((wording) => wording.id === id)) showToast('wordingKnown');
      setText('');
    },
    onSettled: onAdded,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') add.mutate();
  };
  return (
    <form className="wording-new" onSubmit={submit}>
      <TextInput
        aria-label={t('wordingAdd')}
        placeholder={t('wordingAdd')}
        maxLength={200}
        dir="auto"
        readOnly={add.isPending}
        value={text}
        error={add.error ? addError(translation, add.error) : undefined}
        onChange={(event) => {
          setText(event.currentTarget.value);
          add.reset();
        }}
      />
      <span className="action">
        <Button type="submit" variant="default" disabled={text.trim() === ''} loading={add.isPending}>
          {t('wordingAddButton')}
        </Button>
        <CurlButton call={call} label={t('wordingAdd')} />
      </span>
    </form>
  );
}

function addError(translation: Translation, error: unknown): string {
  if (error instanceof ApiError && error.code === 'CONFLICT') return translation.t('wordingsFull');
  if (error instanceof ApiError && error.field === 'text') return translation.t('wordingIsTitle');
  return errorMessage(translation, error);
}
