import type { Document } from '../api/types.ts';
import { readStoredDraft, removeStoredDraft, storeDraft } from '../shell/draftStorage.ts';

/** An unsaved edit, with the version it is based on. */
export type DocumentDraft = Pick<Document, 'title' | 'body' | 'version'>;

const nameOf = (id: number) => `document.${id}`;

export function readDocumentDraft(id: number): DocumentDraft | undefined {
  const { title, body, version } = readStoredDraft<DocumentDraft>(nameOf(id)) ?? {};
  return title !== undefined && body !== undefined && version !== undefined
    ? { title, body, version }
    : undefined;
}

export const saveDocumentDraft = (id: number, draft: DocumentDraft): void => storeDraft(nameOf(id), draft);

export const removeDocumentDraft = (id: number): void => removeStoredDraft(nameOf(id));
