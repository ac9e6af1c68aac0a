import { readStoredDraft, removeStoredDraft, storeDraft } from '../shell/draftStorage.ts';

export interface Draft {
  fields: Record<string, string>;
  teach: boolean;
  /** Idempotency key: the server processes the same text only once, even if a bad connection sends it twice. */
  key: string;
}

export function readDraft(id: number): Draft {
  const { fields, teach = true, key } = readStoredDraft<Draft>(id) ?? {};
  return fields && typeof key === 'string'
    ? { fields, teach, key }
    : { fields: {}, teach: true, key: newKey() };
}

/** A changed text gets a new key. */
export function saveDraft(id: number, { fields, teach }: Pick<Draft, 'fields' | 'teach'>): void {
  if (Object.values(fields).every((text) => text === '') && teach) removeStoredDraft(id);
  else storeDraft(id, { fields, teach, key: newKey() });
}

export const removeDraft = (id: number): void => removeStoredDraft(id);

/** `randomUUID` needs a secure origin, but a local network may use plain http. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
