import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { InboxItem } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { canSendAgain } from './reasons.ts';
import { sendAgain } from './sendAgain.ts';

/** Above the list of what needs attention. */
export function SendAllAgain({ items }: { items: readonly InboxItem[] }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  if (!items.some(({ attention }) => attention && canSendAgain(attention))) return null;
  return (
    <div className="list-bar">
      <span className="action">
        <Button
          variant="default"
          loading={busy}
          onClick={() => {
            setBusy(true);
            void sendAgain(client, 'all').finally(() => setBusy(false));
          }}
        >
          {t('sendAllAgain')}
        </Button>
        <CurlButton call={calls.sendAgain({ all: true, after_id: 0 })} label={t('sendAllAgain')} />
      </span>
    </div>
  );
}
