import type { Language } from './texts.ts';

/** Making a formatter costs more than a hundred uses of it: each is made once. */
function once<Options, Format>(
  make: (language: Language, options: Options) => Format,
): (language: Language, options: Options) => Format {
  const made = new Map<string, Format>();
  return (language, options) => {
    const key = `${language} ${JSON.stringify(options)}`;
    let format = made.get(key);
    if (!format) {
      format = make(language, options);
      made.set(key, format);
    }
    return format;
  };
}

export const numberFormat = once(
  (language, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options),
);
export const dateFormat = once(
  (language, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options),
);
export const relativeFormat = once(
  (language, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(language, options),
);
export const pluralRules = once(
  (language, options: Intl.PluralRulesOptions) => new Intl.PluralRules(language, options),
);
