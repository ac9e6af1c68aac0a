import type { en } from './en.ts';
import { numberFormat, pluralRules } from './formats.ts';

/** A text, or one for each plural form that its language has. */
type Plural = { readonly other: string } & { readonly [form in Intl.LDMLPluralRule]?: string };

export type TextKey = keyof typeof en;
/** What a language must have: every key, and a plural where English has one. */
export type Texts = { readonly [key in TextKey]: (typeof en)[key] extends string ? string : Plural };

export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr' },
  es: { name: 'Español', direction: 'ltr' },
  pt: { name: 'Português', direction: 'ltr' },
  ar: { name: 'العربية', direction: 'rtl' },
} as const;
export type Language = keyof typeof LANGUAGES;

export type Values = Readonly<Record<string, string | number>>;

/** Fills a text; numbers are written as the language writes them. */
export function fill(language: Language, text: string | Plural, values: Values = {}): string {
  const chosen =
    typeof text === 'string'
      ? text
      : (text[pluralRules(language, {}).select(Number(values.n ?? 0))] ?? text.other);
  return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined
      ? whole
      : typeof value === 'number'
        ? numberFormat(language, {}).format(value)
        : value;
  });
}
