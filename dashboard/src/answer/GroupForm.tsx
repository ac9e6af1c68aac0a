import { Button, Kbd, Switch, Textarea, Tooltip } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import type { Notification } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { customersIn, type Group } from '../inbox/groups.ts';
import { resolveNotifications } from '../inbox/resolve.ts';
import { CurlButton } from '../shell/CurlButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { useStore } from '../shell/store.ts';
import { MOD } from '../shortcuts/useShortcuts.ts';
import { readDraft, removeDraft, saveDraft } from './drafts.ts';
import { CONTENT_MAX, REPLY_FIELD } from './fields.ts';
import { sendToMany } from './sendToMany.ts';
import { textToInsert } from './textToInsert.ts';

/** The draft is that of `item`, whose question stands for the group. If it leaves the group, the draft stays with the group. */
export function GroupForm({ item, chosen }: { item: Notification; chosen: Group }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const ids = chosen.map(({ id }) => id);
  const [savedDraft] = useState(() => readDraft(item.id));
  const [text, setText] = useState(savedDraft.fields.answer ?? '');
  const [teach, setTeach] = useState(savedDraft.teach);
  const [used, setUsed] = useState(savedDraft.source);
  /** The document whose text is sent as it is. */
  const source = teach && used?.text.trim() === text.trim() ? used : undefined;
  const [draftId, setDraftId] = useState(item.id);
  const savedIds = useRef(ids.join());
  const [submitted, setSubmitted] = useState(false);
  const [sending, setSending] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const form = useRef<HTMLFormElement>(null);
  const field = () => form.current?.querySelector<HTMLElement>(REPLY_FIELD);

  const change = (answer: string, nextTeach = teach, nextUsed = used) => {
    setText(answer);
    setTeach(nextTeach);
    setUsed(nextUsed);
    saveDraft(draftId, { fields: { answer }, teach: nextTeach, source: nextUsed, ticked: ids });
  };
  // The draft also keeps who is ticked, and follows the group.
  const tickedIds = ids.join();
  useEffect(() => {
    if (sending || (draftId === item.id && tickedIds === savedIds.current)) return;
    savedIds.current = tickedIds;
    if (text !== '') {
      const ticked = tickedIds === '' ? [] : tickedIds.split(',').map(Number);
      saveDraft(item.id, { fields: { answer: text }, teach, source: used, ticked });
    }
    if (draftId === item.id) return;
    setDraftId(item.id);
    removeDraft(draftId);
  }, [sending, draftId, item.id, tickedIds, text, teach, used]);
  const suggestion = useStore(textToInsert);
  useEffect(() => {
    if (suggestion?.id !== item.id) return;
    textToInsert.set(undefined);
    const before = text.trimEnd();
    const { text: found, document } = suggestion;
    const next = before === '' ? found : `${before}\n\n${found}`;
    change(next, teach, document && { ...document, text: found });
    field()?.focus();
  });

  const error =
    text.length > CONTENT_MAX
      ? t('fieldTooLong', { max: CONTENT_MAX })
      : submitted && text.trim() === ''
        ? t('fieldAnswerMissing')
        : undefined;
  const body = { ids, answer: text, teach, ...(source ? { document_id: source.id } : {}) };
  const submit = async () => {
    setSubmitted(true);
    if (text.trim() === '' || text.length > CONTENT_MAX) return field()?.focus();
    if (ids.length === 0 || sending) return;
    setSending(true);
    setFailure(undefined);
    try {
      await sendToMany(client, draftId, body);
      setText('');
      setSubmitted(false);
    } catch (thrown) {
      setFailure(thrown);
    }
    setSending(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, target, currentTarget, ctrlKey, metaKey, altKey } = event;
    if (key === 'Enter' && (ctrlKey || metaKey)) {
      event.preventDefault();
      void submit();
      return;
    }
    // As in the form for one: digits choose a suggestion, other characters are text.
    if (target !== currentTarget || ctrlKey || metaKey || altKey || !/^[^\d\s]$/u.test(key)) return;
    event.stopPropagation();
    field()?.focus();
  };
  const label = t('sendToMany', { n: customersIn(chosen) });
  return (
    <form
      ref={form}
      className="answer"
      data-answer
      tabIndex={-1}
      aria-label={t('keyReply')}
      noValidate
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {failure !== undefined && (
        <p className="notice" role="alert">
          {t('answerNotSent', { reason: errorMessage(translation, failure) })}
        </p>
      )}
      <Textarea
        name="answer"
        label={t('fieldAnswer')}
        required
        dir="auto"
        className="field field-content"
        data-reply
        value={text}
        error={error}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <p className="answer-foot">{text && <span>{t('draftSaved')}</span>}</p>
      <Switch
        className="teach"
        size="md"
        label={t('teach')}
        checked={teach}
        onChange={(event) => change(text, event.currentTarget.checked)}
      />
      <p className="send-hint" aria-live="polite">
        {source
          ? t('groupTeachWording', { title: source.title })
          : t(teach ? 'groupTeachOn' : 'groupTeachOff')}
      </p>
      <div className="answer-actions">
        <span className="action">
          <Button
            type="submit"
            loading={sending}
            disabled={ids.length === 0}
            rightSection={
              <Kbd dir="ltr" className="key-hint while-typing on-accent">
                {MOD} ↵
              </Kbd>
            }
          >
            {label}
          </Button>
          <CurlButton call={calls.answerMany(body)} label={label} />
        </span>
        <Tooltip label={t('resolveHint')}>
          <Button
            variant="default"
            disabled={ids.length === 0}
            onClick={() => resolveNotifications(client, ids)}
          >
            {t('resolve')}
          </Button>
        </Tooltip>
      </div>
    </form>
  );
}
