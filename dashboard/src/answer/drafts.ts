import { readStoredDraft, removeStoredDraft, storeDraft } from '../shell/draftStorage.ts';
import { newKey } from '../shell/newKey.ts';

/** The document that a text was taken from. */
interface Source {
  id: number;
  title: string;
  text: string;
}

export interface Draft {
  fields: Record<string, string>;
  teach: boolean;
  /** The last document that was used. It counts only while the text is unchanged. */
  source?: Source | undefined;
  /** The notifications that the answer is for, if it is for a group. */
  ticked?: readonly number[] | undefined;
  /** Idempotency key: the server processes the same text only once, even if a bad connection sends it twice. */
  key: string;
}

export function readDraft(id: number): Draft {
  const { fields, teach = true, source, ticked, key } = readStoredDraft<Draft>(id) ?? {};
  return fields && typeof key === 'string'
    ? { fields, teach, source, ticked, key }
    : { fields: {}, teach: true, key: newKey() };
}

/** A changed text gets a new key. */
export function saveDraft(id: number, { fields, teach, source, ticked }: Omit<Draft, 'key'>): void {
  if (Object.values(fields).every((text) => text === '') && teach) removeStoredDraft(id);
  else storeDraft(id, { fields, teach, source, ticked, key: newKey() });
}

export const removeDraft = (id: number): void => removeStoredDraft(id);
