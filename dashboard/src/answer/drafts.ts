import { dropKept, keep, readKept } from '../shell/kept.ts';

export interface Draft {
  fields: Record<string, string>;
  teach: boolean;
  /** Names the attempt: the same text sent twice by a bad line is taken once. */
  key: string;
}

export function readDraft(id: number): Draft {
  const { fields, teach = true, key } = readKept<Draft>(id) ?? {};
  return fields && typeof key === 'string'
    ? { fields, teach, key }
    : { fields: {}, teach: true, key: newKey() };
}

/** Another text is another attempt, so it gets a new key. */
export function saveDraft(id: number, { fields, teach }: Pick<Draft, 'fields' | 'teach'>): void {
  if (Object.values(fields).every((text) => text === '') && teach) dropKept(id);
  else keep(id, { fields, teach, key: newKey() });
}

export const dropDraft = (id: number): void => dropKept(id);

/** `randomUUID` exists on secure origins only; a shop's own network may be plain http. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
