import { Button, Modal, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { ApiError } from '../../api/error.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';
import { refreshConversations } from '../conversations.ts';
import { refreshInbox } from '../notifications.ts';
import { type Fixing, fixing } from './fixing.ts';

export function FixNumberDialog({ message, conversationId, name, phone: before }: Fixing) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const [phone, setPhone] = useState(before);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const close = () => fixing.set(undefined);
  const call =
    'deliveryId' in message
      ? calls.fixDeliveryRecipient(message.deliveryId, phone)
      : calls.fixRecipient(message.notificationId, phone);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    try {
      await request(call);
      showToast('sentAgain', { values: { n: 1 } });
      refreshConversations(new Set([conversationId]));
      void client.invalidateQueries({ queryKey: ['timeline', conversationId] });
      close();
    } catch (thrown) {
      setError(thrown);
    }
    setBusy(false);
    void refreshInbox(client);
  };
  const isAboutPhone = error instanceof ApiError && error.field === 'phone';
  const problem = isAboutPhone ? t('numberInvalid') : error !== undefined && errorMessage(translation, error);
  return (
    <Modal
      opened
      onClose={close}
      title={t('fixNumberTitle', { name })}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <form className="settings" onSubmit={(event) => void save(event)} noValidate>
        <TextInput
          data-autofocus
          type="tel"
          dir="ltr"
          label={t('phoneNumber')}
          description={t('fixNumberHint')}
          value={phone}
          error={problem}
          onChange={(event) => setPhone(event.currentTarget.value)}
        />
        <div className="settings-actions">
          <span className="action">
            <Button type="submit" loading={busy}>
              {t('fixNumberSend')}
            </Button>
            <CurlButton call={call} label={t('fixNumber')} />
          </span>
          <Button variant="default" onClick={close}>
            {t('cancel')}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
