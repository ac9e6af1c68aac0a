import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Attention } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import type { View } from '../view.ts';
import { canSendAgain } from './reasons.ts';
import { sendAllAgain } from './sendAgain.ts';

interface SendAllProps {
  view: View;
  shown: readonly { attention: Attention | null }[];
}

/** Above the list of what needs attention. */
export function SendAllAgain({ view, shown }: SendAllProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  if (!shown.some(({ attention }) => attention && canSendAgain(attention))) return null;
  return (
    <div className="list-bar">
      <span className="action">
        <Button
          variant="default"
          loading={busy}
          onClick={() => {
            setBusy(true);
            void sendAllAgain(client, view).finally(() => setBusy(false));
          }}
        >
          {t('sendAllAgain')}
        </Button>
        <CurlButton call={calls.sendAllAgain(view)} label={t('sendAllAgain')} />
      </span>
    </div>
  );
}
