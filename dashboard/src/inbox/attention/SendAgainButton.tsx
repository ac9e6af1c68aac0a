import { Button, type ButtonProps } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AttentionCode } from '../../../../src/contract/inbox.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { type Failed, sendAgain } from './sendAgain.ts';

interface SendAgainProps extends Pick<ButtonProps, 'size' | 'className'> {
  message: Failed;
  code: AttentionCode | null;
  /** Which one, for those who do not see it. */
  about: string;
}

export function SendAgainButton({ message, code, about, ...props }: SendAgainProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  return (
    <Button
      variant="default"
      {...props}
      loading={busy}
      aria-label={`${t('retryMessage')}: ${about}`}
      onClick={() => {
        setBusy(true);
        void sendAgain(client, message, code).finally(() => setBusy(false));
      }}
    >
      {t('retryMessage')}
    </Button>
  );
}
