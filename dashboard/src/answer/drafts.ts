/** What is typed and not sent yet: it survives a reload, on this device only, until it is sent or one signs out. */
export interface Draft {
  fields: Record<string, string>;
  teach: boolean;
  /** Names the attempt: the same text sent twice by a bad line is taken once. */
  key: string;
}

const PREFIX = 'deskbell.draft.';

export function readDraft(id: number): Draft {
  try {
    const kept = JSON.parse(localStorage.getItem(PREFIX + id) ?? 'null') as Draft | null;
    if (kept?.fields && typeof kept.key === 'string') return kept;
  } catch {
    // Unreadable is as good as none.
  }
  return { fields: {}, teach: true, key: newKey() };
}

/** Another text is another attempt, so it gets a new key. */
export function saveDraft(id: number, change: Pick<Draft, 'fields' | 'teach'>): void {
  const { fields, teach } = change;
  try {
    if (Object.values(fields).every((text) => text === '') && teach) localStorage.removeItem(PREFIX + id);
    else localStorage.setItem(PREFIX + id, JSON.stringify({ fields, teach, key: newKey() }));
  } catch {
    // Full or forbidden: the text is still on the screen.
  }
}

export function dropDraft(id: number): void {
  localStorage.removeItem(PREFIX + id);
}

export function dropAllDrafts(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}

/** `randomUUID` exists on secure origins only; a shop's own network may be plain http. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
