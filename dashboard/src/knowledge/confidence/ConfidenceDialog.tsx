import { Modal } from '@mantine/core';
import { useTranslation } from '../../i18n/translation.tsx';
import { ConfidenceSetting } from './ConfidenceSetting.tsx';
import { KnownAnswers } from './KnownAnswers.tsx';

/** When the assistant answers without a person, why, and what it answered. */
export function ConfidenceDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('withoutYou')}
      size="lg"
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <div className="settings">
        <ConfidenceSetting />
        <KnownAnswers onLeave={onClose} />
      </div>
    </Modal>
  );
}
