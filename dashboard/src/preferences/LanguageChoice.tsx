import { NativeSelect } from '@mantine/core';
import { useWording } from '../i18n/language.tsx';
import { LANGUAGES, type Language } from '../i18n/texts.ts';

export function LanguageChoice({ withLabel = false }: { withLabel?: boolean }) {
  const { t, language, setLanguage } = useWording();
  return (
    <NativeSelect
      {...(withLabel ? { label: t('language') } : { 'aria-label': t('language') })}
      value={language}
      onChange={(event) => setLanguage(event.currentTarget.value as Language)}
      data={Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, label: name }))}
    />
  );
}
