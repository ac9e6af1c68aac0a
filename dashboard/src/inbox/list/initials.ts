/** "AR" for Alma Reyes. */
export function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/);
  const shown = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  return shown
    .map((word) => [...word][0] ?? '')
    .join('')
    .toLocaleUpperCase();
}
