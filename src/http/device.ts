/** The first one that matches counts: most browsers also name those that they descend from. */
const BROWSERS: readonly [name: string, found: RegExp][] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bVersion\/.*\bSafari\//],
];
const SYSTEMS: readonly [name: string, found: RegExp][] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
];
const HEADER_LENGTH_MAX = 500;

/**
 * A name by which people recognise where they are signed in, such as "Firefox, Android". Of other programs it is their
 * own name. Null if the caller does not say.
 */
export function deviceOf(userAgent: string | undefined): string | null {
  const text = (userAgent ?? '').slice(0, HEADER_LENGTH_MAX);
  const nameIn = (names: typeof BROWSERS) => names.find(([, found]) => found.test(text))?.[0];
  const browser = nameIn(BROWSERS);
  if (!browser) return /^[\w.-]{1,40}/.exec(text)?.[0] ?? null;
  return [browser, nameIn(SYSTEMS)].filter((name) => name !== undefined).join(', ');
}
