import { Button, Kbd, Switch, Textarea, Tooltip } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import { ApiError } from '../api/error.ts';
import type { NotificationDetail } from '../api/types.ts';
import { ComposerTools } from '../conversation/ComposerTools.tsx';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { isExpired, isRelayed } from '../inbox/asks.ts';
import { resolveNotifications } from '../inbox/resolve.ts';
import { selection } from '../inbox/view.ts';
import { CurlButton } from '../shell/CurlButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { useStore } from '../shell/store.ts';
import { MOD } from '../shortcuts/useShortcuts.ts';
import type { OthersAnswer } from './contested.ts';
import { readDraft, removeDraft, saveDraft } from './drafts.ts';
import { CONTENT_MAX, canTeach, fieldTexts, REPLY_FIELD } from './fields.ts';
import { useCustomer } from './NotificationHeader.tsx';
import { OthersAnswerNotice } from './OthersAnswerNotice.tsx';
import { answerCall, rejections, submitAnswer } from './submit.ts';
import { textToInsert } from './textToInsert.ts';

/** What happens with the answer, by who sends it and what the assistant learns. */
const SEND_HINTS = {
  sent: {
    support: 'supportSends',
    once: 'teachOff',
    new: 'teachOnNew',
    document: 'teachOnDocument',
    wording: 'teachOnWording',
  },
  relayed: {
    support: 'supportRelayed',
    once: 'teachOffRelayed',
    new: 'teachOnNewRelayed',
    document: 'teachOnDocumentRelayed',
    wording: 'teachOnWordingRelayed',
  },
} as const satisfies Record<string, Record<string, TextKey>>;

interface AnswerFormProps {
  item: NotificationDetail;
  /** Somebody else has answered: the form is locked, with its text. */
  others?: OthersAnswer | undefined;
  /** Sends the text of a locked form as another message to the customer. */
  onFollowUp?: ((text: string) => Promise<unknown>) | undefined;
  /** The text of a locked form has been deleted. */
  onDiscarded?: () => void;
}

/** Has one field for each name in `answered_fields`. The customer gets the text of the first one. */
export function AnswerForm({ item, others, onFollowUp, onDiscarded }: AnswerFormProps) {
  const translation = useTranslation();
  const locked = others !== undefined;
  const { t, number } = translation;
  const client = useQueryClient();
  const { name, loading } = useCustomer(item);
  const rejection = useStore(rejections).get(item.id);
  const [savedDraft] = useState(() => readDraft(item.id));
  const [fields, setFields] = useState<Record<string, string>>(savedDraft.fields);
  const [teach, setTeach] = useState(savedDraft.teach);
  const [submitted, setSubmitted] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const teachable = canTeach(item.answered_fields);
  const [content = 'answer'] = item.answered_fields;
  /** The shortcuts then act on the selected ones. */
  const othersSelected = useStore(selection).size > 0;

  const [used, setUsed] = useState(savedDraft.source);
  /** The document whose text is sent as it is. */
  const source = teachable && teach && used?.text.trim() === fields[content]?.trim() ? used : undefined;

  const change = (next: Record<string, string>, nextTeach = teach, nextUsed = used) => {
    setFields(next);
    setTeach(nextTeach);
    setUsed(nextUsed);
    saveDraft(item.id, { fields: next, teach: nextTeach, source: nextUsed });
  };
  // A suggestion was chosen: append its text to the existing text.
  const suggestion = useStore(textToInsert);
  useEffect(() => {
    if (suggestion?.id !== item.id || locked) return;
    textToInsert.set(undefined);
    const { text, document } = suggestion;
    const before = fields[content]?.trimEnd() ?? '';
    const next = { ...fields, [content]: before === '' ? text : `${before}\n\n${text}` };
    change(next, teach, document && { ...document, text });
    form.current?.querySelector<HTMLElement>(REPLY_FIELD)?.focus();
  });

  const body: Record<string, unknown> = {};
  for (const field of item.answered_fields) body[field] = fields[field] ?? '';
  if (teachable && !teach) body.only_send_campaign = true;
  if (source) body.document_id = source.id;

  const errorOf = (field: string): string | undefined => {
    const text = fields[field] ?? '';
    if (text.length > CONTENT_MAX) return t('fieldTooLong', { max: CONTENT_MAX });
    if (submitted && text.trim() === '') return fieldTexts(field, t).missing;
    const { error } = rejection ?? {};
    return error instanceof ApiError && error.field === field ? error.message : undefined;
  };
  const submit = () => {
    if (locked) return;
    setSubmitted(true);
    const invalidField = item.answered_fields.find((field) => {
      const text = fields[field] ?? '';
      return text.trim() === '' || text.length > CONTENT_MAX;
    });
    if (invalidField !== undefined)
      form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(invalidField)}"]`)?.focus();
    else void submitAnswer(client, item, body);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, target, currentTarget, ctrlKey, metaKey, altKey } = event;
    if (key === 'Enter' && (ctrlKey || metaKey)) {
      event.preventDefault();
      submit();
      return;
    }
    // Typing while the form has the focus writes into the field. Only digits choose a suggestion.
    if (target !== currentTarget || ctrlKey || metaKey || altKey || !/^[^\d\s]$/u.test(key)) return;
    event.stopPropagation();
    form.current?.querySelector<HTMLElement>(REPLY_FIELD)?.focus();
  };
  const relayed = isRelayed(item.ask);
  const learned = source ? 'wording' : item.context.document_id == null ? 'new' : 'document';
  const sendHint = t(
    SEND_HINTS[relayed ? 'relayed' : 'sent'][!teachable ? 'support' : teach ? learned : 'once'],
    { name, title: source?.title ?? '' },
  );
  const sendLabel = teachable ? t('send') : t('sendReply');

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
        submit();
      }}
    >
      {others && (
        <OthersAnswerNotice
          answer={others}
          text={fields[content] ?? ''}
          onFollowUp={onFollowUp}
          onDiscard={() => {
            removeDraft(item.id);
            onDiscarded?.();
          }}
        />
      )}
      {rejection && !rejection.alreadyAnswered && (
        <p className="notice" role="alert">
          {t('answerNotSent', { reason: errorMessage(translation, rejection.error) })}
        </p>
      )}
      {!locked && isExpired(item.ask) && (
        <p className="notice">
          {t('askExpired')} {t(relayed ? 'assistantRelays' : 'askExpiredSends')}
        </p>
      )}
      {item.answered_fields.map((field, index) => {
        const { label, hint } = fieldTexts(field, t);
        const text = fields[field] ?? '';
        return (
          <Textarea
            key={field}
            name={field}
            label={label}
            description={hint}
            required
            readOnly={locked}
            dir="auto"
            className={index === 0 ? 'field field-content' : 'field'}
            {...(index === 0 ? { 'data-reply': true } : {})}
            value={text}
            error={errorOf(field)}
            onChange={(event) => change({ ...fields, [field]: event.currentTarget.value })}
          />
        );
      })}
      {!locked && (
        <ComposerTools
          name={name}
          field={() => form.current?.querySelector<HTMLTextAreaElement>(REPLY_FIELD)}
        />
      )}
      <p className="answer-foot">
        {Object.values(fields).some(Boolean) && <span>{t('draftSaved')}</span>}
        {(fields[content]?.length ?? 0) > CONTENT_MAX - 500 && (
          <span className="tabular">
            {number(fields[content]?.length ?? 0)} / {number(CONTENT_MAX)}
          </span>
        )}
      </p>
      {!locked && teachable && (
        <Switch
          className="teach"
          size="md"
          label={t('teach')}
          checked={teach}
          onChange={(event) => change(fields, event.currentTarget.checked)}
        />
      )}
      {!locked && (
        <>
          <p className="send-hint" aria-live="polite">
            {loading ? <span className="name-loading" aria-hidden="true" /> : sendHint}
          </p>
          <div className="answer-actions">
            <span className="action">
              <Button
                type="submit"
                rightSection={
                  <Kbd dir="ltr" className="key-hint while-typing on-accent">
                    {MOD} ↵
                  </Kbd>
                }
              >
                {sendLabel}
              </Button>
              <CurlButton call={answerCall(item.id, body)} label={sendLabel} />
            </span>
            <span className="action">
              <Tooltip label={t('resolveHint')}>
                <Button
                  variant="default"
                  rightSection={!othersSelected && <Kbd className="key-hint">e</Kbd>}
                  onClick={() => resolveNotifications(client, [item.id])}
                >
                  {t('resolve')}
                </Button>
              </Tooltip>
              <CurlButton call={calls.answer(item.id, { resolve_only: true })} label={t('resolve')} />
            </span>
          </div>
        </>
      )}
    </form>
  );
}
