import { useEffect, useRef } from 'react';

/** A key's name: `j`, `Enter`, `?`, with `mod+` for Ctrl or ⌘, or two in a row: `g i`. */
export type Keys = Readonly<Record<string, (() => void) | undefined>>;

const layers: { current: Keys }[] = [];
const PAUSE_MAX_MS = 1000;
let first: { key: string; at: number } | undefined;

/** The layer that came last is asked first. */
export function useKeys(keys: Keys): void {
  const layer = useRef(keys);
  layer.current = keys;
  useEffect(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

/** Where letters are text. As in base.css, which hides the keys' names meanwhile. */
const TEXT_FIELD =
  'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"])';

const OWN_ENTER = 'a, button, input, summary';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches(TEXT_FIELD);

function nameOf(event: KeyboardEvent): string {
  const modifier = event.ctrlKey || event.metaKey ? 'mod+' : '';
  return modifier + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

/** Asked before anybody else has heard the key: the one that closes a dialog is still the dialog's. */
let inDialog = false;
addEventListener(
  'keydown',
  () => {
    inDialog = document.querySelector('[role="dialog"]') !== null;
  },
  { capture: true },
);

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const key = nameOf(event);
  // A dialog has its own keys, and letters that are typed are text.
  if (inDialog) return;
  if (isTyping(event.target) && !key.startsWith('mod+') && key !== 'Escape') return;
  if (key === 'Enter' && event.target instanceof HTMLElement && event.target.matches(OWN_ENTER)) return;

  const pair = first && Date.now() - first.at < PAUSE_MAX_MS ? `${first.key} ${key}` : undefined;
  first = { key, at: Date.now() };
  for (const name of pair ? [pair, key] : [key]) {
    for (const layer of layers.toReversed()) {
      const action = layer.current[name];
      if (!action) continue;
      event.preventDefault();
      first = undefined;
      action();
      return;
    }
  }
});

/** As the person's keyboard calls it. */
export const MOD = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';
