import { Button } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { CopyButton } from '../../shell/CopyButton.tsx';

/** New recovery codes. The server shows them only this once. */
export function RecoveryCodeList({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const { t } = useTranslation();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
    // Browsers ask before they leave the page.
    const warn = (event: Event) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, []);
  const text = `${codes.join('\n')}\n`;
  const download = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    link.download = 'deskbell-recovery-codes.txt';
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <div className="security">
      <h3 ref={heading} tabIndex={-1}>
        {t('recoveryCodes')}
      </h3>
      <p className="notice">{t('recoveryHint')}</p>
      <ul className="recovery-codes" dir="ltr">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <CopyButton text={text} />
      <Button variant="default" onClick={download}>
        {t('download')}
      </Button>
      <Button onClick={onDone}>{t('recoverySaved')}</Button>
    </div>
  );
}
