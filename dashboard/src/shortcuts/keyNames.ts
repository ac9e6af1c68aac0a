/** The parts of a keyboard event that tell which key was pressed. */
export interface PressedKey {
  key: string;
  code: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  getModifierState(name: string): boolean;
}

/** The symbols of a US keyboard, for keys whose own symbol is not a Latin one: Arabic has "؟" in the place of "?". */
const SHIFTED: Readonly<Record<string, string>> = { Slash: '?', Digit3: '#' };
const PLAIN: Readonly<Record<string, string>> = { Slash: '/' };

const isLatin = (key: string): boolean => /^[!-~]$/.test(key);

/**
 * The names of a pressed key, best first. A Latin letter or symbol counts as printed on the keyboard. A key with another
 * letter counts by its place, so that all shortcuts work on every layout. On a French keyboard the digits need Shift:
 * they also work without it.
 */
export function keyNames(event: PressedKey): string[] {
  const { key, code } = event;
  // AltGr writes symbols: "#" on a French keyboard. Windows reports it as Ctrl and Alt.
  const writesSymbol = event.getModifierState('AltGraph') || (event.altKey && /^[#/?]$/.test(key));
  if (event.altKey && !writesSymbol) return [];
  const modifier = !writesSymbol && (event.ctrlKey || event.metaKey) ? 'mod+' : '';
  const names: string[] = [];
  if (key.length > 1) names.push(key);
  else if (isLatin(key)) names.push(key.toLowerCase());
  const digit = /^Digit(\d)$/.exec(code)?.[1];
  if (key.length === 1 && !isLatin(key)) {
    const letter = /^Key([A-Z])$/.exec(code)?.[1]?.toLowerCase();
    const byPlace = (event.shiftKey && SHIFTED[code]) || letter || PLAIN[code];
    if (byPlace) names.push(byPlace);
  }
  if (digit && !event.shiftKey && !writesSymbol && !names.includes(digit)) names.push(digit);
  return names.map((name) => modifier + name);
}
