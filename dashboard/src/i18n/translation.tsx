import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { readPreferences, savePreferences } from '../settings/preferences.ts';
import { en } from './en.ts';
import { numberFormat } from './formatters.ts';
import { formatText, LANGUAGES, type Language, type TextKey, type Texts, type Values } from './texts.ts';
import { clockTime, dateTime, day, duration, exactTime, relative } from './times.ts';

/** English is part of the app. Other languages are loaded on demand. */
const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: async () => en,
  es: async () => (await import('./es.ts')).es,
  pt: async () => (await import('./pt.ts')).pt,
  ar: async () => (await import('./ar.ts')).ar,
};

export interface Translation {
  language: Language;
  direction: 'ltr' | 'rtl';
  t: (key: TextKey, values?: Values) => string;
  number: (value: number) => string;
  percent: (share: number) => string;
  duration: (seconds: number) => string;
  relative: (at: string, now: number) => string;
  /** The day alone: "today", "Monday", "12 November". */
  day: (at: string, now: number) => string;
  dateTime: (at: string) => string;
  clockTime: (at: string) => string;
  exactTime: (at: string) => string;
  setLanguage: (language: Language) => void;
}

const Context = createContext<Translation | undefined>(undefined);

export function useTranslation(): Translation {
  return useContext(Context)!;
}

/** The language chosen before, or the first supported language of the browser. */
export function preferredLanguage(): Language {
  const chosen = readPreferences().language;
  if (chosen) return chosen;
  for (const browserLanguage of navigator.languages) {
    const [base = ''] = browserLanguage.toLowerCase().split('-');
    if (base in LANGUAGES) return base as Language;
  }
  return 'en';
}

export const loadTexts = (language: Language): Promise<Texts> => LOADERS[language]();

export function LanguageProvider(props: { language: Language; texts: Texts; children: ReactNode }) {
  const [{ language, texts }, set] = useState({ language: props.language, texts: props.texts });
  const { direction } = LANGUAGES[language];

  useEffect(() => {
    document.documentElement.lang = language;
    document.documentElement.dir = direction;
  }, [language, direction]);

  const setLanguage = useCallback((next: Language) => {
    savePreferences({ language: next });
    loadTexts(next).then(
      (loaded) => set({ language: next, texts: loaded }),
      () => {},
    );
  }, []);

  const translation = useMemo<Translation>(
    () => ({
      language,
      direction,
      t: (key, values) => formatText(language, texts[key], values),
      number: (value) => numberFormat(language, {}).format(value),
      percent: (share) => numberFormat(language, { style: 'percent' }).format(share),
      duration: (seconds) => duration(language, seconds),
      relative: (at, now) => relative(language, at, now),
      day: (at, now) => day(language, at, now),
      dateTime: (at) => dateTime(language, at),
      clockTime: (at) => clockTime(language, at),
      exactTime: (at) => exactTime(language, at),
      setLanguage,
    }),
    [language, direction, texts, setLanguage],
  );
  return <Context value={translation}>{props.children}</Context>;
}
