import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';

/** What the user is asked before messages are sent again. */

export function Text({ text, n = 0 }: { text: TextKey; n?: number }) {
  const { t } = useTranslation();
  return t(text, { n });
}

export function SendAllQuestion({ skipped, leftOut }: { skipped: number; leftOut: number }) {
  const { t } = useTranslation();
  return (
    <>
      {leftOut > 0 && <p>{t('sendAllLeftOut', { n: leftOut })}</p>}
      {skipped > 0 && <p>{t('sentAgainSkipped', { n: skipped })}</p>}
    </>
  );
}
