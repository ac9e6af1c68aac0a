import { useTranslation } from '../../i18n/translation.tsx';
import { CopyButton } from '../../shell/CopyButton.tsx';
import { useFocusWhen } from '../../shell/focus.ts';

/** A link or a secret that the server shows only now. */
export function ShownOnce({ text, hint }: { text: string; hint: string }) {
  const { t } = useTranslation();
  const notice = useFocusWhen<HTMLDivElement>(text);
  return (
    <div className="shown-once" ref={notice} tabIndex={-1}>
      <p>{hint}</p>
      <code dir="ltr">{text}</code>
      <CopyButton text={text} label={t('copy')} />
    </div>
  );
}
