import { Button } from '@mantine/core';
import type { InboxItem } from '../../../../src/contract/inbox.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { fixing } from './fixing.ts';
import { canFixNumber, canSendAgain } from './reasons.ts';
import { SendAgainButton } from './SendAgainButton.tsx';
import { callOf } from './sendAgain.ts';

/** What the user can do about a message that did not reach its customer. */
export function AttentionActions({ item, small = false }: { item: InboxItem; small?: boolean }) {
  const { t } = useTranslation();
  const { id, attention, customer, delivery } = item;
  if (!attention) return null;
  const fixIt = canFixNumber(attention);
  const again = canSendAgain(attention);
  if (!fixIt && !again) return null;
  const size = small ? 'compact-sm' : 'sm';
  const name = customer.name || t('unknownCustomer', { id: String(item.conversation.id) });
  return (
    <div className="attention-actions">
      {fixIt && (
        <Button
          variant={again ? 'default' : 'filled'}
          size={size}
          aria-label={`${t('fixNumber')}: ${name}`}
          onClick={() =>
            fixing.set({
              ...{ id, name, conversationId: item.conversation.id },
              phone: delivery?.recipient || customer.phone,
            })
          }
        >
          {t('fixNumber')}
        </Button>
      )}
      {again && (
        <span className="action">
          <SendAgainButton message={{ notificationId: id }} code={attention.code} about={name} size={size} />
          {!small && <CurlButton call={callOf({ notificationId: id })} label={t('retryMessage')} />}
        </span>
      )}
    </div>
  );
}
