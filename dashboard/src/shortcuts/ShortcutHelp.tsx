import { Kbd, Modal } from '@mantine/core';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { MOD } from './useShortcuts.ts';

const KEYS: readonly (readonly [keys: readonly string[], text: TextKey])[] = [
  [['j'], 'keyNext'],
  [['k'], 'keyPrevious'],
  [['Enter'], 'keyOpen'],
  [['r'], 'keyReply'],
  [[MOD, 'Enter'], 'keySend'],
  [['1', '…', '5'], 'keySuggestion'],
  [['e'], 'keyResolve'],
  [['#'], 'keyDelete'],
  [['z'], 'keyUndo'],
  [['x'], 'keySelect'],
  [['/'], 'keySearch'],
  [['t'], 'keyTestPhone'],
  [['g', 'i', 'k', 'o', 't'], 'keyGo'],
  [[MOD, 'K'], 'keyPalette'],
  [['Esc'], 'keyBack'],
  [['?'], 'keyHelp'],
];

export function ShortcutHelp({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('shortcuts')}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <p className="muted keys-hint">{t('keysHint')}</p>
      <dl className="keys">
        {KEYS.map(([keys, text]) => (
          <div key={text} className="keys-row">
            <dt dir="ltr">
              {keys.map((key) => (key === '…' ? <span key={key}>…</span> : <Kbd key={key}>{key}</Kbd>))}
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
