import { Button, Modal } from '@mantine/core';
import { useTranslation } from '../i18n/translation.tsx';
import { confirmation } from './confirmation.ts';
import { useStore } from './store.ts';

export function ConfirmationDialog() {
  const { t } = useTranslation();
  const question = useStore(confirmation);
  if (!question) return null;
  const { title, text, action, isDangerous = true, answer } = question;
  return (
    <Modal
      opened
      onClose={() => answer(false)}
      title={title}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <div className="settings">
        {text}
        <div className="settings-actions">
          <Button className={isDangerous ? 'danger-filled' : ''} onClick={() => answer(true)}>
            {t(action)}
          </Button>
          <Button variant="default" data-autofocus onClick={() => answer(false)}>
            {t('cancel')}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
