/**
 * Unsent texts, stored on this device for the user who wrote them. They survive a reload. They are removed when they are
 * sent, when their notification or document is deleted, and when their user signs out.
 */
const PREFIX = 'deskbell.drafts.';
/** Drafts of earlier versions, which nobody knows the owner of. */
const OLD_PREFIX = 'deskbell.draft.';

let owner: number | undefined;

/** From now on drafts are read and stored for this user. */
export function setDraftOwner(userId: number): void {
  owner = userId;
  removeAll(OLD_PREFIX);
}

const keyOf = (name: string | number) => `${PREFIX}${owner}.${name}`;

/** Undefined if there is none or it is not valid JSON. */
export function readStoredDraft<T>(name: string | number): Partial<T> | undefined {
  try {
    return (JSON.parse(localStorage.getItem(keyOf(name)) ?? 'null') as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

export function storeDraft(name: string | number, value: object): void {
  try {
    localStorage.setItem(keyOf(name), JSON.stringify(value));
  } catch {
    // Storage is full or blocked: the text is still on the screen.
  }
}

export function removeStoredDraft(name: string | number): void {
  localStorage.removeItem(keyOf(name));
}

/** Of those that are not sent. */
export const hasDrafts = (): boolean => keysWith(keyOf('')).some((key) => !key.startsWith(keyOf(SENT)));

/** What was sent, as long as it can be undone: the names of these drafts begin so. */
export const SENT = 'sent.';

/** The names of the drafts that begin so. */
export const draftNames = (start: string): string[] =>
  keysWith(keyOf(start)).map((key) => key.slice(keyOf('').length));

/** Removes the drafts of the user who has just signed out. */
export const removeAllDrafts = (): void => removeAll(keyOf(''));

const keysWith = (prefix: string) => Object.keys(localStorage).filter((key) => key.startsWith(prefix));

function removeAll(prefix: string): void {
  for (const key of keysWith(prefix)) localStorage.removeItem(key);
}
