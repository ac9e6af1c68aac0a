import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from '../i18n/translation.tsx';

/** Says on the button whether it worked: a toast would cover what is below it. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  const [result, setResult] = useState<'copied' | 'copyFailed'>();
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setResult('copied'),
      () => setResult('copyFailed'),
    );
  return (
    <Button variant="default" aria-live="polite" onClick={() => void copy()}>
      {result ? t(result) : (label ?? t('copy'))}
    </Button>
  );
}
