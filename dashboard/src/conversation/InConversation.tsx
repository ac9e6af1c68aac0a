import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { readDraft } from '../answer/drafts.ts';
import { useCustomer } from '../answer/NotificationHeader.tsx';
import type { NotificationDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { isRelayed } from '../inbox/asks.ts';
import { Composer } from './Composer.tsx';
import { Conversation } from './Conversation.tsx';
import { readMessageDraft } from './draft.ts';
import { sendMessage } from './sendMessage.ts';
import { useTimeline } from './timeline.ts';

interface FormOptions {
  /** Sends its text as a message, if there is a way. */
  onFollowUp: ((text: string) => Promise<void>) | undefined;
  /** Whether what the user quotes is for this form. */
  canQuote: boolean;
}

interface InConversationProps {
  item: NotificationDetail;
  isPending: boolean;
  /** Somebody else has answered while the user wrote. */
  isLocked: boolean;
  /** Shown in its place among what was said, around its bubble. */
  answer: ((bubble: ReactNode) => ReactNode) | undefined;
  /** The form for an answer. */
  children: (options: FormOptions) => ReactNode;
}

/** A notification in its conversation, with what can be written below. */
export function InConversation({ item, isPending, isLocked, answer, children }: InConversationProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { conversation_id: id } = item;
  const { name, customerPhone, loading } = useCustomer(item);
  const { latest } = useTimeline(id);
  const [isWriting, setIsWriting] = useState(() => readMessageDraft(id).text !== '');
  const [hasAskedToWrite, setHasAskedToWrite] = useState(false);
  const hasClosed = useRef(false);
  const { recipient } = item;
  const isOther = customerPhone !== undefined && !isSameNumber(recipient, customerPhone);
  const canWrite =
    !loading &&
    !isRelayed(item.ask) &&
    !isOther &&
    (latest?.sending === 'text' || latest?.sending === 'template');
  // The text of a locked form does not change, and neither does its key.
  const followUp = (text: string) =>
    sendMessage(client, id, { text: text.trim(), undoSeconds: 0, key: `${readDraft(item.id).key}-more` });
  const showsComposer = canWrite && (isPending ? isWriting : !isLocked);
  const canQuote = showsComposer || (canWrite && isPending);
  const close = () => {
    setIsWriting(false);
    hasClosed.current = true;
  };
  return (
    <>
      <Conversation item={item} name={loading ? undefined : name} canQuote={canQuote} answer={answer} />
      {children({ onFollowUp: canWrite ? followUp : undefined, canQuote: canQuote && !showsComposer })}
      {isOther && !isPending && <p className="muted">{t('talkOtherNumber', { name, phone: recipient })}</p>}
      {canWrite && isPending && !isWriting && (
        <Button
          variant="subtle"
          className="write-instead"
          ref={(button) => {
            // The button that had the focus is gone.
            if (hasClosed.current) button?.focus();
            hasClosed.current = false;
          }}
          onClick={() => {
            setIsWriting(true);
            setHasAskedToWrite(true);
          }}
        >
          {t('talkWriteInstead')}
        </Button>
      )}
      {showsComposer && (
        <Composer
          key={id}
          conversationId={id}
          name={name}
          takesFocus={hasAskedToWrite}
          onClose={isPending ? close : undefined}
        />
      )}
    </>
  );
}

/** A number may be written without its country code. Without one, it is the conversation's. */
function isSameNumber(written: string, customerPhone: string): boolean {
  const digits = (text: string) => text.replaceAll(/\D/g, '');
  return written.trim() === '' || digits(customerPhone).endsWith(digits(written).replace(/^0+/, ''));
}
