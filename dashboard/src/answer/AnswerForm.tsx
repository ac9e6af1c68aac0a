import { Textarea } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, useEffect, useRef, useState } from 'react';
import { calls } from '../api/calls.ts';
import { ApiError } from '../api/error.ts';
import type { NotificationDetail } from '../api/types.ts';
import { ComposerTools } from '../conversation/ComposerTools.tsx';
import { QuotedMessage } from '../conversation/QuotedMessage.tsx';
import { quotes } from '../conversation/quotes.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { isExpired, isRelayed } from '../inbox/asks.ts';
import { resolveNotifications } from '../inbox/resolve.ts';
import { selection } from '../inbox/view.ts';
import { errorMessage } from '../shell/errorMessage.ts';
import { focusInView } from '../shell/focus.ts';
import { useStore } from '../shell/store.ts';
import { reportTyping } from '../team/presence.ts';
import { beingSent } from './beingSent.ts';
import type { OthersAnswer } from './contested.ts';
import { type Draft, readDraft, removeDraft, saveDraft } from './drafts.ts';
import { CONTENT_MAX, canTeach, fieldTexts, REPLY_FIELD } from './fields.ts';
import { useCustomer } from './NotificationHeader.tsx';
import { OthersAnswerNotice } from './OthersAnswerNotice.tsx';
import { focusReply, ReplyActions, ReplyForm, useInsertedText } from './ReplyForm.tsx';
import { answerCall, rejections, submitAnswer } from './submit.ts';
import { AnswerTeaching, isIncomplete } from './teaching/AnswerTeaching.tsx';
import { type Decision, decide, type Proposal, teachBody } from './teaching/decide.ts';
import { proposalOf } from './teaching/proposal.ts';
import { takeFocusAfterUndo } from './undo.ts';

interface AnswerFormProps {
  item: NotificationDetail;
  /** Somebody else has answered: the form is locked, with its text. */
  others?: OthersAnswer | undefined;
  /** Sends the text of a locked form as another message to the customer. */
  onFollowUp?: ((text: string) => Promise<unknown>) | undefined;
  /** Whether what the user quotes is for this answer. */
  canQuote?: boolean | undefined;
  /** The server has the answer. */
  onSent: () => void;
  /** The text of a locked form has been deleted. */
  onDiscarded?: () => void;
}

/** What the customer gets, and what the assistant learns. Has one field for each name in `answered_fields`. */
export function AnswerForm({ item, others, onFollowUp, canQuote, onSent, onDiscarded }: AnswerFormProps) {
  const translation = useTranslation();
  const { t, number } = translation;
  const client = useQueryClient();
  const customer = useCustomer(item);
  const name = customer.loading ? t('theCustomer') : customer.name;
  const locked = others !== undefined;
  const sending = useStore(beingSent).has(item.id);
  const rejection = useStore(rejections).get(item.id);
  const [draft, setDraft] = useState<Omit<Draft, 'key'>>(() => readDraft(item.id));
  const [submitted, setSubmitted] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const teachable = canTeach(item.answered_fields);
  const [content = 'answer'] = item.answered_fields;
  /** The shortcuts then act on the selected ones. */
  const othersSelected = useStore(selection).size > 0;

  const { fields, teach: choice, source } = draft;
  const reply = fields[content] ?? '';
  const { data: proposal, isLoading: proposalLoads } = useQuery({
    ...proposalOf(item.id),
    enabled: teachable,
  });
  const given = { reply, choice, source, customer: customer.loading ? undefined : customer.name };
  const decision = decide({ ...given, proposal });

  const change = (changes: Partial<Draft>) => {
    if (locked || sending) return;
    const next = { ...draft, ...changes };
    setDraft(next);
    saveDraft(item.id, next);
  };
  useEffect(() => {
    const field = form.current?.querySelector<HTMLTextAreaElement>(REPLY_FIELD);
    if (!field || !takeFocusAfterUndo(item.id)) return;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }, [item.id]);
  useInsertedText(item.id, reply, (text, from) => {
    change({ fields: { ...fields, [content]: text }, source: from });
    focusReply(form);
  });

  const quote = useStore(quotes).get(item.conversation_id);
  const bodyWith = (decided: Decision, from: Proposal | undefined): Record<string, unknown> => ({
    ...Object.fromEntries(item.answered_fields.map((field) => [field, fields[field] ?? ''])),
    ...(teachable ? teachBody(decided, { proposal: from, reply }) : {}),
    ...(canQuote && quote ? { reply_to: quote.id } : {}),
  });
  const body = bodyWith(decision, proposal);
  /** Somebody quick sends before it is known what the answer could teach. */
  const bodyOnceDecided = async () => {
    const loaded = await client.ensureQueryData(proposalOf(item.id)).catch(() => undefined);
    return bodyWith(decide({ ...given, proposal: loaded }), loaded);
  };

  const errorOf = (field: string): string | undefined => {
    const text = fields[field] ?? '';
    if (text.length > CONTENT_MAX) return t('fieldTooLong', { max: CONTENT_MAX });
    if (submitted && text.trim() === '') return fieldTexts(field, t).missing;
    const { error } = rejection ?? {};
    return error instanceof ApiError && error.field === field ? error.message : undefined;
  };
  const submit = async () => {
    if (locked || sending) return;
    setSubmitted(true);
    const invalidField = item.answered_fields.find((field) => {
      const text = fields[field] ?? '';
      return text.trim() === '' || text.length > CONTENT_MAX;
    });
    if (invalidField !== undefined)
      focusInView(form.current?.querySelector(`[name="${CSS.escape(invalidField)}"]`));
    else if (proposalLoads || !teachable || !isIncomplete(decision)) {
      const toSend = proposalLoads ? bodyOnceDecided() : body;
      if (await submitAnswer(client, item, toSend, name)) onSent();
    }
  };
  const relayed = isRelayed(item.ask);

  return (
    <ReplyForm form={form} onSubmit={() => void submit()}>
      {others && (
        <OthersAnswerNotice
          answer={others}
          text={reply}
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
      {canQuote && !locked && <QuotedMessage conversationId={item.conversation_id} />}
      {item.answered_fields.map((field, index) => {
        const { label, hint } = fieldTexts(field, t);
        const isReply = index === 0;
        return (
          <Fragment key={field}>
            <Textarea
              name={field}
              label={isReply ? t('customerGets', { name }) : label}
              description={isReply && relayed ? t('relayedTo', { name }) : hint}
              required
              readOnly={locked || sending}
              dir="auto"
              className={isReply ? 'field field-content' : 'field'}
              {...(isReply ? { 'data-reply': true } : {})}
              value={fields[field] ?? ''}
              error={errorOf(field)}
              onChange={(event) => {
                reportTyping(item.id);
                change({ fields: { ...fields, [field]: event.currentTarget.value } });
              }}
            />
            {isReply && !locked && (
              <ComposerTools
                name={name}
                field={() => form.current?.querySelector<HTMLTextAreaElement>(REPLY_FIELD)}
              />
            )}
          </Fragment>
        );
      })}
      <p className="answer-foot">
        {Object.values(fields).some(Boolean) && <span>{t('draftSaved')}</span>}
        {reply.length > CONTENT_MAX - 500 && (
          <span className="tabular">
            {number(reply.length)} / {number(CONTENT_MAX)}
          </span>
        )}
      </p>
      {!locked && teachable && (
        <AnswerTeaching
          {...{ decision, proposal, proposalLoads, source, choice, submitted }}
          onChange={(teach) => change({ teach })}
        />
      )}
      {!locked && (
        <ReplyActions
          send={{
            label: t(teachable ? 'send' : 'sendReply'),
            call: answerCall(item.id, body),
            loading: sending,
          }}
          resolve={{
            call: calls.answer(item.id, { resolve_only: true }),
            withKey: !othersSelected,
            onClick: () => void resolveNotifications(client, [item.id]),
          }}
        />
      )}
    </ReplyForm>
  );
}
