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

/** A document that is not saved yet. */
interface NewDocumentDraft {
  title: string;
  body: string;
  /** The answered notification that it is written for. */
  notificationId: number | null;
}

const NEW = 'document.new';

export function readNewDocument(): NewDocumentDraft | undefined {
  const { title, body, notificationId = null } = readStoredDraft<NewDocumentDraft>(NEW) ?? {};
  return title !== undefined && body !== undefined ? { title, body, notificationId } : undefined;
}

export const saveNewDocument = (draft: NewDocumentDraft): void => storeDraft(NEW, draft);

export const removeNewDocument = (): void => removeStoredDraft(NEW);
