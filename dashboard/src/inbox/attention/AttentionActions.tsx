import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { InboxItem } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { fixing } from './fixing.ts';
import { canFixNumber, canSendAgain } from './reasons.ts';
import { sendAgain } from './sendAgain.ts';

/** What the user can do about a message that did not reach its customer. */
export function AttentionActions({ item, small = false }: { item: InboxItem; small?: boolean }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
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
          onClick={() => fixing.set({ id, name, phone: delivery?.recipient || customer.phone })}
        >
          {t('fixNumber')}
        </Button>
      )}
      {again && (
        <span className="action">
          <Button
            variant="default"
            size={size}
            loading={busy}
            aria-label={`${t('retryMessage')}: ${name}`}
            onClick={() => {
              setBusy(true);
              void sendAgain(client, id).finally(() => setBusy(false));
            }}
          >
            {t('retryMessage')}
          </Button>
          {!small && <CurlButton call={calls.sendAgain({ ids: [id] })} label={t('retryMessage')} />}
        </span>
      )}
    </div>
  );
}
