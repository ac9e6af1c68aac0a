const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Short ones could be other words. */
const NAME_LENGTH_MIN = 3;

/**
 * The text without the name that it addresses one customer by: “Yes, Hannah: on Monday.” becomes “Yes: on Monday.” A name
 * that is part of a sentence stays: “Ask for Hannah.”
 */
export function withoutName(text: string, customer: string | undefined): string {
  const whole = (customer ?? '').trim();
  const first = whole.split(/\s+/u).find((word) => word.length >= NAME_LENGTH_MIN);
  if (first === undefined) return text;
  const name = `(?:${escaped(whole)}|${escaped(first)})`;
  const start = '(?<=^|[.!?…]\\s+)';
  return text
    .replace(new RegExp(`,\\s*${name}(?=\\s*(?:[,.!?:;…]|$))`, 'gmu'), '')
    .replace(new RegExp(`${start}(\\p{L}+)\\s+${name}(?=\\s*[,!:])`, 'gmu'), '$1')
    .replace(new RegExp(`${start}${name}\\s*[,:!]\\s*(\\p{L})`, 'gmu'), (_, letter: string) =>
      letter.toLocaleUpperCase(),
    );
}
