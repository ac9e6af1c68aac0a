/**
 * Unsent texts, stored on this device. They survive a reload. They are removed when they are sent, when their
 * notification or document is deleted, and when the user signs out.
 */
const PREFIX = 'deskbell.draft.';

/** Undefined if there is none or it is not valid JSON. */
export function readStoredDraft<T>(name: string | number): Partial<T> | undefined {
  try {
    return (JSON.parse(localStorage.getItem(PREFIX + name) ?? 'null') as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

export function storeDraft(name: string | number, value: object): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Storage is full or blocked: the text is still on the screen.
  }
}

export function removeStoredDraft(name: string | number): void {
  localStorage.removeItem(PREFIX + name);
}

export function removeAllDrafts(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}
