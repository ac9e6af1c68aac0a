import { NativeSelect } from '@mantine/core';
import { LANGUAGES, type Language } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';

export function LanguageSelect({ withLabel = false }: { withLabel?: boolean }) {
  const { t, language, setLanguage } = useTranslation();
  return (
    <NativeSelect
      {...(withLabel ? { label: t('language') } : { 'aria-label': t('language') })}
      value={language}
      onChange={(event) => setLanguage(event.currentTarget.value as Language)}
      data={Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, label: name }))}
    />
  );
}
