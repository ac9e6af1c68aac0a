/**
 * What is typed and not sent yet: it survives a reload, on this device only, until it is sent, deleted with what it
 * belongs to, or one signs out.
 */
const PREFIX = 'deskbell.draft.';

/** Undefined where there is none; unreadable is as good as none. */
export function readKept<T>(name: string | number): Partial<T> | undefined {
  try {
    return (JSON.parse(localStorage.getItem(PREFIX + name) ?? 'null') as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keep(name: string | number, value: object): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Full or forbidden: the text is still on the screen.
  }
}

export function dropKept(name: string | number): void {
  localStorage.removeItem(PREFIX + name);
}

export function dropAllKept(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}
