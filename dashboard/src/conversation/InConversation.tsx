import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useCustomer } from '../answer/NotificationHeader.tsx';
import type { NotificationDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { isRelayed } from '../inbox/asks.ts';
import { newKey } from '../shell/newKey.ts';
import { Composer } from './Composer.tsx';
import { Conversation } from './Conversation.tsx';
import { readStoredText } from './draft.ts';
import { sendMessage } from './sendMessage.ts';
import { useTimeline } from './timeline.ts';

interface InConversationProps {
  item: NotificationDetail;
  isPending: boolean;
  /** Somebody else has answered while the user wrote. */
  isLocked: boolean;
  /** Shown in its place among what was said. */
  answer: ReactNode | undefined;
  /** The form for an answer. Gets a way to send its text as a message, if there is one. */
  children: (onFollowUp: ((text: string) => Promise<void>) | undefined) => ReactNode;
}

/** A notification in its conversation, with what can be written below. */
export function InConversation({ item, isPending, isLocked, answer, children }: InConversationProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { conversation_id: id } = item;
  const { name, customerPhone } = useCustomer(item);
  const { latest } = useTimeline(id);
  const [isWriting, setIsWriting] = useState(() => readStoredText(id) !== '');
  const leadPhone = item.context.lead_phone ?? '';
  const isOther = customerPhone !== undefined && !isSameNumber(leadPhone, customerPhone);
  const canWrite =
    !isRelayed(item.ask) && !isOther && (latest?.sending === 'text' || latest?.sending === 'template');
  const followUp = (text: string) =>
    sendMessage(client, id, { text: text.trim(), undoSeconds: 0, key: newKey() });
  const showsComposer = canWrite && (isPending ? isWriting : !isLocked);
  return (
    <>
      <Conversation item={item} name={name} canQuote={showsComposer}>
        {answer}
      </Conversation>
      {children(canWrite ? followUp : undefined)}
      {isOther && !isPending && <p className="muted">{t('talkOtherNumber', { name, phone: leadPhone })}</p>}
      {canWrite && isPending && !isWriting && (
        <Button variant="subtle" className="write-instead" onClick={() => setIsWriting(true)}>
          {t('talkWriteInstead')}
        </Button>
      )}
      {showsComposer && <Composer key={id} conversationId={id} name={name} />}
    </>
  );
}

/** A number may be written without its country code. Without one, it is the conversation's. */
function isSameNumber(written: string, customerPhone: string): boolean {
  const digits = (text: string) => text.replaceAll(/\D/g, '');
  return written.trim() === '' || digits(customerPhone).endsWith(digits(written).replace(/^0+/, ''));
}
