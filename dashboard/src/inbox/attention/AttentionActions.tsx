import { Button } from '@mantine/core';
import type { AttentionMessage, InboxItem } from '../../../../src/contract/inbox.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { fixing } from './fixing.ts';
import { canFixNumber, canSendAgain } from './reasons.ts';
import { SendAgainButton } from './SendAgainButton.tsx';
import { callOf, type Failed } from './sendAgain.ts';

interface ActionsProps {
  item: Pick<InboxItem | AttentionMessage, 'attention' | 'customer' | 'conversation' | 'delivery'>;
  message: Failed;
  small?: boolean;
}

/** What the user can do about a message that did not reach its customer. */
export function AttentionActions({ item, message, small = false }: ActionsProps) {
  const { t } = useTranslation();
  const { attention, customer, conversation, delivery } = item;
  if (!attention) return null;
  const fixIt = canFixNumber(attention);
  const again = canSendAgain(attention);
  if (!fixIt && !again) return null;
  const size = small ? 'compact-sm' : 'sm';
  const name = customer.name || t('unknownCustomer', { id: String(conversation.id) });
  const phone = delivery?.recipient || customer.phone;
  return (
    <div className="attention-actions">
      {fixIt && (
        <Button
          variant={again ? 'default' : 'filled'}
          size={size}
          aria-label={`${t('fixNumber')}: ${name}`}
          onClick={() => fixing.set({ message, name, conversationId: conversation.id, phone })}
        >
          {t('fixNumber')}
        </Button>
      )}
      {again && (
        <span className="action">
          <SendAgainButton message={message} code={attention.code} about={name} size={size} />
          {!small && <CurlButton call={callOf(message)} label={t('retryMessage')} />}
        </span>
      )}
    </div>
  );
}
