import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { readPreferences, savePreferences } from '../preferences/preferences.ts';
import { en } from './en.ts';
import { numberFormat } from './formats.ts';
import { fill, LANGUAGES, type Language, type TextKey, type Texts, type Values } from './texts.ts';
import { clockTime, dateTime, duration, exactTime, relative } from './times.ts';

/** English comes with the app; another language is one small file more. */
const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: async () => en,
  es: async () => (await import('./es.ts')).es,
  pt: async () => (await import('./pt.ts')).pt,
  ar: async () => (await import('./ar.ts')).ar,
};

export interface Wording {
  language: Language;
  direction: 'ltr' | 'rtl';
  t: (key: TextKey, values?: Values) => string;
  number: (value: number) => string;
  percent: (share: number) => string;
  duration: (seconds: number) => string;
  relative: (at: string, now: number) => string;
  dateTime: (at: string) => string;
  clockTime: (at: string) => string;
  exactTime: (at: string) => string;
  setLanguage: (language: Language) => void;
}

const Context = createContext<Wording | undefined>(undefined);

export function useWording(): Wording {
  return useContext(Context)!;
}

/** The one chosen before, else the first of the browser's that is here. */
export function preferredLanguage(): Language {
  const chosen = readPreferences().language;
  if (chosen) return chosen;
  for (const wanted of navigator.languages) {
    const [base = ''] = wanted.toLowerCase().split('-');
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

  const setLanguage = useCallback((wanted: Language) => {
    savePreferences({ language: wanted });
    loadTexts(wanted).then(
      (loaded) => set({ language: wanted, texts: loaded }),
      () => {},
    );
  }, []);

  const wording = useMemo<Wording>(
    () => ({
      language,
      direction,
      t: (key, values) => fill(language, texts[key], values),
      number: (value) => numberFormat(language, {}).format(value),
      percent: (share) => numberFormat(language, { style: 'percent' }).format(share),
      duration: (seconds) => duration(language, seconds),
      relative: (at, now) => relative(language, at, now),
      dateTime: (at) => dateTime(language, at),
      clockTime: (at) => clockTime(language, at),
      exactTime: (at) => exactTime(language, at),
      setLanguage,
    }),
    [language, direction, texts, setLanguage],
  );
  return <Context value={wording}>{props.children}</Context>;
}
