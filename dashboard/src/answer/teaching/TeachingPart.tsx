import { Button, NativeSelect } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { useWide } from '../../shell/useScreenWidth.ts';

interface PartProps {
  /** What is learned, in a few words. */
  summary: string;
  /** Why nothing is learned, or what else the user should know. */
  hint?: string | undefined;
  value: string;
  options: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
  children?: ReactNode;
}

/** The second part of an answer: what the assistant learns from it. On narrow screens it is one line until the user opens it. */
export function TeachingPart({ summary, hint, value, options, onChange, children }: PartProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(useWide());
  return (
    <section className="teaching" aria-label={t('assistantLearns')}>
      {open ? (
        <>
          <NativeSelect
            label={t('assistantLearns')}
            value={value}
            data={[...options]}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
          {hint && <p className="muted">{hint}</p>}
          {children}
        </>
      ) : (
        <p className="teaching-line">
          <span>
            <strong>{t('assistantLearns')}:</strong> {summary}
          </span>
          <Button variant="subtle" aria-expanded={false} onClick={() => setOpen(true)}>
            {t('change')}
          </Button>
        </p>
      )}
    </section>
  );
}
