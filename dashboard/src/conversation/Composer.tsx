import { Button, Kbd, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { isRefusal } from '../api/error.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { undoSecondsOf } from '../settings/merchant.ts';
import { errorMessage } from '../shell/errorMessage.ts';
import { useStore } from '../shell/store.ts';
import { MOD } from '../shortcuts/useShortcuts.ts';
import { ComposerTools } from './ComposerTools.tsx';
import { type MessageDraft, newDraft, readMessageDraft, storeMessageDraft } from './draft.ts';
import './keyboard.ts';
import { QuotedMessage } from './QuotedMessage.tsx';
import { quotes, setQuote } from './quotes.ts';
import { sendMessage } from './sendMessage.ts';
import { useTimeline } from './timeline.ts';

const LENGTH_MAX = 4096;

interface ComposerProps {
  conversationId: number;
  /** The customer's name. */
  name: string;
  /** The user has just asked for it. */
  takesFocus: boolean;
  /** Absent: it is always there. */
  onClose: (() => void) | undefined;
}

/** Writes to the customer without a question: after an answer, or first. */
export function Composer({ conversationId, name, takesFocus, onClose }: ComposerProps) {
  const translation = useTranslation();
  const { t, number } = translation;
  const client = useQueryClient();
  const { latest } = useTimeline(conversationId);
  const quote = useStore(quotes).get(conversationId);
  const [draft, setDraft] = useState(() => readMessageDraft(conversationId));
  const [state, setState] = useState<{ isSending?: boolean; error?: unknown }>({});
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!takesFocus || !field.current) return;
    field.current.focus();
    // Behind what was written before.
    field.current.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [takesFocus]);
  const keep = (next: MessageDraft) => {
    setDraft(next);
    storeMessageDraft(conversationId, next);
  };
  const change = (next: string) => {
    keep(newDraft(next));
    setState({});
  };
  const { text } = draft;
  const isTooLong = [...text].length > LENGTH_MAX;
  const canSend = text.trim() !== '' && !isTooLong && !state.isSending;

  const send = async () => {
    if (!canSend) return;
    setState({ isSending: true });
    try {
      const { key, undoSeconds = await undoSecondsOf(client) } = draft;
      keep({ text, key, undoSeconds });
      await sendMessage(client, conversationId, {
        ...{ text, replyTo: quote?.id, undoSeconds, key },
        onUndone: () => {
          const { text: typed } = readMessageDraft(conversationId);
          change(typed.trim() === '' ? text : `${text}\n${typed}`);
          setQuote(conversationId, quote);
        },
      });
      change('');
      setQuote(conversationId, undefined);
    } catch (error) {
      // With the same key the refusal would be repeated, even when its reason is gone.
      if (isRefusal(error)) keep(newDraft(text));
      setState({ error });
    }
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void send();
  };
  if (latest?.sending === 'closed' || latest?.sending === 'unreachable') return null;
  return (
    <form
      className="composer"
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {state.error !== undefined && (
        <p className="notice" role="alert">
          {t('answerNotSent', { reason: errorMessage(translation, state.error) })}
        </p>
      )}
      <QuotedMessage conversationId={conversationId} />
      <div className="composer-row">
        <Textarea
          ref={field}
          className="composer-field"
          dir="auto"
          rows={1}
          readOnly={state.isSending ?? false}
          value={text}
          aria-label={t('talkWrite', { name })}
          placeholder={t('talkWrite', { name })}
          error={isTooLong ? t('fieldTooLong', { max: LENGTH_MAX }) : undefined}
          onChange={(event) => change(event.currentTarget.value)}
        />
        <Button
          type="submit"
          className="composer-send"
          loading={state.isSending ?? false}
          disabled={!canSend && !state.isSending}
          rightSection={
            <Kbd dir="ltr" className="key-hint while-typing on-accent">
              {MOD} ↵
            </Kbd>
          }
        >
          {t('talkSend')}
        </Button>
      </div>
      <div className="composer-foot">
        <ComposerTools name={name} field={() => field.current} />
        {text.length > LENGTH_MAX - 500 && (
          <span className="muted tabular">
            {number([...text].length)} / {number(LENGTH_MAX)}
          </span>
        )}
        {onClose && (
          <Button variant="subtle" onClick={onClose}>
            {t('talkWriteClose')}
          </Button>
        )}
      </div>
    </form>
  );
}
