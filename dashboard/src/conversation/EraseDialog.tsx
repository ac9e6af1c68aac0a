import { Button, Modal, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { refreshConversations } from '../inbox/conversations.ts';
import { refreshInbox } from '../inbox/notifications.ts';
import { CurlButton } from '../shell/CurlButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { navigate } from '../shell/route.ts';
import { showToast } from '../shell/toasts.tsx';

interface Props {
  conversationId: number;
  name: string;
  onClose: () => void;
}

/** Says what is removed and what stays. It cannot be undone, so the name must be typed. */
export function EraseDialog({ conversationId, name, onClose }: Props) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const call = calls.eraseCustomer(conversationId);
  const isSure = typed.trim() === name.trim();
  const erase = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || !isSure) return;
    setBusy(true);
    setError(undefined);
    try {
      await request(call);
      showToast('customerErased');
      onClose();
      navigate({ page: 'inbox', id: undefined }, 'replace');
      refreshConversations(new Set([conversationId]));
      void refreshInbox(client);
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('eraseTitle', { name })}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <form className="settings" onSubmit={(event) => void erase(event)} noValidate>
        <p>{t('eraseRemoved')}</p>
        <p>{t('eraseKept')}</p>
        <p>
          <strong>{t('cannotBeUndone')}</strong>
        </p>
        <TextInput
          data-autofocus
          dir="auto"
          autoComplete="off"
          label={t('eraseType', { name })}
          value={typed}
          error={error !== undefined && errorMessage(translation, error)}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <div className="settings-actions">
          <span className="action">
            <Button type="submit" color="red" loading={busy} disabled={!isSure}>
              {t('eraseNow')}
            </Button>
            <CurlButton call={call} label={t('eraseNow')} />
          </span>
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
