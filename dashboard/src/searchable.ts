/**
 * A text without case and accents, for a search as you type. It is cut first: a customer may send 60 kB of stacked
 * accents, and Unicode sorts them by pairs, which would stop the page for seconds.
 */
export const searchable = (text: string): string =>
  text
    .slice(0, 2000)
    .replace(/\p{M}+/gu, (marks) => marks.slice(0, 30))
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase();
