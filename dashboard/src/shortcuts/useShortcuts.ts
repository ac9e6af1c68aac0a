import { useEffect, useRef } from 'react';

/** Actions by key: `j`, `Enter`, `?`, `mod+k` for Ctrl or ⌘ with k, or two keys in a row: `g i`. */
export type Shortcuts = Readonly<Record<string, (() => void) | undefined>>;

const layers: { current: Shortcuts }[] = [];
const PAUSE_MAX_MS = 1000;
let previous: { key: string; at: number } | undefined;

/** If several components handle a key, the one mounted last wins. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const layer = useRef(shortcuts);
  layer.current = shortcuts;
  useEffect(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

/** Fields in which letters are text. Keep in sync with base.css, which hides the key hints there. */
const TEXT_FIELD =
  'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"])';

const HANDLES_ENTER = 'a, button, input, summary';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches(TEXT_FIELD);

function nameOf(event: KeyboardEvent): string {
  const modifier = event.ctrlKey || event.metaKey ? 'mod+' : '';
  return modifier + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

/** Checked in the capture phase, before a dialog can close: the key that closes a dialog belongs to the dialog. */
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
  // Dialogs have their own keys, and letters in a text field are text.
  if (inDialog) return;
  if (isTyping(event.target) && !key.startsWith('mod+') && key !== 'Escape') return;
  if (key === 'Enter' && event.target instanceof HTMLElement && event.target.matches(HANDLES_ENTER)) return;

  const pair = previous && Date.now() - previous.at < PAUSE_MAX_MS ? `${previous.key} ${key}` : undefined;
  previous = { key, at: Date.now() };
  for (const name of pair ? [pair, key] : [key]) {
    for (const layer of layers.toReversed()) {
      const action = layer.current[name];
      if (!action) continue;
      event.preventDefault();
      previous = undefined;
      action();
      return;
    }
  }
});

/** The name of the modifier key on this keyboard. */
export const MOD = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';
