import { Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { calls } from '../../api/calls.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { customersIn, type Group } from '../../inbox/groups.ts';
import { resolveNotifications } from '../../inbox/resolve.ts';
import { errorMessage } from '../../shell/errorMessage.ts';
import { reportTyping } from '../../team/presence.ts';
import { type Draft, readDraft, removeDraft, saveDraft } from '../drafts.ts';
import { CONTENT_MAX } from '../fields.ts';
import { focusReply, ReplyActions, ReplyForm, useInsertedText } from '../ReplyForm.tsx';
import type { Teaching } from '../teaching/decide.ts';
import { TeachingPart } from '../teaching/TeachingPart.tsx';
import { sendToMany } from './sendToMany.ts';

const NOTHING_WRITTEN = { answer: '' };

/** The draft is that of `item`, whose question stands for the group. If it leaves the group, the draft stays with the group. */
export function GroupForm({ item, chosen }: { item: { id: number }; chosen: Group }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const ids = chosen.map(({ id }) => id);
  const [draft, setDraft] = useState<Omit<Draft, 'key'>>(() => readDraft(item.id));
  const [draftId, setDraftId] = useState(item.id);
  const savedIds = useRef(ids.join());
  const [submitted, setSubmitted] = useState(false);
  const [sending, setSending] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const form = useRef<HTMLFormElement>(null);
  const text = draft.fields.answer ?? '';
  /** The document whose text is sent as it is. */
  const source = draft.source?.text.trim() === text.trim() ? draft.source : undefined;
  // Questions of a group are about nobody in particular, so what they teach is not personal.
  const what: Teaching =
    draft.teach?.do === 'nothing' || draft.teach?.do === 'new' ? draft.teach.do : source ? 'wording' : 'new';

  const change = (changes: Partial<Draft>) => {
    if (sending) return;
    const next = { ...draft, ...changes };
    setDraft(next);
    saveDraft(draftId, { ...next, ticked: ids });
  };
  // The draft also keeps who is ticked, and follows the group.
  const tickedIds = ids.join();
  useEffect(() => {
    if (sending || (draftId === item.id && tickedIds === savedIds.current)) return;
    savedIds.current = tickedIds;
    if (draft.fields.answer) {
      const ticked = tickedIds === '' ? [] : tickedIds.split(',').map(Number);
      saveDraft(item.id, { ...draft, ticked });
    }
    if (draftId === item.id) return;
    setDraftId(item.id);
    removeDraft(draftId);
  }, [sending, draftId, item.id, tickedIds, draft]);
  useInsertedText(item.id, text, (answer, from) => {
    change({ fields: { answer }, source: from });
    focusReply(form);
  });

  const error =
    text.length > CONTENT_MAX
      ? t('fieldTooLong', { max: CONTENT_MAX })
      : submitted && text.trim() === ''
        ? t('fieldAnswerMissing')
        : undefined;
  const body = {
    ...{ ids, answer: text, teach: { do: what === 'nothing' ? what : ('new' as const) } },
    ...(what === 'wording' ? { document_id: source!.id } : {}),
  };
  const submit = async () => {
    setSubmitted(true);
    if (text.trim() === '' || text.length > CONTENT_MAX) return focusReply(form);
    if (ids.length === 0 || sending) return;
    setSending(true);
    setFailure(undefined);
    try {
      await sendToMany(client, draftId, body, customersIn(chosen));
      setDraft({ ...draft, fields: NOTHING_WRITTEN });
      setSubmitted(false);
    } catch (thrown) {
      setFailure(thrown);
    }
    setSending(false);
  };
  const learnsWording = { value: 'wording', label: t('learnsWordings', { title: source?.title ?? '' }) };
  const options = [
    ...(source ? [learnsWording] : []),
    { value: 'new', label: t('learnsNewDocument') },
    { value: 'nothing', label: t('learnsNothing') },
  ];
  return (
    <ReplyForm form={form} onSubmit={() => void submit()}>
      {failure !== undefined && (
        <p className="notice" role="alert">
          {t('answerNotSent', { reason: errorMessage(translation, failure) })}
        </p>
      )}
      <Textarea
        name="answer"
        label={t('customersGet')}
        required
        readOnly={sending}
        dir="auto"
        className="field field-content"
        data-reply
        value={text}
        error={error}
        onChange={(event) => {
          reportTyping(item.id);
          change({ fields: { answer: event.currentTarget.value } });
        }}
      />
      <p className="answer-foot">{text && <span>{t('draftSaved')}</span>}</p>
      <TeachingPart
        summary={options.find(({ value }) => value === what)?.label ?? ''}
        hint={t(
          what === 'new' ? 'groupTeachOn' : what === 'wording' ? 'groupTeachWording' : 'groupTeachOff',
          {
            title: source?.title ?? '',
          },
        )}
        value={what}
        options={options}
        onChange={(value) => change({ teach: { do: value as Teaching } })}
      />
      <ReplyActions
        send={{
          label: t('sendToMany', { n: customersIn(chosen) }),
          call: calls.answerMany(body),
          loading: sending,
          disabled: ids.length === 0,
        }}
        resolve={{
          call: calls.resolveMany(ids, 0),
          withKey: false,
          disabled: ids.length === 0,
          onClick: () => void resolveNotifications(client, ids),
        }}
      />
    </ReplyForm>
  );
}
