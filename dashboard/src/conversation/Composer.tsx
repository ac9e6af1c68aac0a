import { ActionIcon, Button, Kbd, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useRef, useState } from 'react';
import { useTranslation } from '../i18n/translation.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { Icon } from '../shell/Icon.tsx';
import { newKey } from '../shell/newKey.ts';
import { useStore } from '../shell/store.ts';
import { MOD } from '../shortcuts/useShortcuts.ts';
import { ComposerTools } from './ComposerTools.tsx';
import { readStoredText, storeText } from './draft.ts';
import './keyboard.ts';
import { quotes, sendMessage, setQuote } from './sendMessage.ts';
import { useTimeline } from './timeline.ts';
import { useUndoSeconds } from './undoSeconds.ts';

const LENGTH_MAX = 4096;

interface ComposerProps {
  conversationId: number;
  /** The customer's name. */
  name: string;
}

/** Writes to the customer without a question: after an answer, or first. */
export function Composer({ conversationId, name }: ComposerProps) {
  const translation = useTranslation();
  const { t, number } = translation;
  const client = useQueryClient();
  const undoSeconds = useUndoSeconds();
  const { latest } = useTimeline(conversationId);
  const quote = useStore(quotes).get(conversationId);
  const [text, setText] = useState(() => readStoredText(conversationId));
  const [state, setState] = useState<{ key: string; isSending?: boolean; error?: unknown }>(() => ({
    key: newKey(),
  }));
  const field = useRef<HTMLTextAreaElement>(null);
  const change = (next: string) => {
    setText(next);
    storeText(conversationId, next);
    // Another text is another message.
    setState({ key: newKey() });
  };
  const isTooLong = [...text].length > LENGTH_MAX;
  const canSend = text.trim() !== '' && !isTooLong && !state.isSending;

  const send = async () => {
    if (!canSend) return;
    const sent = text;
    setState({ ...state, isSending: true });
    try {
      await sendMessage(client, conversationId, {
        ...{ text: sent, replyTo: quote?.id, undoSeconds, key: state.key },
        onUndone: () => {
          if (readStoredText(conversationId) === '') change(sent);
          setQuote(conversationId, quote);
        },
      });
      change('');
      setQuote(conversationId, undefined);
    } catch (error) {
      setState({ key: state.key, error });
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
      {quote && (
        <div className="composer-quote">
          <p dir="auto">
            <span className="muted">{t('talkQuoting')}</span> {quote.text}
          </p>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={t('talkQuoteRemove')}
            onClick={() => setQuote(conversationId, undefined)}
          >
            <Icon name="close" size={16} />
          </ActionIcon>
        </div>
      )}
      <div className="composer-row">
        <Textarea
          ref={field}
          className="composer-field"
          dir="auto"
          rows={1}
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
      </div>
    </form>
  );
}
