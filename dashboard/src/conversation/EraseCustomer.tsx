import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { NotificationDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useIsOwner } from '../settings/merchant.ts';

const EraseDialog = lazy(async () => ({ default: (await import('./EraseDialog.tsx')).EraseDialog }));

/** Removes the customer for good. Only for owners. */
export function EraseCustomer({ item, name }: { item: NotificationDetail; name: string }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  if (!useIsOwner()) return null;
  return (
    <>
      <Button variant="subtle" color="red" size="compact-md" mih={44} onClick={() => setOpen(true)}>
        {t('eraseCustomer')}
      </Button>
      <Suspense fallback={null}>
        {open && (
          <EraseDialog conversationId={item.conversation_id} name={name} onClose={() => setOpen(false)} />
        )}
      </Suspense>
    </>
  );
}
