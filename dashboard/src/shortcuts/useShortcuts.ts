import { useEffect, useRef } from 'react';
import { armByEscape, forgetFocus, isTextField, mayAct } from './armed.ts';
import { keyNames } from './keyNames.ts';

/** Actions by key: `j`, `Enter`, `?`, `mod+k` for Ctrl or ⌘ with k, or two keys in a row: `g i`. */
export type Shortcuts = Readonly<Record<string, (() => void) | undefined>>;

const layers: { current: Shortcuts }[] = [];
const PAUSE_MAX_MS = 1000;
let previous: { names: readonly string[]; at: number } | undefined;

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

const HANDLES_ENTER = 'a, button, input, summary';

let paused = false;

/** While a dialog is open, and while it loads, keys belong to it. */
export function pauseShortcuts(pause: boolean): void {
  paused = pause;
}

/** Checked in the capture phase, before a dialog can close: the key that closes a dialog belongs to the dialog. */
let inDialog = false;
addEventListener(
  'keydown',
  () => {
    inDialog = paused || document.querySelector('[role="dialog"], dialog[open]') !== null;
  },
  { capture: true },
);

addEventListener('keydown', (event) => {
  if (event.isComposing) return;
  const inField = isTextField(event.target);
  // Escape always turns the shortcuts on. If they were off, it does nothing else, except to leave a field or a dialog.
  const onlyArms = event.key === 'Escape' && armByEscape(event) && !inField;
  if (event.defaultPrevented || inDialog || onlyArms) return;
  const names = keyNames(event);
  const isSafe = event.key === 'Escape' || names.some((name) => name.startsWith('mod+'));
  if (!isSafe && (inField || !mayAct(event))) return;
  if (event.key === 'Enter' && event.target instanceof HTMLElement && event.target.matches(HANDLES_ENTER))
    return;

  const before = previous && event.timeStamp - previous.at < PAUSE_MAX_MS ? previous.names : [];
  const pairs = before.flatMap((first) => names.map((name) => `${first} ${name}`));
  previous = { names, at: event.timeStamp };
  for (const name of [...pairs, ...names]) {
    const action = layers.findLast(({ current }) => current[name])?.current[name];
    if (!action) continue;
    event.preventDefault();
    previous = undefined;
    forgetFocus();
    action();
    return;
  }
});

/** The name of the modifier key on this keyboard. */
export const MOD = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';
