import { Button, Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from '../i18n/translation.tsx';

/** Asks before signing out deletes drafts. */
export function SignOutDialog(props: { onSignOut: () => Promise<void>; onClose: () => void }) {
  const { t } = useTranslation();
  const [leaving, setLeaving] = useState(false);
  return (
    <Modal
      opened
      onClose={props.onClose}
      title={t('signOutTitle')}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <div className="settings">
        <p>{t('signOutDrafts')}</p>
        <div className="settings-actions">
          <Button
            className="danger-filled"
            loading={leaving}
            onClick={() => {
              setLeaving(true);
              void props.onSignOut().finally(() => setLeaving(false));
            }}
          >
            {t('signOutConfirm')}
          </Button>
          <Button variant="default" data-autofocus onClick={props.onClose}>
            {t('cancel')}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
