import { Kbd, Modal } from '@mantine/core';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { MOD } from './useShortcuts.ts';

/** Only for those who have one. */
const OF_TEST_PHONE: readonly TextKey[] = ['keyTestPhone', 'keyGoTestPhone'];

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
  [['g', 'i', 'k', 'o'], 'keyGo'],
  [['g', 't'], 'keyGoTestPhone'],
  [[MOD, 'K'], 'keyPalette'],
  [['Esc'], 'keyBack'],
  [['?'], 'keyHelp'],
];

interface ShortcutHelpProps {
  opened: boolean;
  withTestPhone: boolean;
  onClose: () => void;
}

export function ShortcutHelp({ opened, withTestPhone, onClose }: ShortcutHelpProps) {
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
        {KEYS.filter(([, text]) => withTestPhone || !OF_TEST_PHONE.includes(text)).map(([keys, text]) => (
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
