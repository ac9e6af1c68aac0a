import { Button, Kbd, Switch, Textarea, Tooltip } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import { Problem } from '../api/problem.ts';
import type { Notification } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { resolveSoon } from '../inbox/resolve.ts';
import { selection } from '../inbox/view.ts';
import { MOD } from '../keyboard/keys.ts';
import { CurlButton } from '../shell/CurlButton.tsx';
import { explain } from '../shell/problems.ts';
import { useStore } from '../shell/store.ts';
import { useCustomer } from './Asked.tsx';
import { readDraft, saveDraft } from './drafts.ts';
import { CONTENT_MAX, canTeach, fieldTexts, REPLY_FIELD } from './fields.ts';
import { reused } from './reuse.ts';
import { answerCall, refusals, submitAnswer } from './submit.ts';

/** The form is the notification's own: one field for each that it asks for, the first for the customer. */
export function AnswerForm({ item }: { item: Notification }) {
  const wording = useWording();
  const { t, number } = wording;
  const client = useQueryClient();
  const { name } = useCustomer(item);
  const refusal = useStore(refusals).get(item.id);
  const [kept] = useState(() => readDraft(item.id));
  const [fields, setFields] = useState<Record<string, string>>(kept.fields);
  const [teach, setTeach] = useState(kept.teach);
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const teachable = canTeach(item.answered_fields);
  const [content = 'answer'] = item.answered_fields;
  /** The keys act on those then. */
  const othersSelected = useStore(selection).size > 0;

  const change = (next: Record<string, string>, nextTeach = teach) => {
    setFields(next);
    setTeach(nextTeach);
    saveDraft(item.id, { fields: next, teach: nextTeach });
  };
  // A suggestion was chosen: its text comes after what is already there.
  const chosen = useStore(reused);
  useEffect(() => {
    if (chosen?.id !== item.id) return;
    reused.set(undefined);
    const before = fields[content]?.trimEnd() ?? '';
    change({ ...fields, [content]: before === '' ? chosen.text : `${before}\n\n${chosen.text}` });
    form.current?.querySelector<HTMLElement>(REPLY_FIELD)?.focus();
  });

  const body: Record<string, unknown> = {};
  for (const field of item.answered_fields) body[field] = fields[field] ?? '';
  if (teachable && !teach) body.only_send_campaign = true;

  const problemOf = (field: string): string | undefined => {
    const text = fields[field] ?? '';
    if (text.length > CONTENT_MAX) return t('fieldTooLong', { max: CONTENT_MAX });
    if (tried && text.trim() === '') return t('fieldRequired');
    const { error } = refusal ?? {};
    return error instanceof Problem && error.field === field ? error.message : undefined;
  };
  const submit = () => {
    setTried(true);
    const wrong = item.answered_fields.find((field) => {
      const text = fields[field] ?? '';
      return text.trim() === '' || text.length > CONTENT_MAX;
    });
    if (wrong !== undefined)
      form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(wrong)}"]`)?.focus();
    else void submitAnswer(client, item, body);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, target, currentTarget, ctrlKey, metaKey, altKey } = event;
    if (key === 'Enter' && (ctrlKey || metaKey)) {
      event.preventDefault();
      submit();
      return;
    }
    // Who opens it and begins to write means the field; only a figure chooses a suggestion.
    if (target !== currentTarget || ctrlKey || metaKey || altKey || !/^[^\d\s]$/u.test(key)) return;
    event.stopPropagation();
    form.current?.querySelector<HTMLElement>(REPLY_FIELD)?.focus();
  };
  const consequence = !teachable
    ? t('supportSends', { name })
    : !teach
      ? t('teachOff', { name })
      : t(item.context.document_id === undefined ? 'teachOnNew' : 'teachOnDocument', { name });
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
      {refusal && !refusal.first && (
        <p className="notice" role="alert">
          {t('answerKept', { reason: explain(wording, refusal.error) })}
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
            dir="auto"
            className={index === 0 ? 'field field-content' : 'field'}
            {...(index === 0 ? { 'data-reply': true } : {})}
            value={text}
            error={problemOf(field)}
            onChange={(event) => change({ ...fields, [field]: event.currentTarget.value })}
          />
        );
      })}
      <p className="answer-foot">
        {Object.values(fields).some(Boolean) && <span>{t('draftKept')}</span>}
        {(fields[content]?.length ?? 0) > CONTENT_MAX - 500 && (
          <span className="tabular">
            {number(fields[content]?.length ?? 0)} / {number(CONTENT_MAX)}
          </span>
        )}
      </p>
      {teachable && (
        <Switch
          className="teach"
          size="md"
          label={t('teach')}
          checked={teach}
          onChange={(event) => change(fields, event.currentTarget.checked)}
        />
      )}
      <p className="consequence" aria-live="polite">
        {consequence}
      </p>
      <div className="answer-actions">
        <span className="action">
          <Button type="submit" rightSection={<Kbd className="key-hint while-typing on-accent">{MOD} ↵</Kbd>}>
            {sendLabel}
          </Button>
          <CurlButton call={answerCall(item.id, body)} label={sendLabel} />
        </span>
        <span className="action">
          <Tooltip label={t('resolveHint')}>
            <Button
              variant="default"
              rightSection={!othersSelected && <Kbd className="key-hint">e</Kbd>}
              onClick={() => resolveSoon(client, [item.id])}
            >
              {t('resolve')}
            </Button>
          </Tooltip>
          <CurlButton call={calls.answer(item.id, { resolve_only: true })} label={t('resolve')} />
        </span>
      </div>
    </form>
  );
}
