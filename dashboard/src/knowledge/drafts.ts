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

/** Names a new document that is written for no notification. The others are named after theirs, by its id. */
export const BLANK = 'blank';

/** By what it is written for: the id of a notification, or `BLANK`. */
const nameOfNew = (key: string) => `document.new.${key}`;

export function readNewDocument(key: string): NewDocumentDraft | undefined {
  const { title, body, notificationId = null } = readStoredDraft<NewDocumentDraft>(nameOfNew(key)) ?? {};
  return title !== undefined && body !== undefined ? { title, body, notificationId } : undefined;
}

export const saveNewDocument = (key: string, draft: NewDocumentDraft): void =>
  storeDraft(nameOfNew(key), draft);

export const removeNewDocument = (key: string): void => removeStoredDraft(nameOfNew(key));
