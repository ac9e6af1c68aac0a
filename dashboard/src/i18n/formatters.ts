import type { Language } from './texts.ts';

/** Creating a formatter costs more than using it a hundred times, so each is created once. */
function cached<Options, Format, Locale = Language>(
  create: (language: Locale, options: Options) => Format,
): (language: Locale, options: Options) => Format {
  const formatters = new Map<string, Format>();
  return (language, options) => {
    const key = `${language} ${JSON.stringify(options)}`;
    let format = formatters.get(key);
    if (!format) {
      format = create(language, options);
      formatters.set(key, format);
    }
    return format;
  };
}

export const numberFormat = cached(
  (language, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options),
);
/** Without a language: as the region of the user's device has it. */
export const dateFormat = cached(
  (language: Language | undefined, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(language, options),
);
export const relativeFormat = cached(
  (language, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(language, options),
);
export const pluralRules = cached(
  (language, options: Intl.PluralRulesOptions) => new Intl.PluralRules(language, options),
);
