import { Button, Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { showToast } from '../../shell/toasts.tsx';
import { downloadDocuments } from './download.ts';
import { Import } from './Import.tsx';

const FORMATS = [
  { format: 'csv', name: 'CSV' },
  { format: 'jsonl', name: 'JSON' },
  { format: 'md', name: 'Markdown' },
] as const;

/** Documents from a file, and all documents as a file. */
export function FilesDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [loading, setLoading] = useState<string>();
  const download = async (format: (typeof FORMATS)[number]['format']) => {
    setLoading(format);
    await downloadDocuments(format).catch(() => showToast('errorNetwork', { tone: 'error' }));
    setLoading(undefined);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('filesTitle')}
      size="lg"
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <div className="settings">
        <Import onDone={onClose} />
        <section className="files-section">
          <h3>{t('exportTitle')}</h3>
          <p className="muted">{t('exportHint')}</p>
          <div className="gap-actions">
            {FORMATS.map(({ format, name }) => (
              <Button
                key={format}
                variant="default"
                leftSection={<Icon name="file" size={18} />}
                loading={loading === format}
                onClick={() => void download(format)}
              >
                {t('exportAs', { format: name })}
              </Button>
            ))}
          </div>
        </section>
      </div>
    </Modal>
  );
}
