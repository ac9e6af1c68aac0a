/**
 * Shortcuts are single letters, so the rest of a sentence must never become one. They work only after the user has
 * clicked outside a field or has pressed Escape, and not while somebody may still be typing.
 */
const PAUSE_AFTER_TYPING_MS = 1000;

/** Fields in which letters are text. */
const TEXT_FIELD =
  'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"])';

export const isTextField = (target: EventTarget | null): target is HTMLElement =>
  target instanceof HTMLElement && target.matches(TEXT_FIELD);

let armed = false;
let typedAt = Number.NEGATIVE_INFINITY;
/** The element that had the focus last. */
let focused: Element | undefined;
let showTimer: ReturnType<typeof setTimeout> | undefined;

/** The key hints on the screen are visible only while the keys work. See base.css. */
function showState(delayMs = 0): void {
  clearTimeout(showTimer);
  const { dataset } = document.documentElement;
  if (!armed) delete dataset.keys;
  else if (delayMs <= 0) dataset.keys = 'on';
  else showTimer = setTimeout(showState, delayMs);
}

function disarm(): void {
  if (!armed) return;
  armed = false;
  showState();
}

function arm(at: number): void {
  armed = true;
  focused = undefined;
  showState(typedAt + PAUSE_AFTER_TYPING_MS - at);
}

function typed(at: number): void {
  typedAt = at;
  disarm();
}

/** Whether a key pressed now may act. Times are those of the events, so a slow page counts as a fast one does. */
export function mayAct(event: KeyboardEvent): boolean {
  // Its keys were for an element that is gone.
  if (focused && !focused.isConnected) disarm();
  return armed && event.timeStamp - typedAt >= PAUSE_AFTER_TYPING_MS;
}

/** A shortcut may remove the element that has the focus. */
export function forgetFocus(): void {
  focused = undefined;
}

/** The page has moved on by itself: the next keys may be meant for what was there before. */
export const turnOffShortcuts = (): void => disarm();

/** Returns whether the shortcuts were off before. */
export function armByEscape(event: KeyboardEvent): boolean {
  const wasOff = !mayAct(event);
  arm(event.timeStamp);
  return wasOff;
}

const CAPTURE = { capture: true };
addEventListener(
  'pointerdown',
  (event) => {
    const isInField = event.target instanceof Element && event.target.closest(TEXT_FIELD) !== null;
    if (!isInField) arm(event.timeStamp);
  },
  CAPTURE,
);
addEventListener(
  'focusin',
  ({ target }) => {
    if (target instanceof Element) focused = target;
    if (isTextField(target)) disarm();
  },
  CAPTURE,
);
addEventListener(
  'keydown',
  (event) => {
    if (isTextField(event.target) && event.key !== 'Escape') typed(event.timeStamp);
  },
  CAPTURE,
);
// A button that removes itself is what the user wanted.
addEventListener('click', () => setTimeout(() => focused?.isConnected === false && forgetFocus()));
// Dictation, an input method or a paste has no keys.
addEventListener('input', (event) => isTextField(event.target) && typed(event.timeStamp), CAPTURE);
