import type { en } from './en.ts';
import { numberFormat, pluralRules } from './formatters.ts';

/** One text per plural form of the language. */
type Plural = { readonly other: string } & { readonly [form in Intl.LDMLPluralRule]?: string };

export type TextKey = keyof typeof en;
/** What a language must provide: every key, with plural forms where English has them. */
export type Texts = { readonly [key in TextKey]: (typeof en)[key] extends string ? string : Plural };

export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr' },
  es: { name: 'Español', direction: 'ltr' },
  pt: { name: 'Português', direction: 'ltr' },
  ar: { name: 'العربية', direction: 'rtl' },
} as const;
export type Language = keyof typeof LANGUAGES;

export type Values = Readonly<Record<string, string | number>>;

/** Picks the plural form and inserts the values. Numbers follow the format of the language. */
export function formatText(language: Language, text: string | Plural, values: Values = {}): string {
  const template =
    typeof text === 'string'
      ? text
      : (text[pluralRules(language, {}).select(Number(values.n ?? 0))] ?? text.other);
  return template.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = values[name];
    return value === undefined
      ? placeholder
      : typeof value === 'number'
        ? numberFormat(language, {}).format(value)
        : value;
  });
}
